// GUPS: how many random words of a table over all cores can be incremented in a second?
//   updates [LOG2_WORDS] [MILLIONS]

#include <cstdint>
#include <cstdio>

#include "rubato/base/arguments.hpp"
#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"
#include "rubato/base/time.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/main.hpp"

using namespace rubato::global;

int main(int argc, char** argv) {
  return run_main([=] {
    rubato::Arguments given(argc, argv);
    const std::uint64_t n_words = std::uint64_t{1} << given.number("LOG2_WORDS", 20, 0, 40);
    const std::uint64_t n_updates =
        1'000'000 * given.number<std::uint64_t>("MILLION_UPDATES", 1, 0, 1'000'000);
    given.end();
    const auto table = GlobalArray<std::uint64_t>::make(n_words);
    const rubato::Nanos begin = rubato::steady_now();
    // A scope ends when all updates have been made, on whatever core; forall is one.
    forall(0, n_updates, [=](std::uint64_t i) {
      async_call(table[rubato::hash_words(i) % n_words], [](std::uint64_t& word) { ++word; });
    });
    const double time = static_cast<double>(rubato::steady_now() - begin) / rubato::kSecond;
    // The words of a core are an array in its memory.
    const auto sum = GlobalArray<std::uint64_t>::make(1);
    on_all_cores([=] {
      std::uint64_t mine = 0;
      for (std::uint64_t k = 0; k < table.n_of(this_core()); ++k)
        mine += table.local()[k];
      fetch_add(sum[0], mine);
    });
    const std::uint64_t n_found = read(sum[0]);
    std::printf("%lu updates of %lu words\n", n_found, n_words);
    std::fprintf(stderr, "%.1f million a second on %u cores\n",
                 static_cast<double>(n_updates) / time / 1e6, n_cores());
    if (n_found != n_updates) throw rubato::Error("updates: wrong", rubato::ExitCode::failed);
  });
}

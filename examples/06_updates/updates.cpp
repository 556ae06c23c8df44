// GUPS: how many random words of a table over all cores can be incremented in a second?
//   updates [LOG2_WORDS] [MILLIONS]

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rubato/base/random.hpp"
#include "rubato/base/time.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/main.hpp"

using namespace rubato::global;

int main(int argc, char** argv) {
  const std::uint64_t n_words = std::uint64_t{1} << (argc > 1 ? std::atoi(argv[1]) : 20);
  const std::uint64_t n_updates = 1'000'000 * (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  return run_main([=] {
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
    std::printf("%lu updates of %lu words\n", read(sum[0]), n_words);
    std::fprintf(stderr, "%.1f million a second on %u cores\n",
                 static_cast<double>(n_updates) / time / 1e6, n_cores());
  });
}

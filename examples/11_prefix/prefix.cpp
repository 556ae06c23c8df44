// Prefix sums: each element of an array becomes the sum of all up to it.
//   prefix [MILLIONS]
//
// Shows code that says what each core does (on_all_cores, Team). An array with block = 0 gives
// each core one piece. A core adds up its piece, a scan over the cores says what stands in front
// of it, and a second walk writes the sums: one write of each element, where adding the sum in
// front to sums of the piece would take two.

#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <span>

#include "rubato/base/arguments.hpp"
#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"
#include "rubato/base/time.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/main.hpp"
#include "rubato/global/reduce.hpp"

using namespace rubato::global;

namespace {

std::uint64_t value_of(std::uint64_t i) {
  return rubato::hash_words(i);
}

std::span<std::uint64_t> piece_of(const GlobalArray<std::uint64_t>& array) {
  return {array.local(), array.n_of(this_core())};
}

// Waits for all cores. Sums are modulo 2^64.
void prefix_sum(const GlobalArray<std::uint64_t>& array) {
  on_all_cores([array] {
    const std::span<std::uint64_t> mine = piece_of(array);
    const std::uint64_t total = std::accumulate(mine.begin(), mine.end(), std::uint64_t{0});
    std::uint64_t sum = Team::job().exclusive_scan(total, std::plus<>{}, std::uint64_t{0});
    for (std::uint64_t& x : mine)
      x = sum += x;
  });
}

// How many elements do not differ by their value from the one in front, maybe of another core.
std::uint64_t n_wrong(const GlobalArray<std::uint64_t>& array) {
  return reduce_cores(
      [array] {
        const std::span<std::uint64_t> mine = piece_of(array);
        std::uint64_t n = 0;
        for (std::uint64_t k = 0; k < mine.size(); ++k) {
          const std::uint64_t i = array.index_of(this_core(), k);
          std::uint64_t before = 0;
          if (i > 0) before = k > 0 ? mine[k - 1] : read(array[i - 1]);
          if (mine[k] - before != value_of(i)) ++n;
        }
        return n;
      },
      std::plus<>{});
}

}  // namespace

int main(int argc, char** argv) {
  return run_main([=] {
    rubato::Arguments given(argc, argv);
    const std::uint64_t n = 1'000'000 * given.number<std::uint64_t>("MILLIONS", 1, 0, 1'000'000);
    given.end();
    const auto array = GlobalArray<std::uint64_t>::make(n, 0);
    forall(array, [](std::uint64_t i, std::uint64_t& x) { x = value_of(i); });
    const rubato::Nanos begin = rubato::steady_now();
    prefix_sum(array);
    const double time = static_cast<double>(rubato::steady_now() - begin) / rubato::kSecond;

    const bool is_right = n_wrong(array) == 0;
    std::printf("%lu sums, %s\n", n, is_right ? "all right" : "some WRONG");
    std::fprintf(stderr, "%.1f million a second on %u cores\n", static_cast<double>(n) / time / 1e6,
                 n_cores());
    if (!is_right) throw rubato::Error("prefix: wrong", rubato::ExitCode::failed);
  });
}

// In how many ways can n queens stand on a board of n x n, so that none attacks another?
//   queens [N]
//
// Shows pooled tasks: a plain record that any core of the job may run, and that spawns others. Its
// core runs the newest first, as a recursion would; a core that has nothing left takes the oldest,
// which have most below them.

#include <bit>
#include <cstdint>
#include <cstdio>
#include <iterator>

#include "rubato/base/arguments.hpp"
#include "rubato/base/error.hpp"
#include "rubato/base/time.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/main.hpp"
#include "rubato/global/reduce.hpp"

using namespace rubato::global;

namespace {

constexpr std::uint64_t kKnown[] = {1,   1,   0,    0,     2,     10,     4,       40,      92,
                                    352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};
constexpr std::uint32_t kRowsAlone = 8;  // that one task fills: some thousand boards

// Queens in the first rows; a bit for each field of the next one.
struct Board {
  std::uint32_t row;     // all fields
  std::uint32_t n_rows;  // that are free
  // Attacked from above, and along the diagonals.
  std::uint32_t columns = 0;
  std::uint32_t left = 0;
  std::uint32_t right = 0;

  // Calls f with each board that has one queen more.
  template <class F>
  void for_each_next(const F& f) const {
    for (std::uint32_t free = row & ~(columns | left | right); free != 0; free &= free - 1) {
      const std::uint32_t queen = std::uint32_t{1} << std::countr_zero(free);
      f(Board{row, n_rows - 1, columns | queen, (left | queen) << 1, (right | queen) >> 1});
    }
  }
};

struct Count {
  std::uint64_t n_solutions = 0;
  std::uint64_t n_boards = 0;
};

void search(const Board& board, Count& count) {
  ++count.n_boards;
  if (board.n_rows == 0) ++count.n_solutions;
  board.for_each_next([&count](const Board& next) { search(next, count); });
}

// The task.
struct Search {
  Board board;
  GlobalArray<Count> counts;  // an element a core, for those that run there

  void run(CoreContext& here) const {
    Count& count = counts.local()[0];
    if (board.n_rows <= kRowsAlone) return search(board, count);
    ++count.n_boards;
    board.for_each_next([&](const Board& next) { here.spawn_pooled(Search{next, counts}); });
  }
};

}  // namespace

int main(int argc, char** argv) {
  return run_main([=] {
    rubato::Arguments given(argc, argv);
    const auto n = given.number<std::uint32_t>("N", 10, 0, std::ssize(kKnown) - 1);
    given.end();
    const auto counts = GlobalArray<Count>::make(n_cores());
    const rubato::Nanos begin = rubato::steady_now();
    finish([&] {
      CoreContext::here().spawn_pooled(Search{{(std::uint32_t{1} << n) - 1, n}, counts});
    });
    const double time = static_cast<double>(rubato::steady_now() - begin) / rubato::kSecond;

    const Count all = reduce(counts, Count{}, [](const Count& a, const Count& b) {
      return Count{a.n_solutions + b.n_solutions, a.n_boards + b.n_boards};
    });
    const bool is_right = all.n_solutions == kKnown[n];
    std::printf("%u queens stand in %lu ways, %s\n", n, all.n_solutions,
                is_right ? "which is right" : "which is WRONG");
    std::fprintf(stderr, "%.3f s, %.1f million boards a second on %u cores\n", time,
                 static_cast<double>(all.n_boards) / time / 1e6, n_cores());
    if (!is_right) throw rubato::Error("queens: wrong", rubato::ExitCode::failed);
  });
}

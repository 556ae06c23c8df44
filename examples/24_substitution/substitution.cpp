// A system of equations of two diagonals, solved from its last row to its first.
//   substitution [ROWS]
//
// Shows a loop each of whose bodies needs what a later one sets: its parts begin in any order, on all
// cores, and only so many wait on a core as there is room for; when all that is begun waits for what
// is not, more are begun.

#include <cstdint>
#include <cstdio>

#include "rubato/base/arguments.hpp"
#include "rubato/base/random.hpp"
#include "rubato/flow/async.hpp"
#include "rubato/flow/loop.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/main.hpp"

using namespace rubato::flow;

namespace {

// Row i says diagonal * x[i] + above * x[i + 1] = right; rows are functions of their place.
struct Row {
  double diagonal;
  double above;
  double right;

  [[nodiscard]] double solved(double next) const { return (right - above * next) / diagonal; }
};

Row row(std::int64_t i) {
  const auto word = rubato::hash_words(1, static_cast<std::uint64_t>(i));
  return {.diagonal = 2 + static_cast<double>(word % 8),
          .above = 1,
          .right = static_cast<double>(word >> 8 & 0xff)};
}

double first_of(std::int64_t n_rows) {
  auto [x, in] = make_container<double>();
  in.insert(n_rows, 0);
  const auto solve = async([](std::int64_t i, double next,
                              const Inserter<double>& to) { to.insert(i, row(i).solved(next)); },
                           {.name = "row"});
  async_for(0, n_rows,
            [solve](std::int64_t i, const Container<double>& from, const Inserter<double>& to) {
              solve(i, from[i + 1], to);
            })(x, std::move(in));
  return x.get(0);
}

}  // namespace

int main(int argc, char** argv) {
  return rubato::global::run_main([=] {
    rubato::Arguments given(argc, argv);
    const auto n_rows = given.number("ROWS", 100'000, 1, 100'000'000);
    given.end();
    bool is_right = false;
    run([&] {
      const double first = first_of(n_rows);
      double serial = 0;
      for (std::int64_t i = n_rows; i-- > 0;)
        serial = row(i).solved(serial);
      is_right = first == serial;
      std::printf("the first of %ld unknowns is %.17g, %s\n", n_rows, first,
                  is_right ? "to the last bit that of a loop" : "which is WRONG");
    }).check();
    if (!is_right) throw rubato::Error("substitution: wrong", rubato::ExitCode::failed);
  });
}

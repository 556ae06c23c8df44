// How many walks of n steps on the square lattice never meet themselves.
//   walks [N]
//
// Shows units: a task on each core gets begins of walks from wherever there are some, puts what they
// are continued by, or counts what is behind them, until no begin is left anywhere.

#include <array>
#include <cstdint>
#include <cstdio>

#include "rubato/base/arguments.hpp"
#include "rubato/flow/async.hpp"
#include "rubato/flow/pool/unit_kind.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/main.hpp"
#include "rubato/global/program.hpp"

using namespace rubato::flow;

namespace {

constexpr int kStepsMost = 20;
constexpr std::array<std::int64_t, kStepsMost + 1> kKnown{
    1,         4,         12,         36,         100,         284,         780,
    2'172,     5'916,     16'268,     44'100,     120'292,     324'932,     881'500,
    2'374'444, 6'416'596, 17'245'332, 46'466'676, 124'658'732, 335'116'620, 897'697'164};

struct Place {
  std::int8_t x;
  std::int8_t y;
  bool operator==(const Place&) const = default;
};

struct Walk {
  int n_steps = 0;
  std::array<Place, kStepsMost + 1> at{};

  // visit(walk) for each that has one step more.
  template <class F>
  void for_each_next(const F& visit) const {
    constexpr std::array<Place, 4> kSteps{{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
    const Place last = at[static_cast<std::size_t>(n_steps)];
    for (const Place step : kSteps) {
      const Place next{static_cast<std::int8_t>(last.x + step.x),
                       static_cast<std::int8_t>(last.y + step.y)};
      bool is_free = true;
      for (int i = 0; i <= n_steps; ++i)
        is_free = is_free && !(at[static_cast<std::size_t>(i)] == next);
      if (!is_free) continue;
      Walk longer = *this;
      longer.at[static_cast<std::size_t>(++longer.n_steps)] = next;
      visit(longer);
    }
  }
};

std::int64_t count(const Walk& begin, int n) {
  if (begin.n_steps == n) return 1;
  std::int64_t n_walks = 0;
  begin.for_each_next([&](const Walk& longer) { n_walks += count(longer, n); });
  return n_walks;
}

const UnitKind<Walk> kBegins("begin of a walk");

// The work of one task: the longest begins first, so that there are never many.
std::int64_t count_begins(int n, int n_cut) {
  std::int64_t n_walks = 0;
  while (const auto begin = kBegins.get()) {
    if (begin->n_steps >= n_cut) {
      n_walks += count(*begin, n);
      continue;
    }
    begin->for_each_next(
        [](const Walk& longer) { kBegins.put(longer, {.priority = longer.n_steps}); });
  }
  return n_walks;
}

}  // namespace

int main(int argc, char** argv) {
  return run_main([=] {
    rubato::Arguments given(argc, argv);
    const int n = given.number<int>("STEPS", 12, 0, kStepsMost);
    given.end();
    kBegins.put(Walk());
    std::vector<Future<std::int64_t>> counts;
    for (CoreId core = 0; core < rubato::global::n_cores(); ++core)
      counts.push_back(async([n] { return count_begins(n, n / 2); }, {.core = core})());
    std::int64_t n_walks = 0;
    for (const auto& each : counts)
      n_walks += each.get();
    const bool is_right = n_walks == kKnown[static_cast<std::size_t>(n)];
    std::printf("%ld walks of %d steps, %s\n", n_walks, n,
                is_right ? "which is right" : "which is WRONG");
    if (!is_right) throw rubato::Error("walks: wrong", rubato::ExitCode::failed);
  });
}

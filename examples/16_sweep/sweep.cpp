// How dense may a forest be so that a fire does not go through it? A sweep over densities, with
// statistics of several runs of each [Turbine 2.3].
//   sweep [RUNS]
//
// Shows simulations as tasks: each is a whole run of a grid model by the engine `tick`, on two cores if
// the nodes have as many; what comes of it is a datum, and no file is between a run and its
// statistics. The mean of a density is there as soon as its own runs are.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "rubato/base/arguments.hpp"
#include "rubato/base/random.hpp"
#include "rubato/flow/loop.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/main.hpp"
#include "rubato/tick/grid/grid_model.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/run_here.hpp"

using namespace rubato::flow;
using rubato::tick::GridModel;
using rubato::tick::GridShape;
using rubato::tick::GridSpan;
using rubato::tick::Index;
using rubato::tick::Tick;

namespace {

constexpr std::int64_t kDensities = 10;
constexpr std::int64_t kSide = 24;
constexpr Tick kTicks = 60;

// The trees of the first column burn; a tree next to a fire is the next one.
struct Fire {
  using Value = std::uint8_t;  // 0 nothing, 1 a tree, 2 burns, 3 has burnt
  static constexpr int kDimensions = 2;
  static constexpr int kRadius = 1;
  static constexpr int kFields = 1;
  static constexpr int kFixed = 0;

  double density = 0.5;
  std::uint64_t seed = 1;

  GridShape<2> shape() const { return {{kSide, kSide}, {false, false}}; }

  void init(Index<2> at, std::int64_t n, Value* const* out, Value* const* /*fixed*/) const {
    for (std::int64_t i = 0; i < n; ++i, ++at[0]) {
      const auto words = rubato::random_words(seed, static_cast<std::uint64_t>(at[0]),
                                              static_cast<std::uint64_t>(at[1]));
      const bool is_tree = rubato::unit_double(words[0], words[1]) < density;
      out[0][i] = is_tree ? (at[0] == 0 ? 2 : 1) : 0;
    }
  }
  void step(const GridSpan<Fire>& in, Value* const* out, Index<2> /*at*/, std::int64_t n,
            Tick /*t*/) const {
    for (std::int64_t i = 0; i < n; ++i) {
      const Value* here = in.field[0] + i;
      const bool lit = here[-1] == 2 || here[1] == 2 || here[-in.row] == 2 || here[in.row] == 2;
      out[0][i] = static_cast<Value>(*here == 1 && lit ? 2 : *here == 2 ? 3 : *here);
    }
  }
};

double density_of(std::int64_t i) {
  return 0.35 + 0.05 * static_cast<double>(i);
}

using Fires = rubato::tick::ProblemOf<GridModel<Fire>, rubato::tick::GridStore<Fire>,
                                      rubato::tick::GridStoreOptions>;

// The share of the trees that the fire takes.
double burnt(const Fires::State& forest) {
  double n_trees = 0;
  double n_burnt = 0;
  for (const std::uint8_t cell : forest.values) {
    n_trees += cell != 0 ? 1 : 0;
    n_burnt += cell >= 2 ? 1 : 0;
  }
  return n_burnt / n_trees;
}

double burnt_of_run(std::int64_t density, std::int64_t run, std::uint32_t n_cores) {
  const Fires fires(GridModel<Fire>(Fire{density_of(density), static_cast<std::uint64_t>(run)}));
  const auto local = rubato::tick::Policy::parse("local");
  return burnt(rubato::tick::run_here(fires, local, kTicks, n_cores).state);
}

// The same by a loop over everything.
double burnt_of_reference(std::int64_t density, std::int64_t run) {
  const GridModel<Fire> model(Fire{density_of(density), static_cast<std::uint64_t>(run)});
  return burnt(rubato::tick::run_reference(model, model.everything(), kTicks).state);
}

struct Statistics {
  double mean;
  double deviation;
  double first;  // of run 0
};

// share_of(run) for each run.
template <class F>
Statistics statistics_of(std::int64_t n_runs, const F& share_of) {
  double sum = 0;
  double squares = 0;
  for (std::int64_t run = 0; run < n_runs; ++run) {
    const double share = share_of(run);
    sum += share;
    squares += share * share;
  }
  const double mean = sum / static_cast<double>(n_runs);
  const double variance = std::max(0.0, squares / static_cast<double>(n_runs) - mean * mean);
  return {mean, std::sqrt(variance), share_of(0)};
}

Future<Statistics> start_density(std::int64_t density, std::int64_t n_runs) {
  auto [shares, insert] = make_container<Future<double>>(Spread::here);
  const std::uint32_t n_cores = std::min(2U, rubato::core::CoreContext::here().shape().n_cores);
  async_for(0, n_runs,
            [density, n_cores](std::int64_t run, const Inserter<Future<double>>& out) {
              const auto simulate = [density, run, n_cores] {
                return burnt_of_run(density, run, n_cores);
              };
              out.insert(run,
                         async(simulate, {.name = "fire", .native = true, .n_cores = n_cores})());
            },
            {.name = "fires", .grain = 1})(std::move(insert));
  return async([n_runs](const Container<Future<double>>& all) {
    return statistics_of(n_runs, [&](std::int64_t run) { return all.get(run).get(); });
  })(closed(std::move(shares)));
}

}  // namespace

int main(int argc, char** argv) {
  return rubato::global::run_main([=] {
    rubato::Arguments given(argc, argv);
    const auto n_runs = given.number("RUNS", 10, 1, 1'000'000);
    given.end();
    bool is_right = false;
    run([&] {
      std::vector<Future<Statistics>> sweep;
      for (std::int64_t density = 0; density < kDensities; ++density)
        sweep.push_back(start_density(density, n_runs));
      is_right = true;
      for (std::int64_t density = 0; density < kDensities; ++density) {
        const Statistics found = sweep[static_cast<std::size_t>(density)].get();
        is_right = is_right && found.first == burnt_of_reference(density, 0);
        std::printf("density %.2f: %5.1f %% burn, +- %.1f\n", density_of(density), 100 * found.mean,
                    100 * found.deviation);
      }
      std::printf("%ld simulations, %s\n", kDensities * n_runs, is_right ? "all right" : "WRONG");
    }).check();
    if (!is_right) throw rubato::Error("sweep: wrong", rubato::ExitCode::failed);
  });
}

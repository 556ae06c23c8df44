// Wavefronts: that of a node alone goes block by block of ticks; diagonals beside each other run in one
// go, slice by slice, with neighbours too; and the state is that of the serial reference bit for bit.

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "rubato/base/memory.hpp"
#include "rubato/core/wrapped_engine.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/run_here.hpp"
#include "rubato/tick/testing/grid_cases.hpp"
#include "rubato/tick/testing/resumed_run.hpp"

namespace rubato::tick {
namespace {

using testing::MixingGrid;
using testing::random_grid;

struct WavefrontCounts {
  std::size_t jobs = 0;
  std::size_t abreast = 0;  // jobs of more steps than a diagonal has
};

// Sees that no step runs further ahead than Plan::in_blocks allows.
class BlockWatch final : public core::WrappedEngine {
 public:
  BlockWatch(Dataflow& flow, const Plan& plan, std::uint32_t n_cores, WavefrontCounts& counts)
      : WrappedEngine(flow), plan_(plan), n_cores_(n_cores), counts_(counts), next_(plan.n_own) {}

  [[nodiscard]] bool next_work(std::uint32_t /*core*/, core::Work& work) override {
    if (!WrappedEngine::next_work(turn_++ % n_cores_, work)) return false;
    if (work.kind != step_own) return true;
    const auto regions = Dataflow::stepped_by(work);
    ++counts_.jobs;
    if (regions.size() > static_cast<std::size_t>(plan_.skew)) ++counts_.abreast;
    const Tick end = plan_.block_end(std::ranges::min(next_));
    // One core has nothing to do in the next block while there is anything in this one.
    const Tick limit = n_cores_ == 1 ? end : end + plan_.skew;
    for (const RegionId region : regions)
      EXPECT_LT(next_[region]++, limit);
    return true;
  }

 private:
  const Plan& plan_;
  const std::uint32_t n_cores_;
  std::uint32_t turn_ = 0;
  WavefrontCounts& counts_;
  std::vector<Tick> next_;  // [regions] the tick that their next step begins at
};

template <class User>
typename GridModel<User>::Wavefront random_wavefront(RandomStream& random) {
  typename GridModel<User>::Wavefront result;
  result.tile_cells = random.between(1, 60);
  result.n_ticks = random.between(1, 9);
  result.slices.n_abreast = static_cast<std::uint32_t>(random.between(2, 7));
  result.slices.size = random.between(1, 12);
  return result;
}

template <class User>
std::string describe(const typename GridModel<User>::Wavefront& w) {
  return "tiles of " + std::to_string(w.tile_cells) + ", " + std::to_string(w.n_ticks) +
         " ticks, " + std::to_string(w.slices.n_abreast) + " abreast, slices of " +
         std::to_string(w.slices.size);
}

template <class User>
void check(const User& user, std::uint64_t seed, WavefrontCounts& counts) {
  RandomStream random(seed, 17);
  const auto wavefront = random_wavefront<User>(random);
  const GridModel<User> model(user, 0, 1, wavefront);
  testing::RunCase c = testing::random_run(random);
  c.n_nodes = 1;
  if (c.policy.pieces) c.policy = Policy::parse("local");
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe<User>(wavefront) + ", " +
               testing::describe(c));
  const auto reference = run_reference(model, model.everything(), c.ticks);
  const auto plan =
      build_plan(model, Cut<typename GridModel<User>::Query>{model.part(1), {}, {}}, 0, c.policy);
  GridStore<User> store(model, plan);
  Dataflow flow(plan.plan, store, Dataflow::Options{c.ticks, c.n_cores});
  BlockWatch watch(flow, plan.plan, c.n_cores, counts);
  ASSERT_NO_THROW(testing::ShuffleDriver({&watch}, c.n_cores, seed).run());
  EXPECT_EQ(flow.end(), reference.ticks);
  EXPECT_TRUE(store.own_state(flow.end()) == reference.state);
}

TEST(GridWavefront, in_slices_equals_the_reference) {
  WavefrontCounts counts;
  for (std::uint64_t seed = 0; seed < n_seeds() / 2 && !HasFailure(); ++seed) {
    RandomStream random(seed, 18);
    check(random_grid<MixingGrid<2, 1, 1>>(random), seed, counts);
    check(random_grid<MixingGrid<2, 2, 2>>(random), seed, counts);
    check(random_grid<MixingGrid<3, 1, 1, true>>(random), seed, counts);
    // Wide enough for slices of each tick to lie a line below those of the tick before.
    auto wide = random_grid<MixingGrid<2, 1, 1, true>>(random);
    wide.grid.extent[0] = random.between(40, 160);
    check(wide, seed, counts);
    if (seed % 4 == 0) check(random_grid<MixingGrid<1, 1, 1>>(random), seed, counts);
  }
  EXPECT_GT(counts.abreast, counts.jobs / 60);
}

// With what a run saves and begins with.
TEST(GridWavefront, goes_on_from_what_it_has_saved) {
  using User = MixingGrid<2, 1, 1>;
  for (std::uint64_t seed = 0; seed < n_seeds() / 2 && !HasFailure(); ++seed) {
    RandomStream random(seed, 19);
    const User user = random_grid<User>(random);
    const ProblemOf<GridModel<User>, GridStore<User>, GridStoreOptions> problem(
        GridModel<User>(user, random.between(1, 60), 1, random_wavefront<User>(random)));
    testing::RunCase c = testing::random_run(random);
    c.n_nodes = 1;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + testing::describe(c));
    const auto& model = problem.model();
    testing::expect_equal_when_resumed(problem, c, user.lag, random,
                                       run_reference(model, model.everything(), c.ticks));
  }
}

// Counts the jobs that go down several diagonals.
class JobWatch final : public core::WrappedEngine {
 public:
  JobWatch(Dataflow& flow, const Plan& plan, WavefrontCounts& counts)
      : WrappedEngine(flow), skew_(static_cast<std::size_t>(plan.skew)), counts_(counts) {}

  [[nodiscard]] bool next_work(std::uint32_t core, core::Work& work) override {
    if (!WrappedEngine::next_work(core, work)) return false;
    if (work.kind != step_own) return true;
    ++counts_.jobs;
    if (Dataflow::stepped_by(work).size() > skew_) ++counts_.abreast;
    return true;
  }

 private:
  std::size_t skew_;
  WavefrontCounts& counts_;
};

template <class User>
void check_nodes(const User& user, std::uint64_t seed, RandomStream& random,
                 WavefrontCounts& counts) {
  using Model = GridModel<User>;
  const auto wavefront = random_wavefront<User>(random);
  const std::int64_t tile_cells = random.between(1, 60);
  const Model model(user, tile_cells, random.between(2, 9), wavefront);
  testing::RunCase c = testing::random_run(random);
  c.n_nodes = static_cast<std::uint32_t>(random.between(2, 5));
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe<User>(wavefront) + ", " +
               testing::describe(c));
  Cut<typename Model::Query> cut;
  try {
    cut.queries = model.part(c.n_nodes);
  } catch (const Error&) {
    return;  // a shape may not have that many boxes
  }
  const auto reference = run_reference(model, model.everything(), c.ticks);
  std::vector<std::unique_ptr<TypedPlan<typename Model::Query>>> plans;
  std::vector<std::unique_ptr<GridStore<User>>> stores;
  std::vector<std::unique_ptr<Dataflow>> flows;
  std::vector<std::unique_ptr<JobWatch>> watches;
  std::vector<core::Engine*> engines;
  for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
    plans.push_back(
        std::make_unique<TypedPlan<typename Model::Query>>(build_plan(model, cut, node, c.policy)));
    stores.push_back(std::make_unique<GridStore<User>>(model, *plans.back()));
    flows.push_back(std::make_unique<Dataflow>(plans.back()->plan, *stores.back(),
                                               Dataflow::Options{c.ticks, c.n_cores}));
    watches.push_back(std::make_unique<JobWatch>(*flows.back(), plans.back()->plan, counts));
    engines.push_back(watches.back().get());
  }
  ASSERT_NO_THROW(testing::ShuffleDriver(engines, c.n_cores, seed).run());
  typename Model::State state;
  for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
    EXPECT_EQ(flows[node]->end(), reference.ticks);
    model.merge(state, stores[node]->own_state(flows[node]->end()));
  }
  EXPECT_TRUE(state == reference.state);
}

// Nodes that wait for each other: rounds are packed from what slices make, and jobs reach as far as
// rounds have come.
TEST(GridWavefront, with_neighbours_equals_the_reference) {
  WavefrontCounts counts;
  for (std::uint64_t seed = 0; seed < n_seeds() / 2 && !HasFailure(); ++seed) {
    RandomStream random(seed, 22);
    check_nodes(random_grid<MixingGrid<2, 1, 1>>(random), seed, random, counts);
    auto wide = random_grid<MixingGrid<2, 1, 1, true>>(random);
    wide.grid.extent = {random.between(40, 90), random.between(30, 60)};
    check_nodes(wide, seed, random, counts);
    if (seed % 2 == 0)
      check_nodes(random_grid<MixingGrid<3, 1, 1, true>>(random), seed, random, counts);
    if (seed % 4 == 1) check_nodes(random_grid<MixingGrid<2, 2, 2>>(random), seed, random, counts);
  }
  EXPECT_GT(counts.abreast, counts.jobs / 200);
}

TEST(GridWavefront, on_real_cores_equals_the_reference) {
  using User = MixingGrid<2, 1, 1, true>;
  for (std::uint64_t seed = 0; seed < 10 && !HasFailure(); ++seed) {
    RandomStream random(seed, 20);
    User user = random_grid<User>(random);
    user.grid = {{random.between(40, 160), random.between(40, 90)}, {false, seed % 2 == 0}};
    const ProblemOf<GridModel<User>, GridStore<User>> problem(
        GridModel<User>(user, 0, 1, {user.grid.extent[0], 6, {5, 24}}));
    const auto& model = problem.model();
    const auto reference = run_reference(model, model.everything(), 40);
    const auto n_cores = static_cast<std::uint32_t>(random.between(2, 4));
    const auto end = run_here(problem, Policy::parse("local"), 40, n_cores);
    EXPECT_TRUE(end.state == reference.state) << "seed " << seed;
  }
}

// Cells of one slice are stepped through several ticks before those of the next.
struct Recorded : MixingGrid<2, 1, 1> {
  struct Row {
    std::int64_t x = 0;
    std::int64_t n = 0;
    Tick t = 0;
  };
  std::vector<Row>* rows = nullptr;

  void step(const GridSpan<Recorded>&, double* const* out, Index<2> at, std::int64_t n,
            Tick t) const {
    rows->push_back({at[0], n, t});
    std::fill_n(out[0], n, 0.5);
  }
};

TEST(GridWavefront, steps_a_slice_through_all_ticks_of_a_job_before_the_next_one) {
  std::vector<Recorded::Row> rows;
  Recorded user;
  user.grid = {{100, 40}, {}};
  user.rows = &rows;
  const GridModel<Recorded> model(user, 0, 1, {100, 5, 6, 32});
  const Cut<GridModel<Recorded>::Query> cut{model.part(1), {}, {}};
  const auto plan = build_plan(model, cut, 0, Policy::parse("local"));
  GridStore<Recorded> store(model, plan);
  Dataflow flow(plan.plan, store, Dataflow::Options{5, 1});
  testing::ShuffleDriver({&flow}, 1, 1).run();
  std::int64_t n_cells = 0;
  std::size_t n_back = 0;  // from the last tick of a slice to the first of the next
  for (std::size_t i = 0; i < rows.size(); ++i) {
    n_cells += rows[i].n;
    EXPECT_EQ(rows[i].x % 8, 0) << "parts of rows begin on a cache line";
    EXPECT_LT(rows[i].n, rows[i].x == 0 ? 101 : 32 + 16 + 8 * 5);
    if (i > 0 && rows[i].x > rows[i - 1].x && rows[i].t < rows[i - 1].t) ++n_back;
  }
  EXPECT_EQ(n_cells, 5 * 100 * 40);
  EXPECT_GT(n_back, 10U);
}

// One cell that is not a number for some ticks, of which one is looked at.
struct Broken {
  using Value = double;
  static constexpr int kDimensions = 2, kRadius = 1, kFields = 1, kFixed = 0;

  [[nodiscard]] GridShape<2> shape() const { return {{90, 30}, {}}; }
  void init(Index<2>, std::int64_t n, double* const* fields, double* const*) const {
    std::fill_n(fields[0], n, 1.0);
  }
  void step(const GridSpan<Broken>&, double* const* out, Index<2> at, std::int64_t n,
            Tick t) const {
    std::fill_n(out[0], n, 1.0);
    const bool broken = t + 1 >= kNumbersInterval - 1 && t + 1 <= kNumbersInterval + 1;
    if (broken && at[1] == 17 && at[0] <= 71 && 71 < at[0] + n)
      out[0][71 - at[0]] = std::numeric_limits<double>::quiet_NaN();
  }
};

std::string error_of(const GridModel<Broken>::Wavefront& wavefront) {
  const ProblemOf<GridModel<Broken>, GridStore<Broken>> problem{
      GridModel<Broken>(Broken(), 0, 1, wavefront)};
  SimulationOptions options;
  options.n_nodes = 1;
  options.profile = net::parse_profile("none");
  try {
    (void)simulate(problem, Policy::parse("local"), kNumbersInterval + 40, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(GridWavefront, cells_that_are_not_numbers_are_seen_in_slices_too) {
  const std::string told = error_of({90, 12, 1, 0});
  EXPECT_NE(told.find("not a number"), std::string::npos) << told;
  EXPECT_EQ(error_of({90, 12, 8, 16}), told);
}

template <int D>
typename GridModel<MixingGrid<D, 1, 1>>::Wavefront chosen(std::array<std::int64_t, D> extent,
                                                          std::array<bool, D> periodic = {}) {
  MixingGrid<D, 1, 1> user;
  user.grid = {extent, periodic};
  return GridModel<MixingGrid<D, 1, 1>>(user).wavefront();
}

// Where there are neighbours: of worlds that are cut by default, and of plans of their nodes.
TEST(GridWavefront, thick_slabs_are_cut_and_their_long_rows_in_slices) {
  const auto model_of = [](const Index<2>& extent, Index<2> parts = {}) {
    MixingGrid<2, 1, 1> user;
    user.grid = {extent, {}, parts};
    return GridModel<MixingGrid<2, 1, 1>>(user);
  };
  const auto boxes = [](const auto& model, std::uint32_t n) {
    Index<2> first = model.part(n).front().boxes().front().high;
    return first;
  };
  EXPECT_EQ(boxes(model_of({40'000, 1'024}), 2), (Index<2>{40'000, 512}));
  EXPECT_EQ(boxes(model_of({40'000, 1'023}), 2), (Index<2>{20'000, 1'023}));
  EXPECT_EQ(boxes(model_of({40'000, 1'024}, {2, 1}), 2), (Index<2>{20'000, 1'024}));
  EXPECT_THROW(static_cast<void>(model_of({40'000, 1'024}).part(0)), Error);
  // Cut again by loads: slabs still.
  const auto loads = [](double first, double second) {
    using Load = GridModel<MixingGrid<2, 1, 1>>::Load;
    std::vector<Load> samples(2);
    samples[0].work = samples[1].work = 40'000 * 512;
    samples[0].busy = first;
    samples[1].busy = second;
    samples[0].passed = samples[1].passed = std::max(first, second);
    return samples;
  };
  const auto again = model_of({40'000, 1'024}).part(2, loads(3, 1));
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again.front().boxes().front().high[0], 40'000);
  EXPECT_LT(again.front().boxes().front().high[1], 500);

  const auto plan_of = [](const auto& model, const char* policy) {
    return build_plan(model, Cut<BoxSet<std::int64_t, 2>>{model.part(2), {}, {}}, 0,
                      Policy::parse(policy));
  };
  const auto wide = model_of({40'000, 1'024});
  const auto plan = plan_of(wide, "k1m0d10");
  EXPECT_EQ(plan.plan.skew, 11);
  EXPECT_GT(plan.plan.n_abreast, 8U);
  EXPECT_FALSE(plan.plan.in_blocks);
  EXPECT_GE(wide.slices(plan.own, plan.plan.policy).size, 64);
  EXPECT_EQ(plan_of(wide, "bulk").plan.n_abreast, 1U);
  EXPECT_EQ(plan_of(model_of({1'000, 4'000}), "k1m0d10").plan.n_abreast, 1U);
}

TEST(GridWavefront, rows_and_planes_that_are_too_long_are_cut) {
  const auto narrow = chosen<2>({1'000, 4'000});
  EXPECT_EQ(narrow.slices.n_abreast, 1U);
  EXPECT_EQ(narrow.slices.size, 0);
  EXPECT_EQ(narrow.n_ticks, kSkew);
  const std::int64_t room = std::max<std::int64_t>(
      static_cast<std::int64_t>(second_level_cache()) / 4, std::int64_t{1} << 18);
  const auto wide = chosen<2>({200'000, 1'000});
  EXPECT_EQ(wide.n_ticks, kSkew);
  EXPECT_GT(wide.slices.n_abreast, 8U);
  EXPECT_GE(wide.slices.size, 64);
  const auto bytes_of = [](const auto& w, std::int64_t row_bytes) {
    return 2 * (w.n_ticks + Tick{w.slices.n_abreast}) * w.slices.size * row_bytes;
  };
  constexpr std::int64_t kCell = 2 * sizeof(double);  // of which one is fixed
  EXPECT_LE(bytes_of(wide, kCell), room + bytes_of(wide, kCell) / wide.slices.size * 64);
  const auto deep = chosen<3>({150, 200, 200});
  EXPECT_GT(deep.slices.n_abreast, 1U);
  EXPECT_LE(bytes_of(deep, 150 * kCell), room);
  // Very long planes: their slices are a row, and a few ticks behind each other.
  const auto huge = chosen<3>({100'000, 200, 200});
  EXPECT_EQ(huge.slices.size, 1);
  EXPECT_LT(huge.n_ticks, kSkew);
  // A margin shows the other side of a whole row.
  EXPECT_EQ(chosen<2>({200'000, 1'000}, {true, false}).slices.size, 0);
  EXPECT_GT(chosen<2>({200'000, 1'000}, {false, true}).slices.size, 0);
  EXPECT_EQ(chosen<3>({150, 200, 200}, {false, true, false}).slices.size, 0);
  EXPECT_GT(chosen<3>({150, 200, 200}, {true, false, true}).slices.size, 0);
  // Few planes are few jobs.
  EXPECT_EQ(chosen<2>({200'000, 32}).slices.n_abreast, 2U);
  EXPECT_EQ(chosen<3>({600, 600, 31}).slices.n_abreast, 1U);
  EXPECT_EQ(chosen<3>({600, 600, 31}).n_ticks, kSkew);
}

}  // namespace
}  // namespace rubato::tick

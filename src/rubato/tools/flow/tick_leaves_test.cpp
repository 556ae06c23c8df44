// Leaves of scripts that are whole simulations of the engine `tick`, on the cores that they have.

#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/tick/grid/grid_model.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/run_here.hpp"

namespace rubato::tools {
namespace {

using tick::Index;
using tick::Tick;

constexpr std::int64_t kSide = 20;
constexpr Tick kTicks = 40;

// Each cell takes up a part of what its neighbours had, with numbers that wrap.
struct Stir {
  using Value = std::uint8_t;
  static constexpr int kDimensions = 2;
  static constexpr int kRadius = 1;
  static constexpr int kFields = 1;
  static constexpr int kFixed = 0;

  std::uint64_t factor = 1;
  std::uint64_t seed = 1;

  [[nodiscard]] tick::GridShape<2> shape() const { return {{kSide, kSide}, {true, false}}; }
  void init(Index<2> at, std::int64_t n, Value* const* out, Value* const* /*fixed*/) const {
    for (std::int64_t i = 0; i < n; ++i, ++at[0]) {
      out[0][i] = static_cast<Value>(random_words(seed, static_cast<std::uint64_t>(at[0]),
                                                  static_cast<std::uint64_t>(at[1]))[0]);
    }
  }
  void step(const tick::GridSpan<Stir>& in, Value* const* out, Index<2> /*at*/, std::int64_t n,
            Tick t) const {
    for (std::int64_t i = 0; i < n; ++i) {
      const Value* here = in.field[0] + i;
      out[0][i] = static_cast<Value>(factor * *here + here[-1] + 3U * here[1] + 5U * here[-in.row] +
                                     7U * here[in.row] + static_cast<std::uint64_t>(t));
    }
  }
};
using Stirs = tick::ProblemOf<tick::GridModel<Stir>, tick::GridStore<Stir>, tick::GridStoreOptions>;

tick::GridModel<Stir> model_of(std::int64_t factor, std::int64_t seed) {
  return tick::GridModel<Stir>(
      Stir{static_cast<std::uint64_t>(factor), static_cast<std::uint64_t>(seed)});
}
std::string cells_of(const Stirs::State& state) {
  return {state.values.begin(), state.values.end()};
}
std::string reference(std::int64_t factor, std::int64_t seed) {
  const tick::GridModel<Stir> model = model_of(factor, seed);
  return cells_of(tick::run_reference(model, model.everything(), kTicks).state);
}
std::string simulated(std::int64_t factor, std::int64_t seed, std::int64_t n_cores) {
  return cells_of(tick::run_here(Stirs(model_of(factor, seed)), tick::Policy::parse("local"),
                                 kTicks, static_cast<std::uint32_t>(n_cores))
                      .state);
}

// The others of the team wait, so that its cores are the simulation's.
std::string simulated_by_team(const global::Team& team, std::int64_t factor, std::int64_t seed) {
  std::string cells;
  const auto n_cores = static_cast<std::int64_t>(team.size());
  if (team.rank() == 0) {
    cells = core::CoreContext::here().run_native([&] { return simulated(factor, seed, n_cores); });
  }
  team.barrier();
  return cells;
}

std::mutex mutex;
std::map<std::int64_t, std::string> kept;  // by seed
void keep(std::int64_t seed, const std::string& cells) {
  const std::lock_guard lock(mutex);
  kept[seed] = cells;
}

[[maybe_unused]] const bool kLeaves = flow::register_leaf("stir", &simulated) &&
                                      flow::register_leaf("stir_by_team", &simulated_by_team) &&
                                      flow::register_leaf("keep", &keep);

// The cores of a node to themselves, and those of a team; the second run needs what the first was.
TEST(TickLeaves, end_with_the_state_of_the_serial_reference) {
  const std::string text = R"(
leaf stir(integer factor, integer seed, integer cores) to (string cells) parallel 2
leaf stir_by_team(integer factor, integer seed) to (string cells) parallel 3
leaf keep(integer seed, string cells) to (void v)
for i in [1 : 6] {
  string a b
  void va vb
  integer second
  when {} then {a} from {stir 3 i 2}
  when {a} then {va} from {keep i a}
  second = length(a) + i
  when {second} then {b} from {stir_by_team 5 second}
  when {b second} then {vb} from {keep second b}
}
)";
  kept.clear();
  flow::FlowResult result;
  global::run_here(3, [&] { result = flow::run_script(text, "stir.tic"); });
  ASSERT_EQ(result.text(), "");
  ASSERT_EQ(result.n_tasks(), 24U);
  ASSERT_EQ(kept.size(), 12U);
  for (std::int64_t i = 1; i <= 6; ++i) {
    EXPECT_TRUE(kept[i] == reference(3, i)) << "seed " << i;
    const std::int64_t next = kSide * kSide + i;
    EXPECT_TRUE(kept[next] == reference(5, next)) << "seed " << next;
  }
  EXPECT_FALSE(kept[1] == kept[2]);
}

}  // namespace
}  // namespace rubato::tools

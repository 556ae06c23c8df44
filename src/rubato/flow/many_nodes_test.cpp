// Flows on more nodes than the other tests have: what goes through trees of cores.

#include <algorithm>
#include <numeric>

#include "rubato/flow/flow_test.hpp"

namespace rubato::flow {
namespace {

using Key64 = std::int64_t;

// As many as are no power of anything, and some that are.
constexpr std::uint32_t kNodes[] = {2, 7, 16, 65, 100};

global::SimulatedRun simulate_on(std::uint32_t n_nodes, std::uint32_t n_cores, std::uint64_t seed,
                                 const std::function<void()>& main) {
  return global::simulate(
      main, {.n_nodes = n_nodes, .n_cores = n_cores, .seed = seed, .shuffle = seed % 2 == 1});
}

TEST(ManyNodes, get_their_parts_of_a_wide_range_at_once) {
  constexpr Key64 kEach = 32;
  for (const std::uint32_t n_nodes : kNodes) {
    std::vector<Key64> n_of(n_nodes);
    const auto run = simulate_on(n_nodes, 1, n_nodes, [n_nodes, n_of = &n_of] {
      const auto body = [n_of](Key64) {
        core::CoreContext::here().charge(kMillisecond);
        ++n_of->at(core::CoreContext::here().core());
      };
      flow::run([&] { async_for(0, kEach * n_nodes, body, {.grain = 2})(); }).check();
    });
    EXPECT_EQ(std::reduce(n_of.begin(), n_of.end()), kEach * n_nodes);
    EXPECT_GE(*std::ranges::min_element(n_of), kEach * 3 / 4) << n_nodes;
    EXPECT_LE(*std::ranges::max_element(n_of), kEach * 5 / 4) << n_nodes;
    EXPECT_LE(run.wall, (kEach + 8) * kMillisecond) << n_nodes;
  }
}

}  // namespace
}  // namespace rubato::flow

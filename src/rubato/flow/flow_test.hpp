#pragma once
// For tests of flows: a flow on virtual nodes in an order of its seed, and on the cores of this
// machine.

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/flow/loop.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::flow {

// 1 to 5 nodes of 1 to 3 cores; every second one with windows of some hundred bytes.
template <class F>
FlowResult simulate_flow(std::uint64_t seed, const F& main) {
  FlowResult result;
  const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 5);
  const auto n_cores = static_cast<std::uint32_t>(1 + seed / 5 % 3);
  global::simulate_seed(
      n_nodes, n_cores, seed, [&] { result = run(main); }, global::windows_of(seed));
  return result;
}

template <class F>
FlowResult run_flow_here(std::uint32_t n_cores, const F& main) {
  FlowResult result;
  global::run_here(n_cores, [&] { result = run(main); });
  return result;
}

// Many orders, and real threads; all that was made was set, and is freed in the end.
template <class F>
void expect_good(const F& main, std::uint64_t usual = 30) {
  for (std::uint64_t seed = 0; seed < n_seeds(usual); ++seed) {
    const FlowResult result = simulate_flow(seed, main);
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
    ASSERT_EQ(result.unset_text(), "") << "seed " << seed;
  }
  const FlowResult result = run_flow_here(2, main);
  ASSERT_EQ(result.text(), "");
  ASSERT_EQ(result.n_data_held, 0U);
}

}  // namespace rubato::flow

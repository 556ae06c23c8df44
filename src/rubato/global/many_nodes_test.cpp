#include <functional>

#include <gtest/gtest.h>

#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/reduce.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

#if defined(__SANITIZE_THREAD__)
// It has addresses for a terabyte of maps, and knows some thousand stacks.
constexpr std::uint32_t kNodes = 64;
constexpr std::size_t kBytesACore = kTestBytesACore;
constexpr std::uint32_t kWaitingNodes = 64;
#else
constexpr std::uint32_t kNodes = 4096;
constexpr std::size_t kBytesACore = 0;
constexpr std::uint32_t kWaitingNodes = 1024;
#endif

// They share the addresses of one process.
TEST(Simulate, has_thousands_of_virtual_nodes_with_memory_of_their_own) {
  static std::uint64_t sum;
  sum = 0;
  const auto run = simulate(
      [] {
        const auto squares = GlobalArray<std::uint64_t>::make(2 * kNodes);
        forall(squares, [](std::uint64_t i, std::uint64_t& x) { x = i * i; });
        sum = reduce(squares, std::uint64_t{0}, std::plus<>());
        squares.free();
      },
      {.n_nodes = kNodes, .program = {.bytes_a_core = kBytesACore}});
  const std::uint64_t n = 2 * kNodes;
  EXPECT_EQ(sum, (n - 1) * n * (2 * n - 1) / 6);
  EXPECT_EQ(run.nodes.size(), kNodes);
}

// And the guarded stacks that the kernel lets it have, which are fewer than these tasks.
TEST(Simulate, tasks_on_a_thousand_nodes_wait_for_stacks_and_all_run) {
  constexpr std::uint64_t kTasks = 36;  // of each node
  static std::uint64_t n_run;
  n_run = 0;
  simulate(
      [] {
        const auto counts = GlobalArray<std::uint64_t>::make(kWaitingNodes);
        on_all_cores([=] {
          const auto next = counts[(this_core() + 1) % kWaitingNodes];
          for (std::uint64_t i = 0; i < kTasks; ++i)
            spawn([next] { fetch_add(next, std::uint64_t{1}); });
        });
        n_run = reduce(counts, std::uint64_t{0}, std::plus<>());
      },
      {.n_nodes = kWaitingNodes, .program = {.bytes_a_core = kTestBytesACore}});
  EXPECT_EQ(n_run, kTasks * kWaitingNodes);
}

}  // namespace
}  // namespace rubato::global

#pragma once
// For tests of programs: on virtual nodes in an order of their seed, and on the cores of this
// machine.

#include <cstdint>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/global/simulate.hpp"
#include "rubato/net/local.hpp"

namespace rubato::global {

inline constexpr std::size_t kTestBytesACore = std::size_t{64} << 20;

// Blocks, buffers and windows of some hundred bytes, so that all of them are met at their bounds.
[[nodiscard]] inline core::MessageOptions tiny_windows() {
  return {.block_bytes = 300, .window_blocks = 2, .buffer_bytes = 400, .window_bytes = 2'000};
}

// One record at a time to each core and to each node.
[[nodiscard]] inline core::MessageOptions room_for_one_message() {
  return {.block_bytes = 1, .window_blocks = 1, .buffer_bytes = 1, .window_bytes = 1};
}

// Of all sizes.
[[nodiscard]] inline core::MessageOptions windows_of(std::uint64_t seed) {
  if (seed % 2 == 0) return tiny_windows();
  return seed % 7 == 3 ? room_for_one_message() : core::MessageOptions{};
}

[[nodiscard]] inline SimulateOptions options_of(std::uint32_t n_nodes, std::uint32_t n_cores,
                                                std::uint64_t seed,
                                                const core::MessageOptions& messages = {}) {
  return {.n_nodes = n_nodes,
          .n_cores = n_cores,
          .profile = seed % 3 == 0 ? "ec2-large" : "const",
          .seed = seed,
          .shuffle = true,
          .extra_delay_max = 5'000,
          .program = {messages, kTestBytesACore}};
}

// Two to five nodes, of one core or two.
[[nodiscard]] inline SimulateOptions disturbed_options(std::uint64_t seed, const char* profile) {
  SimulateOptions options =
      options_of(static_cast<std::uint32_t>(2 + seed % 4),
                 static_cast<std::uint32_t>(1 + seed / 4 % 2), seed, windows_of(seed));
  options.profile = profile;
  return options;
}

template <class F>
SimulatedRun simulate_seed(std::uint32_t n_nodes, std::uint32_t n_cores, std::uint64_t seed, F main,
                           const core::MessageOptions& messages = {}) {
  return simulate(main, options_of(n_nodes, n_cores, seed, messages));
}

template <class F>
void run_here(std::uint32_t n_cores, F main, std::uint32_t n_native_threads = 4) {
  net::LocalFabric fabric;
  core::NodeHostOptions options;
  options.n_cores = n_cores;
  options.owns_process = false;
  core::NodeHost host(fabric, options);
  core::MessageOptions messages;
  messages.n_native_threads = n_native_threads;
  run(host, {messages, kTestBytesACore}, main);
}

// Runs `n_wrong` as the main task of jobs of several shapes, and expects 0 of it.
inline void expect_right(const std::function<std::uint64_t(std::uint64_t seed)>& n_wrong) {
  for (std::uint64_t seed = 0; seed < n_seeds(24); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::uint64_t n = 1;
    simulate_seed(
        1 + static_cast<std::uint32_t>(seed % 4), 1 + static_cast<std::uint32_t>(seed % 3), seed,
        [&, seed] { n = n_wrong(seed); }, seed % 2 == 0 ? tiny_windows() : core::MessageOptions{});
    EXPECT_EQ(n, 0U);
  }
  for (std::uint32_t n_cores = 1; n_cores <= 3; ++n_cores) {
    std::uint64_t n = 1;
    run_here(n_cores, [&] { n = n_wrong(n_cores); });
    EXPECT_EQ(n, 0U) << n_cores << " real cores";
  }
}

}  // namespace rubato::global

#pragma once
// The parts of `rubato doctor`.

#include <cstdint>
#include <string>

#include "rubato/tools/command_line.hpp"

namespace rubato::tools {

struct LatencyOptions {
  std::uint64_t n_bytes = 16384;
  std::uint32_t n_samples = 1000;                 // of each node
  std::string profile_path = "measured.profile";  // written by node 0
};

// Collective over the nodes of the job that this process belongs to; blocks. Node 0 prints
// quantiles of round trips by node and writes the profile that they make (net/profile.hpp).
[[nodiscard]] ExitCode measure_latency(const LatencyOptions& options, const Context& context);

}  // namespace rubato::tools

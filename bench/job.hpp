#pragma once
// Benchmarks whose nodes are processes: a program of this build, under Open MPI.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/harness.hpp"

namespace rubato::bench {

// The line of JSON with `field` that `words` print. Blocks. Throws Error (failed) if they print
// something else.
[[nodiscard]] nlohmann::json run_for_json(const std::vector<std::string>& words, const char* field);

struct JobResult {
  double rate = 0;
  Counters counters = {};  // if it says them
};

// What a job of `n_nodes` processes says: `program`, of the build's bin/, with the arguments; a line
// of JSON with "million_per_second", and maybe "counters". Blocks. Throws Error (failed) if it says
// something else.
[[nodiscard]] JobResult run_job(const std::string& program, std::uint32_t n_nodes,
                                const std::vector<std::string>& arguments);

}  // namespace rubato::bench

#pragma once
// `rubato bench`: lists the benchmarks, or runs one.

#include "rubato/tools/command_line.hpp"

namespace rubato::bench {

void add_bench(tools::CommandLine& line);

}  // namespace rubato::bench

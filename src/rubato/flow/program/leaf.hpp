#pragma once
// A leaf task that is a program, whole: its outputs under hidden names, the run, the tries, the
// names given when all went well.
//
//   Leaf leaf;
//   leaf.outputs = {"map.png"};
//   leaf.call = [](const OutputNames& out) {
//     return ProgramCall{.words = {"draw", "in.csv", "-o", out.temporary("map.png")}};
//   };
//   const ProgramEnd end = run_leaf(launcher, leaf);

#include <functional>
#include <string>
#include <vector>

#include "rubato/flow/program/output_names.hpp"
#include "rubato/flow/program/program.hpp"
#include "rubato/flow/program/retries.hpp"

namespace rubato::flow {

struct Leaf {
  // The call of one try, with that try's names of the outputs. May throw Error, which fails the
  // task. Without a folder of its own it runs in that of the outputs.
  std::function<ProgramCall(const OutputNames&)> call;
  std::vector<std::string> outputs;
  OutputOptions options;
  RetryPolicy retry;
};

// Runs the program until a try ends well and has written all outputs, or the policy gives up; then
// every output is as it was before. Blocks. An Error of the outputs or of `call` comes back in
// `problem`: code 126 if it came before the start, 1 if after.
[[nodiscard]] ProgramEnd run_leaf(Launcher& launcher, const Leaf& leaf);

}  // namespace rubato::flow

#pragma once
// Running a TIC script: a part of a program, as any flow.

#include <string>

#include "rubato/flow/interpret/compiled.hpp"
#include "rubato/flow/run.hpp"

namespace rubato::flow {

// For MessageOptions::tasks.stacks.guarded_bytes where scripts run: expressions and blocks in each
// other are evaluated in each other, as deep as the language lets them be. Only what is used costs
// memory; less than 2 MiB, so that no huge page lies in one.
inline constexpr std::size_t kScriptStackBytes = std::size_t{1} << 20;

// Interprets the script on all cores and waits for its end. Called by a task. Throws Error, with a
// line for each, if the text has errors; what fails while it runs is in the result.
[[nodiscard]] FlowResult run_script(const std::string& text, const std::string& file_name,
                                    const ScriptArguments& arguments = {},
                                    const RunOptions& options = {});

}  // namespace rubato::flow

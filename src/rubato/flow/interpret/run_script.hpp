#pragma once
// Running a TIC script: a part of a program, as any flow.

#include <string>

#include "rubato/flow/interpret/compiled.hpp"
#include "rubato/flow/run.hpp"

namespace rubato::flow {

// Interprets the script on all cores and waits for its end. Called by a task. Throws Error, with a
// line for each, if the text has errors; what fails while it runs is in the result.
[[nodiscard]] FlowResult run_script(const std::string& text, const std::string& file_name,
                                    const ScriptArguments& arguments = {},
                                    const RunOptions& options = {});

}  // namespace rubato::flow

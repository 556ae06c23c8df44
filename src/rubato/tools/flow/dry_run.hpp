#pragma once
// What `rubato flow run --dry-run` says: what a script would run, for people and for programs.

#include <string>

#include "rubato/flow/interpret/dry_run.hpp"
#include "rubato/tools/command_line.hpp"

namespace rubato::tools {

// Command lines are shown as far as they fit into this number for each app; --json has all that are
// kept.
inline constexpr std::size_t kLinesShown = 20;

// Says it on context.out, and what fails even so on context.err.
[[nodiscard]] ExitCode say_plan(const flow::ScriptPlan& plan, const std::string& script,
                                const Context& context);

}  // namespace rubato::tools

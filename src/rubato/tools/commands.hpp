#pragma once
// The commands of `rubato`, one a file.

#include "rubato/tools/command_line.hpp"

namespace rubato::tools {

// Adds every command, in the order of the help. Called once, by main.
void add_commands(CommandLine& line);

}  // namespace rubato::tools

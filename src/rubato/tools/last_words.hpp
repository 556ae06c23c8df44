#pragma once
// What a command that does not look at signals itself says when one ends it: "NAME: interrupted" on
// SIGINT, "NAME: terminated" on SIGTERM, with the exit codes of both. Commands that do look, by a
// core::SignalScope or a signalfd, come before it.

#include <string>

namespace rubato::tools {

// From now on, in this process and those that it forks. The first call counts: `name` stays.
void say_last_words(const std::string& name);

}  // namespace rubato::tools

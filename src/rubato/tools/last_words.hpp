#pragma once
// What a command that does not look at signals itself says when one ends it: "NAME: interrupted" on
// SIGINT, "NAME: terminated" on SIGTERM and SIGHUP, with the exit codes of both. Commands that do look, by a
// core::SignalScope or a signalfd, come before it. And the signal that nobody should end by.

#include <string>

namespace rubato::tools {

// From now on, in this process and those that it forks. The first call counts: `name` stays.
void say_last_words(const std::string& name);

// A write beyond the limit of a file's size (ulimit -f) fails with an Error that names the file, where
// SIGXFSZ would end the process. In this process and those that it starts.
void outlive_file_limits();

}  // namespace rubato::tools

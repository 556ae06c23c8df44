#pragma once
// The small text files in which Linux says what a machine is: /proc/cpuinfo, /sys/fs/cgroup ..

#include <string>

namespace rubato::tools {

// The first line of a small file, or "".
[[nodiscard]] std::string first_line(const std::string& path);

// The value behind "key :" in a file of such lines, or "".
[[nodiscard]] std::string value_of(const std::string& path, const std::string& key);

}  // namespace rubato::tools

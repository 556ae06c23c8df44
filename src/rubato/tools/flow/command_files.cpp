#include "rubato/tools/flow/command_files.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <unistd.h>

#include "rubato/base/error.hpp"

namespace rubato::tools {

std::string text_of_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error("cannot read " + path + ": found a folder, expected a script of TIC");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error("cannot read " + path + ": expected a script of TIC");
  return text.str();
}

void check_place_of(const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string name = folder.empty() ? "." : folder.string();
  if (std::filesystem::is_directory(path, ignored))
    throw Error("cannot write " + path + ": found a folder, expected a file");
  if (!std::filesystem::is_directory(name, ignored))
    throw Error("cannot write " + path + ": there is no folder " + name);
  if (::access(name.c_str(), W_OK) != 0 && ::access(path.c_str(), W_OK) != 0)
    throw Error("cannot write " + path + ": no right to write into " + name);
}

}  // namespace rubato::tools

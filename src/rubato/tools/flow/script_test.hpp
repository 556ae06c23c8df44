#pragma once
// For tests of `rubato flow`: scripts in the folder of the test.

#include <fstream>
#include <sstream>
#include <string>

#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {

inline std::string script(const std::string& name, const std::string& text) {
  const std::string path = scratch(name);
  std::ofstream(path) << text;
  return path;
}

inline std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace rubato::tools

#pragma once
// The scripts in testdata/, for the tests of the language.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

// The folder of this file; the build says where it is.
#ifndef RUBATO_TIC_FOLDER
#define RUBATO_TIC_FOLDER "src/rubato/flow/tic"
#endif

namespace rubato::flow::tic {

struct Script {
  std::string name;
  std::string text;
};

// All of them, by name.
inline std::vector<Script> all_scripts() {
  std::vector<Script> scripts;
  const auto folder = std::filesystem::path(RUBATO_TIC_FOLDER) / "testdata";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".tic") continue;
    const std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    scripts.push_back({entry.path().filename().string(), text.str()});
  }
  std::sort(scripts.begin(), scripts.end(),
            [](const Script& a, const Script& b) { return a.name < b.name; });
  return scripts;
}

}  // namespace rubato::flow::tic

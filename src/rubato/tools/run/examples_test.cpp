// Every example of `rubato run MODEL --help` works as it stands in the project's root, but for its
// number of ticks: that is cut, for this is no test of speed.

#include <filesystem>
#include <sstream>

#include "rubato/models/apps.hpp"
#include "rubato/tools/run/program_test.hpp"

// Where the examples' files lie; the build says it.
#ifndef RUBATO_EXAMPLES
#define RUBATO_EXAMPLES "examples"
#endif

namespace rubato::tools {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> all_examples() {
  std::vector<std::string> lines;
  for (const auto& make : models::built_in_apps()) {
    for (const std::string& line : make()->examples())
      lines.push_back(line);
  }
  return lines;
}

// "heat --ticks 500 --edge 1": the same with 3 ticks.
std::vector<std::string> short_words(const std::string& line) {
  std::vector<std::string> words{RUBATO_PROGRAM, "run"};
  std::istringstream in(line);
  for (std::string word; in >> word;) {
    if (word == "--ticks") {
      in >> word;
    } else {
      words.push_back(word);
    }
  }
  words.insert(words.end(), {"--ticks", "3"});
  return words;
}

class Examples : public ::testing::TestWithParam<std::string> {};

TEST_P(Examples, run_in_the_root_of_the_project) {
  const std::string folder = scratch("root");
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::create_directory_symlink(RUBATO_EXAMPLES, folder + "/examples");
  std::vector<std::string> words{"sh", "-c", "cd " + folder + " && exec \"$@\" 2>&1", "sh"};
  for (const std::string& word : short_words(GetParam()))
    words.push_back(word);
  const Finished finished = run_program(words);
  EXPECT_EQ(finished.code, 0) << finished.out;
  const bool writes = GetParam().find("--output") != std::string::npos;
  EXPECT_EQ(finished.out.find("wrote ") != std::string::npos, writes) << finished.out;
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Help, Examples, ::testing::ValuesIn(all_examples()), [](const auto& test) {
  const std::string& line = test.param;
  return line.substr(0, line.find(' ')) + std::to_string(test.index);
});

}  // namespace
}  // namespace rubato::tools

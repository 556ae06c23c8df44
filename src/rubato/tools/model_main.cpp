#include "rubato/tools/model_main.hpp"

#include <algorithm>
#include <iostream>

#include "rubato/tools/commands.hpp"

namespace rubato::tools {
namespace {

// Options alone are those of `run`; help and version are asked of the program.
bool is_run(const std::vector<std::string>& words) {
  if (words.empty()) return true;
  const std::string& first = words.front();
  return first.starts_with("-") && first != "-h" && first != "--help" && first != "--version";
}

}  // namespace

int run_model_program(int argc, char** argv, const tick::AppMaker& model) noexcept {
  try {
    const std::unique_ptr<tick::App> app = model();
    CommandLine line({.name = app->name(),
                      .summary = app->summary() + ". Without a command the model runs.",
                      .models = {model},
                      .single_model = true});
    add_commands(line);
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (is_run(words)) words.insert(words.begin(), "run");
    return line.run(words, std::cout, std::cerr);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace rubato::tools

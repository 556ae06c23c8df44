#pragma once
// Commands that work on a model: `rubato run MODEL`, `rubato compare MODEL`, `rubato check MODEL`.
//
// Each model of the command line becomes a subcommand with an option for each of its Parameters
// (tick/app.hpp), so that `rubato run heat --help` shows them with their defaults. The command adds
// its own options to each of them. Help shows the model's parameters first, then the command's
// groups of options as they were added, and what few people need last. In a user's program with a single model the options stand at the
// command itself.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/app.hpp"
#include "rubato/tools/command_line.hpp"

namespace rubato::tools {

// A model whose parameters people have set.
class ChosenModel {
 public:
  explicit ChosenModel(std::unique_ptr<tick::App> app);

  [[nodiscard]] tick::App& app() const noexcept { return *app_; }
  [[nodiscard]] const tick::Parameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] bool has(const std::string& parameter) const;
  // Throws Error (usage) as Parameters::set does.
  void set(const std::string& parameter, const std::string& text);
  // What is set from here on, people have not said.
  void end_of_options() { n_given_ = settings_.size(); }
  // When all is set: throws Error (usage) for what people have said and nothing reads.
  void refuse_unread() const;
  // Names and texts of what was set, in that order.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& settings() const noexcept {
    return settings_;
  }

 private:
  std::unique_ptr<tick::App> app_;
  tick::Parameters parameters_;
  std::vector<std::pair<std::string, std::string>> settings_;
  std::size_t n_given_ = 0;
};

using RunOnModel = std::function<ExitCode(ChosenModel&, const Context&)>;

struct ModelCommand {
  Command command;  // without `run`; examples and choice are filled in if empty
  // Called once for each model: adds the command's own options to `options`, and returns what is
  // run if the model is chosen. An option may have the name of a parameter: then it stands for it,
  // and what is run passes it on ("seed").
  std::function<RunOnModel(CLI::App& options, const tick::App& model)> prepare;
  // Lines of the help of a model, each the words behind the command's name; the default is none.
  std::function<std::vector<std::string>(const tick::App& model)> examples;
};

// The heading of what few people need, the last in a model's help: parameters of the model that are
// advanced, and options of the command.
inline constexpr const char* kAdvancedGroup = "Advanced";

// An option of `parser` for each of `parameters`, which outlive it, under the heading `group`.
void add_parameter_options(CLI::App& parser, tick::Parameters& parameters,
                           const std::string& group);

// Adds the command with all models of `line`.
void add_model_command(CommandLine& line, ModelCommand command);

}  // namespace rubato::tools

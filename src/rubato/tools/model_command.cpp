#include "rubato/tools/model_command.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace rubato::tools {
namespace {

constexpr const char* kParametersOf = "Parameters of ";

struct Entry {
  Entry(std::unique_ptr<tick::App> app, const CLI::App* at) : model(std::move(app)), parser(at) {}
  ChosenModel model;
  const CLI::App* parser;
  RunOnModel run;
};

// Groups of options in the order that people want; else as CLI11 has it.
class ModelHelp final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    if (mode == CLI::AppFormatMode::Sub) return Formatter::make_help(app, std::move(name), mode);
    return make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) +
           groups_of(app) + make_subcommands(app, mode) + '\n' + make_footer(app);
  }

 private:
  std::string groups_of(const CLI::App* app) const {
    std::vector<std::string> groups = app->get_groups();
    std::ranges::stable_sort(groups, {}, place);
    std::string text;
    for (const std::string& group : groups) {
      const auto options = app->get_options([&](const CLI::Option* option) {
        return option->get_group() == group && option->nonpositional();
      });
      if (group.empty() || options.empty()) continue;
      text += (text.empty() ? "" : "\n") + make_group(group, false, options);
    }
    return text;
  }
  static int place(const std::string& group) {
    if (group == "Options") return 0;  // CLI11's own: help
    if (group.starts_with(kParametersOf)) return 1;
    return group == kAdvancedGroup ? 3 : 2;
  }
};

bool has_option(const CLI::App& parser, const std::string& name) {
  return parser.get_option_no_throw("--" + name) != nullptr;
}

using SetParameter = std::function<void(const std::string& name, const std::string& text)>;

void add_options(CLI::App& parser, const tick::Parameters& parameters, const std::string& group,
                 const SetParameter& set) {
  for (const auto& parameter : parameters.list()) {
    const std::string name = parameter.name;
    if (has_option(parser, name)) continue;
    CLI::Option* option = nullptr;
    if (parameter.is_flag) {
      // A count below zero is --name=false.
      option = parser.add_flag_function(
          "--" + name, [set, name](std::int64_t n) { set(name, n > 0 ? "true" : "false"); },
          parameter.help);
    } else {
      option = parser.add_option_function<std::string>(
          "--" + name, [set, name](const std::string& text) { set(name, text); }, parameter.help);
      option->type_name("")->default_str(parameter.default_text);
    }
    option->group(parameter.advanced ? kAdvancedGroup : group);
  }
}

// Whole lines for the help.
std::string example_lines(const CommandLine& line, const std::string& command,
                          const tick::App& model, const std::vector<std::string>& examples) {
  std::string text;
  for (std::string words : examples) {
    if (line.identity().single_model && words.starts_with(model.name())) {
      words.erase(0, model.name().size());
      words.erase(0, words.find_first_not_of(' '));
    }
    text.append("  ").append(line.identity().name).append(" ").append(command);
    text.append(" ").append(words).append("\n");
  }
  return text;
}

std::string names_of(const std::vector<std::shared_ptr<Entry>>& entries) {
  std::string names;
  for (const auto& entry : entries)
    names += (names.empty() ? "" : ", ") + entry->model.app().name();
  return names;
}

}  // namespace

ChosenModel::ChosenModel(std::unique_ptr<tick::App> app) : app_(std::move(app)) {
  app_->declare(parameters_);
}

bool ChosenModel::has(const std::string& parameter) const {
  return std::ranges::find(parameters_.list(), parameter, &tick::Parameters::Parameter::name) !=
         parameters_.list().end();
}

void ChosenModel::set(const std::string& parameter, const std::string& text) {
  parameters_.set(parameter, text);
  settings_.emplace_back(parameter, text);
}

void ChosenModel::refuse_unread() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < n_given_; ++i)
    names.push_back(settings_[i].first);
  parameters_.refuse_unread(names);
}

void add_parameter_options(CLI::App& parser, tick::Parameters& parameters,
                           const std::string& group) {
  add_options(parser, parameters, group,
              [&parameters](const auto& name, const auto& text) { parameters.set(name, text); });
}

void add_model_command(CommandLine& line, ModelCommand command) {
  auto entries = std::make_shared<std::vector<std::shared_ptr<Entry>>>();
  const std::string name = command.command.name;
  const bool single = line.identity().single_model;
  Command outer = std::move(command.command);
  if (outer.choice.empty() && !single) outer.choice = "model";
  outer.run = [entries, name](const Context& context) {
    for (const auto& entry : *entries) {
      if (!entry->parser->parsed()) continue;
      entry->model.end_of_options();
      return entry->run(entry->model, context);
    }
    throw Error("expected a model behind " + name + ", one of " + names_of(*entries),
                ExitCode::usage);
  };
  std::string all_examples;
  for (const auto& make : line.identity().models) {
    const std::unique_ptr<tick::App> app = make();
    if (command.examples) {
      all_examples += example_lines(line, name, *app, command.examples(*app));
    }
  }
  if (outer.examples.empty()) outer.examples = all_examples;
  CLI::App& parser = line.add(std::move(outer));
  // The value of an option may be the name of another model.
  parser.require_subcommand(0, 1);
  for (const auto& make : line.identity().models) {
    std::unique_ptr<tick::App> app = make();
    CLI::App* at = single ? &parser : parser.add_subcommand(app->name(), app->summary());
    at->formatter(std::make_shared<ModelHelp>());
    auto entry = std::make_shared<Entry>(std::move(app), at);
    if (!single) {
      at->fallthrough();
      at->group("Models");
      if (command.examples) {
        const auto lines =
            example_lines(line, name, entry->model.app(), command.examples(entry->model.app()));
        if (!lines.empty()) at->footer("Examples:\n" + lines);
      }
    }
    entry->run = command.prepare(*at, entry->model.app());
    add_options(
        *at, entry->model.parameters(), kParametersOf + entry->model.app().name(),
        [entry](const auto& parameter, const auto& text) { entry->model.set(parameter, text); });
    entries->push_back(std::move(entry));
  }
}

}  // namespace rubato::tools

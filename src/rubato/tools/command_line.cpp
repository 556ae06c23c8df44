#include "rubato/tools/command_line.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <ostream>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "rubato/io/number.hpp"
#include "rubato/tools/build_info.hpp"
#include "rubato/tools/last_words.hpp"
#include "rubato/tools/launch/guard.hpp"
#include "rubato/tools/terminal.hpp"

namespace rubato::tools {

struct CommandLine::Entry {
  Command command;
  CLI::App* app = nullptr;
};

namespace {

// Thrown when --help or --version has already been answered.
struct Answered {};

bool is_flag(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

// All flags that `app` knows, with their dashes: what a mistyped flag is compared with.
std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames())
      names.push_back("--" + name);
    for (const auto& name : option->get_snames())
      names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> choices_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* choice : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(choice->get_name());
  return names;
}

// The subcommand of `app` that was chosen, or null.
const CLI::App* parsed_choice(const CLI::App& app) {
  for (const CLI::App* choice : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (choice->parsed()) return choice;
  }
  return nullptr;
}

// "Could not convert: --seed = x" and "--ticks: Value 1e3 not in range 0 to 9" as our other
// messages are: what was expected, and what was found. Any other text is left as it is.
std::string bad_value(std::string text) {
  const auto expected = [](const std::string& option, const std::string& what,
                           const std::string& found) {
    return option + ": expected " + what + ", found \"" + found + "\"";
  };
  const std::string convert = "Could not convert: ";
  const std::string value = ": Value ";
  const std::string range = " not in range ";
  const std::size_t equals = text.find(" = ");
  if (text.starts_with(convert) && equals != std::string::npos) {
    const std::string found = text.substr(equals + 3);
    const bool is_number = io::parse_number<double>(found).has_value();
    return expected(text.substr(convert.size(), equals - convert.size()),
                    is_number ? "a whole number within its range" : "a number", found);
  }
  const std::size_t at = text.find(value);
  const std::size_t in = text.find(range);
  if (at == std::string::npos || in == std::string::npos || in < at) return text;
  std::string ends = text.substr(in + range.size());
  const bool whole = ends.find('.') == std::string::npos;
  // Of 1000000.000000 the zeros say nothing.
  if (const std::size_t to = ends.find(" to "); !whole && to != std::string::npos) {
    const auto low = io::parse_number<double>(ends.substr(0, to));
    const auto high = io::parse_number<double>(ends.substr(to + 4));
    if (low && high) ends = io::number_text(*low) + " to " + io::number_text(*high);
  }
  return expected(text.substr(0, at), (whole ? "a whole number from " : "a number from ") + ends,
                  text.substr(at + value.size(), in - at - value.size()));
}

// CLI11 reads "-1" into an unsigned number as the largest of all. Counts have ranges of their own.
void refuse_negative_seeds(CLI::App& app) {
  for (const char* name : {"--seed", "--net-seed"}) {
    CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr) continue;
    option->check(CLI::Validator(
        [](const std::string& text) {
          if (text.empty() || text.front() != '-') return std::string();
          return "expected a whole number of 0 or more, found \"" + text + "\"";
        },
        ""));
  }
  for (CLI::App* choice : app.get_subcommands([](const CLI::App*) { return true; }))
    refuse_negative_seeds(*choice);
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

CommandLine::CommandLine(Identity identity)
    : identity_(std::move(identity)),
      app_(std::make_unique<CLI::App>(identity_.summary, identity_.name)) {
  app_->set_help_flag("-h,--help", "Print this help and exit");
  // In front of --version, so that it is known when that is answered.
  app_->add_flag("--json", json_, "Figures as one line of JSON");
  app_->set_version_flag(
      "--version", [this] { return json_ ? describe_build_as_json() : describe_build(); },
      "Print version, commit, build type and compiler and exit");
  app_->require_subcommand(0, 1);
  app_->fallthrough();
  app_->footer(
      "Each command has its own --help with examples. Exit codes: 0 ok, 1 the run failed,\n"
      "2 usage, 3 bad input, 4 tasks of a flow failed, 5 a node was lost, 75 saved at a signal, "
      "130 interrupted,\n"
      "143 terminated.");
}

CommandLine::~CommandLine() = default;

CLI::App& CommandLine::add(Command command) {
  auto entry = std::make_unique<Entry>();
  entry->command = std::move(command);
  CLI::App* app = app_->add_subcommand(entry->command.name, entry->command.summary);
  app->group(entry->command.hidden ? "" : entry->command.group);
  app->fallthrough();
  if (!entry->command.examples.empty()) app->footer("Examples:\n" + entry->command.examples);
  entry->app = app;
  commands_.push_back(std::move(entry));
  return *app;
}

// CLI11 puts subcommands under the heading of their command, if they say no other: "Measure and
// check" of `reproduce` has to be "Papers" in its own help.
void CommandLine::name_choices() {
  for (const auto& entry : commands_) {
    std::string heading = entry->command.choice.empty() ? "subcommand" : entry->command.choice;
    heading.front() = static_cast<char>(heading.front() - 'a' + 'A');
    heading += 's';
    for (CLI::App* choice : entry->app->get_subcommands([](const CLI::App*) { return true; })) {
      if (choice->get_group() == entry->app->get_group()) choice->group(heading);
    }
  }
}

int CommandLine::run(const std::vector<std::string>& words, std::ostream& out,
                     std::ostream& err) noexcept {
  Context context{.out = out,
                  .err = err,
                  .color_out = wants_color(STDOUT_FILENO),
                  .color_err = wants_color(STDERR_FILENO),
                  .program = {}};
  ExitCode code = ExitCode::failed;
  try {
    outlive_file_limits();
    // Of a job its launcher says it, once: not a guard that is told before it has begun to listen.
    const bool is_hidden = std::ranges::any_of(commands_, [&](const auto& entry) {
      return entry->command.hidden && !words.empty() && words.front() == entry->command.name;
    });
    if (!is_guarded_node() && !is_hidden) say_last_words(identity_.name);
    code = run_or_throw(words, context);
    out.flush();
    if (!out) {
      err << say_once(identity_.name + ": writing to standard output failed: is the disk full?\n");
      if (code == ExitCode::ok) code = ExitCode::failed;  // else what went wrong before says more
    }
  } catch (const Error& error) {
    // In one write, or lines of nodes mix.
    err << say_once(identity_.name + ": " + error.what() + "\n");
    code = error.code();
  } catch (const std::bad_alloc&) {
    err << identity_.name
        << ": not enough memory: a smaller instance, or more nodes, would need less\n";
    code = ExitCode::failed;
  } catch (const std::exception& error) {
    err << identity_.name << ": " << error.what() << '\n';
    code = ExitCode::failed;
  }
  err.flush();
  return static_cast<int>(code);
}

ExitCode CommandLine::run_or_throw(const std::vector<std::string>& words, Context& context) {
  // The words behind "--" belong to another program: the parser must not see them.
  const auto separator = std::find(words.begin(), words.end(), "--");
  for (const auto& entry : commands_) {
    if (entry->command.program != Program::all_words || words.empty()) continue;
    if (words.front() == entry->command.name) {
      context.program.assign(words.begin() + 1, words.end());
      return entry->command.run(context);
    }
  }
  if (separator != words.end()) context.program.assign(separator + 1, words.end());
  try {
    parse({words.begin(), separator}, context);
  } catch (const Answered&) {
    return ExitCode::ok;
  }
  context.json = json_;
  for (const auto& entry : commands_) {
    if (!entry->app->parsed()) continue;
    const std::string& name = entry->command.name;
    if (entry->command.program == Program::none && separator != words.end()) {
      throw Error("'" + identity_.name + " " + name + "' runs no program, found \"--\"",
                  ExitCode::usage);
    }
    if (entry->command.program == Program::required && context.program.empty()) {
      throw Error("expected a program: " + identity_.name + " " + name +
                      " [options] -- PROGRAM [arguments]",
                  ExitCode::usage);
    }
    return entry->command.run(context);
  }
  context.err << app_->help();
  throw Error("expected a command", ExitCode::usage);
}

void CommandLine::parse(std::vector<std::string> words, const Context& context) {
  std::reverse(words.begin(), words.end());  // the order that CLI11 wants
  refuse_negative_seeds(*app_);
  name_choices();
  try {
    app_->parse(words);
  } catch (const CLI::Success& answer) {
    app_->exit(answer, context.out, context.err);
    throw Answered{};
  } catch (const CLI::ParseError& error) {
    // A mistyped flag is often the cause of another complaint ("--nodes is required"): it goes
    // first.
    const auto unknown = app_->remaining(true);
    if (!unknown.empty()) throw_unknown_word(unknown.front());
    throw Error(bad_value(one_line(error.what())), ExitCode::usage);
  }
}

void CommandLine::throw_unknown_word(const std::string& word) const {
  const CLI::App* chosen = nullptr;
  const Command* command = nullptr;
  std::vector<std::string> names;
  for (const auto& entry : commands_) {
    if (!entry->command.hidden) names.push_back(entry->command.name);
    if (!entry->app->parsed()) continue;
    chosen = entry->app;
    command = &entry->command;
  }
  if (is_flag(word)) throw_unknown_flag(word, chosen);
  if (command == nullptr) {
    for (const auto& make : identity_.models) {
      if (identity_.single_model || make()->name() != word) continue;
      std::string hint = "\"" + word + "\" is a model: ";
      hint += identity_.name + " run " + word + " ..";
      throw Error(hint, ExitCode::usage);
    }
    throw Error("unknown command \"" + word + "\"" + did_you_mean(word, names) + "; see " +
                    identity_.name + " --help",
                ExitCode::usage);
  }
  const std::vector<std::string> choices = choices_of(*chosen);
  const CLI::App* inner = parsed_choice(*chosen);
  if (!choices.empty() && inner == nullptr) {
    std::string list;
    for (const auto& choice : choices)
      list += (list.empty() ? "" : ", ") + choice;
    throw Error("unknown " + command->choice + " \"" + word + "\"" + did_you_mean(word, choices) +
                    ", expected one of " + list,
                ExitCode::usage);
  }
  const std::string hint =
      command->program != Program::none ? "; the program stands behind \"--\"" : "";
  const std::string name = command->name + (inner != nullptr ? " " + inner->get_name() : "");
  throw Error("'" + identity_.name + " " + name + "' does not expect \"" + word + "\"" + hint,
              ExitCode::usage);
}

void CommandLine::throw_unknown_flag(const std::string& word, const CLI::App* chosen) const {
  std::vector<std::string> flags = flags_of(*app_);
  std::string path = identity_.name;
  std::string last;  // of the words that choose
  for (; chosen != nullptr; chosen = parsed_choice(*chosen)) {
    last = chosen->get_name();
    path += " " + last;
    for (auto& flag : flags_of(*chosen))
      flags.push_back(std::move(flag));
  }
  const std::string flag = word.substr(0, word.find('='));
  if (std::ranges::find(flags, flag) != flags.end()) {
    throw Error("\"" + flag + "\" stands too early: " + path + " " + flag + " ..", ExitCode::usage);
  }
  std::string others;
  for (const auto& entry : commands_) {
    if (entry->command.hidden) continue;
    std::vector<std::string> known = flags_of(*entry->app);
    for (const CLI::App* choice : entry->app->get_subcommands(
             [&](const CLI::App* each) { return each->get_name() == last; })) {
      for (auto& name : flags_of(*choice))
        known.push_back(std::move(name));
    }
    if (std::ranges::find(known, flag) == known.end()) continue;
    others += (others.empty() ? ", which is one of " : " and ") + identity_.name + " " +
              entry->command.name;
  }
  const std::string near = did_you_mean(flag, flags);
  throw Error("unknown flag \"" + flag + "\"" + (near.empty() ? others : near) + "; see " + path +
                  " --help",
              ExitCode::usage);
}

}  // namespace rubato::tools

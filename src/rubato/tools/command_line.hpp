#pragma once
// The command line of `rubato`: words in, one command run, an exit code out.
//
// Each command stands in a file of its own that offers `void add_<name>(CommandLine&)`;
// commands.cpp lists them. What is the same for all is done here: --help with examples, --version,
// --json, the nearest name for a mistyped word, Error -> message on `err` and its exit code. Data
// goes to Context::out, words for people to Context::err.
//
// CLI11 costs seconds a file: it is named here, and included only by .cpp files.

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "rubato/base/error.hpp"
#include "rubato/tick/app.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace rubato::tools {

// What a command may know besides its own options. Valid during the call that it is passed to.
struct Context {
  std::ostream& out;       // data: what a pipe or a file wants
  std::ostream& err;       // people
  bool json = false;       // figures as one line of JSON instead of a table
  bool color_out = false;  // colours are welcome on out
  bool color_err = false;
  std::vector<std::string> program;  // the words behind "--"
};

// Whether a command wants words behind "--".
enum class Program {
  none,
  optional,
  required,
  all_words,  // every word behind the command's name belongs to it, with or without "--"
};

struct Command {
  std::string name;
  std::string group;     // heading in the help: see groups below
  std::string summary;   // one line
  std::string examples;  // whole lines, each a command that works
  Program program = Program::none;
  bool hidden = false;
  std::function<ExitCode(const Context&)> run;  // may throw Error
  std::string choice = "";  // what its subcommands are, for messages and their heading: "model"
};

// What program this is: `rubato` with all of its models, or a user's program with one.
struct Identity {
  std::string name = "rubato";
  std::string summary = "Rubato: parallel programs that work while the network is late";
  std::vector<tick::AppMaker> models = {};
  // The one model stands in no command: `school run --fish 100`, not `school run fish --fish 100`.
  bool single_model = false;
};

// Headings of `rubato --help`, in this order.
inline constexpr const char* kRunGroup = "Run models";
inline constexpr const char* kMeasureGroup = "Measure and check";
inline constexpr const char* kClusterGroup = "Machines and jobs";

class CommandLine {
 public:
  explicit CommandLine(Identity identity = {});
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  [[nodiscard]] const Identity& identity() const noexcept { return identity_; }

  // Adds a command and returns its CLI11 parser, to which its options are added; it lives as long
  // as this object. REQUIRES: no command has that name.
  CLI::App& add(Command command);

  // Runs `words` (without the program's name). Never throws: an Error becomes one line on `err` and
  // its exit code, a usage mistake exit code 2.
  [[nodiscard]] int run(const std::vector<std::string>& words, std::ostream& out,
                        std::ostream& err) noexcept;

 private:
  struct Entry;

  void name_choices();
  [[nodiscard]] ExitCode run_or_throw(const std::vector<std::string>& words, Context& context);
  void parse(std::vector<std::string> words, const Context& context);
  [[noreturn]] void throw_unknown_word(const std::string& word) const;
  [[noreturn]] void throw_unknown_flag(const std::string& word, const CLI::App* chosen) const;

  Identity identity_;
  std::unique_ptr<CLI::App> app_;
  std::vector<std::unique_ptr<Entry>> commands_;
  bool json_ = false;
};

}  // namespace rubato::tools

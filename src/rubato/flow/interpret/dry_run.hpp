#pragma once
// DryRun: what a script would run, found without running it.
//
// The script is interpreted as ever, but its apps and leaves are written down instead of run. Of
// what they would have set, files are there (their names are known) and void is done; all else is
// unknown. An unknown value goes the way of failures: what needs it is not evaluated, and says on
// whose results it depends. So nothing is guessed: a word of an app that is unknown is "?", and a
// branch whose condition is unknown is not taken.
//
// The files that apps would have written are not there: what reads their contents is unknown too,
// even if a file of that name is left from another run. print() and trace() say nothing.

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/flow/interpret/compiled.hpp"
#include "rubato/flow/run.hpp"

namespace rubato::flow {

// Of an app or a leaf.
struct PlannedCalls {
  static constexpr std::size_t kLinesKept = 1000;

  std::string name;
  bool is_app = false;
  std::uint64_t n = 0;
  std::vector<std::string> lines;  // what they are called with, sorted; kLinesKept at most
};
// A statement that cannot be told: it needs what a leaf or app finds out.
struct UnknownStatement {
  std::string text;   // "'print' of sum.tic:12"
  std::string needs;  // the name of the app or leaf
  std::uint64_t n = 0;
};
struct ScriptPlan {
  std::vector<PlannedCalls> calls;        // by name
  std::vector<UnknownStatement> unknown;  // by text
  std::vector<std::string> missing;       // inputs that are not there, and why
  FlowResult result;                      // what fails and waits even so
};

// One for all cores of a process; any of them calls it.
class DryRun {
 public:
  void note_call(const std::string& name, bool is_app, std::string line);
  // `app` would write the file.
  void note_file(const std::string& file, const std::string& app);
  // The app that would; "" if none would.
  [[nodiscard]] std::string writer_of(const std::string& file) const;
  void note_unknown(std::string text, std::string needs);
  void note_missing(std::string text);
  [[nodiscard]] ScriptPlan take_plan();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, PlannedCalls> calls_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> unknown_;
  std::set<std::string> missing_;
  std::map<std::string, std::string> files_;  // and who would write them
};

// As run_script(). REQUIRES: all nodes are of this process.
[[nodiscard]] ScriptPlan plan_script(const std::string& text, const std::string& file_name,
                                     ScriptArguments arguments, RunOptions options = {});

// --- of the interpreter

// A value that a run of `name` would have set.
[[nodiscard]] Value unknown_value(const std::string& name);
[[nodiscard]] bool is_unknown(const Value& value);
// Whose result the text of a failure is about; "" if it is a failure indeed.
[[nodiscard]] std::string unknown_in(const std::string& failure);

}  // namespace rubato::flow

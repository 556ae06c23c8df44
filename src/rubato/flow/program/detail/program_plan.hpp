#pragma once
// What a program task carries in its rule: how the values of its inputs become a call. Private to
// flow/program.

#include <span>
#include <string>
#include <vector>

#include "rubato/flow/journal/journal.hpp"
#include "rubato/flow/program/leaf.hpp"
#include "rubato/flow/program/program_task.hpp"

namespace rubato::flow::program_detail {

struct ProgramPlan {
  struct Item {
    detail::Role role;
    bool is_output;
    std::uint32_t index;
  };
  ProgramTaskOptions options;
  std::vector<Item> items;
  std::vector<std::string> outputs;
  std::vector<std::int32_t> paths_from;  // [outputs]: the input that is its path, or -1
  bool was_dealt = false;                // to this node, which keeps it
  std::vector<std::string> failed = {};  // why its tries on other nodes have failed
  std::uint64_t number = 0;              // among its equals, of a task that was tried elsewhere

  // For another node. The name, core and priority stand in the rule.
  [[nodiscard]] Bytes to_bytes() const;
  [[nodiscard]] static ProgramPlan from_bytes(ByteView bytes);
  // Its options' name for people, of such bytes.
  [[nodiscard]] static std::string called(ByteView bytes);
  // Whether a try is one of several, each on another node.
  [[nodiscard]] bool tries_elsewhere(const RuleOptions& where, std::uint32_t n_nodes) const {
    return options.retry.elsewhere && n_nodes > 1 && !where.type && !where.needs_several() &&
           (where.core == kAnyCore || where.may_move);
  }
  // Outputs whose paths came as inputs have them from now on.
  void take_paths(const std::vector<Value>& values);
  // The name of an output from where the node runs.
  [[nodiscard]] FileName file_of(const std::string& output) const;
};

// What came of it: what is captured of what it wrote.
struct PlanEnd {
  ProgramEnd end;
  std::string text;
  std::string errors;
};

// The command, with the names that its outputs are to have. A value that is no word is "?".
[[nodiscard]] std::string text_of(const ProgramPlan& plan, const std::vector<Value>& values);
// The name of the program, without its folders.
[[nodiscard]] std::string program_of(const ProgramPlan& plan, const std::vector<Value>& values);

// All that decides what the program does: its command, what it runs in, the files that it is given
// (and the program, if it is named by its path). Reads files.
[[nodiscard]] TaskIdentity identity_of(const ProgramPlan& plan, const std::vector<Value>& values,
                                       const Journal& journal);

// Runs the program; blocks. A value that is no word is a problem of the end. What its journal says is
// done is not run; null: it has none. `is_one_try`: the caller tries again.
[[nodiscard]] PlanEnd run_plan(Launcher& launcher, const ProgramPlan& plan,
                               const std::vector<Value>& values, const JournalledTask* journalled,
                               bool is_one_try);

}  // namespace rubato::flow::program_detail

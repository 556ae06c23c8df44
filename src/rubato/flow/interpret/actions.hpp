#pragma once
// The actions of an interpreter's rules, and what is in their closures.

#include <vector>

#include "rubato/flow/flow.hpp"
#include "rubato/flow/tic/syntax.hpp"

namespace rubato::flow {

// How far a statement is. What a declaration does is done for each of its names by itself: from
// `name` on, the file of that number there is given its name; from `value` on, a variable its value. One
// that has failed waits for the keys of what it was to set.
enum class Stage : std::uint32_t {
  begin,
  round,
  ready,
  failing,
  name,
  value = std::uint32_t{1} << 31
};
[[nodiscard]] constexpr bool is_value(Stage stage) noexcept {
  return stage >= Stage::value;
}
[[nodiscard]] constexpr bool is_name(Stage stage) noexcept {
  return stage >= Stage::name && !is_value(stage);
}
[[nodiscard]] constexpr bool is_declared(Stage stage) noexcept {
  return stage >= Stage::name;
}
[[nodiscard]] constexpr Stage name_stage(std::size_t i) noexcept {
  return static_cast<Stage>(static_cast<std::size_t>(Stage::name) + i);
}
[[nodiscard]] constexpr Stage value_stage(std::size_t i) noexcept {
  return static_cast<Stage>(static_cast<std::size_t>(Stage::value) + i);
}

struct StatementId {
  std::uint32_t number;
  Stage stage;
};
[[nodiscard]] StatementId statement_of(const Rule& rule);

// Iterations of a statement `for`, the ends included.
struct ScriptRange {
  std::uint64_t number;
  std::int64_t first;
  std::int64_t step;
  std::uint64_t n;  // iterations
};
[[nodiscard]] ScriptRange range_of(const Rule& rule);

// `part`: what it is to people.
void submit_statement(Flow& flow, StatementId id, TaskPart part, std::vector<Arg> args,
                      const RuleOptions& options, PortablePlace at);
// The same; the statement meets inputs that have failed, too.
void submit_dry_statement(Flow& flow, StatementId id, std::vector<Arg> args,
                          const RuleOptions& options, PortablePlace at);
// The statement has failed, since an input of it has; args are as those of the others.
void submit_failing(Flow& flow, StatementId id, std::vector<Arg> args, const Value& failure,
                    PortablePlace at);
void submit_function(Flow& flow, std::uint32_t callable, std::vector<Arg> args, PortablePlace at);
[[nodiscard]] std::unique_ptr<Rule> range_rule(const ScriptRange& range, std::vector<Arg> args,
                                               PortablePlace at);
// The container's reader is the first argument.
void attach_each(Flow& flow, std::uint32_t number, std::vector<Arg> args, PortablePlace at);
// When the value is there: it is set, or inserted under the keys of the writer.
void submit_put(Flow& flow, Arg writer, Arg value, PortablePlace at);

// What the statement itself sets; not what the blocks in it set.
[[nodiscard]] std::vector<const tic::Expr*> targets_of(const tic::Statement& statement);
// Statements that are tasks of their own: calls of leaves and programs, and loops.
[[nodiscard]] bool is_task_of_its_own(const tic::Statement& statement);
// The variable that is given its name or value. REQUIRES: is_declared(stage).
[[nodiscard]] const tic::Declared& declared_at(const tic::Statement& statement, Stage stage);
// Variables that a statement declares and that go with it while it waits: the one that is given its
// value or name, the state of a loop that has one.
[[nodiscard]] std::vector<int> own_variables(const tic::Statement& statement, Stage stage);

}  // namespace rubato::flow

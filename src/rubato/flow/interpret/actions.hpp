#pragma once
// The actions of an interpreter's rules, and what is in their closures.

#include <vector>

#include "rubato/flow/flow.hpp"
#include "rubato/flow/tic/syntax.hpp"

namespace rubato::flow {

// How far a statement is. From `name` on: the file of a declaration, by its number there, that is
// given its name.
enum class Stage : std::uint32_t { begin, round, ready, name };
[[nodiscard]] constexpr bool is_name(Stage stage) noexcept {
  return stage >= Stage::name;
}
[[nodiscard]] constexpr Stage name_stage(std::size_t i) noexcept {
  return static_cast<Stage>(static_cast<std::size_t>(Stage::name) + i);
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

void submit_statement(Flow& flow, StatementId id, std::vector<Arg> args, const RuleOptions& options,
                      PortablePlace at);
// The same; the statement meets inputs that have failed, too.
void submit_dry_statement(Flow& flow, StatementId id, std::vector<Arg> args,
                          const RuleOptions& options, PortablePlace at);
void submit_function(Flow& flow, std::uint32_t callable, std::vector<Arg> args, PortablePlace at);
[[nodiscard]] std::unique_ptr<Rule> range_rule(const ScriptRange& range, std::vector<Arg> args,
                                               PortablePlace at);
// The container's reader is the first argument.
void attach_each(Flow& flow, std::uint32_t number, std::vector<Arg> args, PortablePlace at);
// When the value is there: it is set, or inserted under the keys of the writer.
void submit_put(Flow& flow, Arg writer, Arg value, PortablePlace at);

// Statements that are tasks of their own: calls of leaves and programs, and loops.
[[nodiscard]] bool is_task_of_its_own(const tic::Statement& statement);
// The file that is given its name. REQUIRES: is_name(stage).
[[nodiscard]] const tic::Declared& declared_file(const tic::Statement& statement, Stage stage);
// Variables that a statement declares and that go with it while it waits: those of a declaration
// with values, the state of a loop that has one, the file that is given its name.
[[nodiscard]] std::vector<int> own_variables(const tic::Statement& statement, Stage stage);

}  // namespace rubato::flow

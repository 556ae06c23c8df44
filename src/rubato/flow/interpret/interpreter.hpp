#pragma once
// Interpreter: the statements of a script as rules of a flow [Turbine 5.2].
//
// A block starts all of its statements at once. A statement whose operands are known is done in
// place; one that has to wait becomes a rule that carries what it needs of the variables and waits
// for its operands: first for those without open keys, then for members under them. What it starts
// belongs to its own activation; nothing holds a stack while it waits. Calls of functions, of leaves
// and of programs, and parts of loops, are tasks of their own, which any core may take.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rubato/flow/interpret/actions.hpp"
#include "rubato/flow/interpret/compiled.hpp"
#include "rubato/flow/interpret/environment.hpp"
#include "rubato/flow/interpret/evaluate.hpp"

namespace rubato::flow {

struct LeafCall;
struct ProgramTaskOptions;

class Interpreter {
 public:
  // That of this core. REQUIRES: set_script().
  [[nodiscard]] static Interpreter here();
  // The script that this core interprets from now on. Throws Error if the text is none.
  static void set_script(const std::string& text, const std::string& file_name,
                         const ScriptArguments& arguments);
  [[nodiscard]] const Compiled& compiled() const noexcept { return compiled_; }

  // Starts main. Called by a task.
  void start_main();

  // --- of actions
  void run_statement(Rule& rule);
  // The same of one that has an input which failed.
  void run_failed(Rule& rule);
  void run_function(Rule& rule);
  void run_range(Rule& rule);
  void run_each(Rule& rule);
  static void run_put(Flow& flow, Rule& rule);
  [[nodiscard]] std::string describe(std::uint32_t number) const;
  // An operand that a statement's rule waits for, as it is written; "" of another argument.
  [[nodiscard]] std::string describe_input(const Rule& rule, std::size_t argument) const;

 private:
  // What is waited for before a statement is done.
  struct Operand {
    const tic::Expr* expression;
    Arg::Mode mode;
    bool is_name = false;  // of the file, which may be open
  };

  explicit Interpreter(Flow& flow, const Compiled& compiled) : flow_(flow), compiled_(compiled) {}

  // --- blocks and operands
  void run_block(const tic::Block& block, Environment& environment);
  void declare(const CompiledStatement& statement, const tic::Block& block,
               Environment& environment);
  void declare_file(const CompiledStatement& statement, std::size_t i, Environment& environment);
  void start(const CompiledStatement& statement, Environment& environment,
             Stage stage = Stage::begin);
  void defer(const CompiledStatement& statement, Environment& environment,
             const std::vector<Operand>& operands, Stage stage, const Value& failure = {});
  // Returns at which argument its operands begin.
  [[nodiscard]] static std::size_t unpack_statement(const CompiledStatement& statement, Stage stage,
                                                    Rule& rule, Environment& environment);
  [[nodiscard]] std::vector<Operand> operands_of(const CompiledStatement& statement,
                                                 const Environment& environment, Stage stage) const;
  void collect_rule(const tic::Rule& rule, const Environment& environment,
                    std::vector<Operand>& to) const;
  void collect(const tic::Expr& e, const Environment& environment, std::vector<Operand>& to,
               Arg::Mode of_containers = Arg::Mode::closed) const;
  void collect_keys(const tic::Expr& e, const Environment& environment,
                    std::vector<Operand>& to) const;
  [[nodiscard]] static bool collect_name(const tic::Expr& file, const Environment& environment,
                                         std::vector<Operand>& to);
  void collect_names(const tic::Rule& rule, const Environment& environment,
                     std::vector<Operand>& to) const;
  // Of a file that a rule writes; none, if it has no name of its own.
  [[nodiscard]] static Value output_name(const tic::Expr& output, const Environment& environment);
  // The same of what `by` writes: a temporary file's, if it has none.
  [[nodiscard]] Value name_to_write(const tic::Expr& output, const tic::Callable& by,
                                    Environment& environment);
  void claim_names(const tic::Rule& rule, const Environment& environment) const;
  // The same as the last argument of a parameter of a function; then the lease, if it is a file.
  static void add_name_arguments(const tic::Expr& e, Environment& environment,
                                 std::vector<Arg>& to);
  [[nodiscard]] bool is_known(const Operand& operand, const Environment& environment) const;
  [[nodiscard]] bool may_wait_for(const Operand& operand, const Environment& environment) const;
  [[nodiscard]] Keys keys_of(const tic::Expr& operand, Environment& environment) const;
  [[nodiscard]] Arg read_argument(const tic::Expr& operand, Arg::Mode mode,
                                  Environment& environment) const;
  [[nodiscard]] TaskPart part_of(const tic::Statement& statement, Stage stage) const;
  void run_body_of(const CompiledStatement& loop, const tic::Block& body, Environment& environment);

  // --- what has failed (failures.cpp)
  void fail(const CompiledStatement& statement, Environment& environment, const std::string& what,
            Stage stage = Stage::begin) const;
  [[nodiscard]] std::string round_text(const CompiledStatement& statement,
                                       const Environment& environment) const;
  void skip_statement(const CompiledStatement& statement, Environment& environment, Value failure,
                      Stage stage);
  void fail_along_keys(const CompiledStatement& statement, Environment& environment,
                       const Value& failure, Stage stage);
  void fail_targets(const CompiledStatement& statement, Environment& environment,
                    const Value& failure, Stage stage = Stage::begin) const;
  void fail_target(const tic::Expr& target, Environment& environment, const Value& failure) const;
  void fail_variable(int variable, Environment& environment, const Value& failure,
                     PortablePlace at) const;
  void fail_container(Ref& writer, Keys keys, const Value& failure, PortablePlace at) const;
  [[nodiscard]] const Value* failure_among(const std::vector<Operand>& operands,
                                           const Environment& environment) const;
  [[nodiscard]] std::optional<Value> key_if_known(const tic::Expr& key,
                                                  Environment& environment) const;

  // --- what statements do
  void perform(const CompiledStatement& statement, Environment& environment, Stage stage);
  void perform_form(const CompiledStatement& statement, Environment& environment, Stage stage);
  void perform_declared(const tic::Declaration& declaration, const tic::Declared& declared,
                        Environment& environment);
  void perform_name(const tic::Declared& declared, Environment& environment);
  void perform_rule(const CompiledStatement& statement, const tic::Rule& rule,
                    Environment& environment);
  void call_function(const tic::Rule& rule, const tic::RuleCall& call,
                     const tic::Callable& callable, Environment& environment);
  [[nodiscard]] bool run_leaf_function(const CompiledStatement& statement, const tic::Rule& rule,
                                       const tic::Callable& callable, Environment& environment,
                                       LeafCall& leaf);
  void call_leaf(const CompiledStatement& statement, const tic::Rule& rule,
                 const tic::RuleCall& call, const tic::Callable& callable,
                 Environment& environment);
  // Throws Error if one of them is not there.
  void check_files(const std::vector<std::string>& files) const;
  [[nodiscard]] std::vector<std::string> files_of(const tic::Rule& rule,
                                                  Environment& environment) const;
  static void add_leases(const tic::Rule& rule, const tic::RuleCall& call, Environment& environment,
                         std::vector<Arg>& to);
  void call_app(const tic::Rule& rule, const tic::RuleCall& call, const tic::Callable& callable,
                Environment& environment);
  [[nodiscard]] ProgramTaskOptions program_options(const tic::Rule& rule,
                                                   const tic::Callable& callable,
                                                   Environment& frame,
                                                   Environment& environment) const;
  void perform_insert(const tic::Insert& insert, Environment& environment);
  void perform_foreach(const CompiledStatement& statement, const tic::Foreach& loop,
                       Environment& environment);
  void perform_range(const CompiledStatement& statement, const tic::ForRange& loop,
                     Environment& environment);
  void perform_switch(const tic::Switch& cases, Environment& environment);
  [[nodiscard]] std::vector<Value> values_of(const std::vector<tic::LoopState>& states,
                                             Environment& environment) const;
  void begin_round(const CompiledStatement& statement, const tic::Loop& loop,
                   std::vector<Value> values, Environment& environment);
  static void bind_member(int variable, Value value, Environment& environment);
  void evaluate_call(const tic::CallExpr& call, const std::vector<const tic::Expr*>& arguments,
                     Environment& environment);
  [[nodiscard]] std::string members_text(const tic::Expr& e, Environment& environment) const;
  [[nodiscard]] static std::vector<const tic::Expr*> inputs_of(const tic::RuleCall& call);
  [[nodiscard]] Arg write_argument(const tic::Expr& target, Environment& environment) const;
  void perform_round(const CompiledStatement& statement, const tic::Loop& loop,
                     Environment& environment);
  // Throws Error, with the place, if there is none.
  [[nodiscard]] Ref& writer_of(const tic::Expr& target, Environment& environment) const;
  [[nodiscard]] Keys written_keys_of(const tic::Expr& target, Environment& environment) const;
  void make_inner(const tic::Expr& target, Environment& environment) const;
  void make_fields(int variable, Environment& environment, PortablePlace at) const;
  void set_target(const tic::Expr& target, Value value, Environment& environment);
  void assign_value(const tic::Expr& target, const tic::Expr& value, Environment& environment);
  void set_members(const tic::Expr& target, Members members, Environment& environment);
  [[nodiscard]] Value value_of(const tic::Expr& e, const tic::Type& type,
                               Environment& environment) const;
  // What split() or glob() makes, as a container, which the environment knows from now on.
  [[nodiscard]] Value made_container(const tic::Expr& e, Environment& environment) const;
  [[nodiscard]] PortablePlace place(const tic::Node& node) const noexcept;
  // What the rule does not say, the leaf says that it calls, or the app with this frame.
  [[nodiscard]] RuleOptions task_options(const tic::Rule& rule, Environment& environment) const;
  [[nodiscard]] RuleOptions merged_options(const tic::Options& of_rule, Environment& environment,
                                           const tic::Options& of_callable,
                                           Environment& frame) const;
  // Of a try; kNever if nothing is said.
  [[nodiscard]] Nanos timeout_of(const tic::Options& of_rule, Environment& environment,
                                 const tic::Options& of_callable, Environment& frame) const;
  [[nodiscard]] std::int32_t priority_of(const tic::Options& of_rule, Environment& environment,
                                         const tic::Options& of_callable, Environment& frame) const;
  // How often it is to be tried; at least once.
  [[nodiscard]] std::uint32_t n_tries(const tic::Options& of_rule, Environment& environment,
                                      const tic::Options& of_callable, Environment& frame) const;
  [[nodiscard]] std::unique_ptr<Environment> leaf_frame(const tic::RuleCall& call,
                                                        const tic::Callable& callable,
                                                        Environment& environment) const;
  void set_place(const tic::Options& options, Environment& environment, RuleOptions& to) const;

  // --- of a dry run (dry_run.cpp)
  [[nodiscard]] bool is_dry() const noexcept { return compiled_.arguments().dry_run != nullptr; }
  [[nodiscard]] Value input_of(const tic::Expr& e, const tic::Type& type,
                               Environment& environment) const;
  void plan_app(const tic::Rule& rule, const tic::RuleCall& call, const tic::Callable& callable,
                Environment& frame, Environment& environment) const;
  void plan_leaf(const tic::Rule& rule, const tic::RuleCall& call, const tic::Callable& callable,
                 Environment& environment) const;
  void plan_inputs(const tic::Rule& rule, Environment& environment) const;
  void plan_outputs(const tic::Rule& rule, const tic::Callable& callable,
                    const std::function<Value(std::size_t)>& file_name,
                    Environment& environment) const;

  Flow& flow_;
  const Compiled& compiled_;
  TeamTask* team_ = nullptr;  // that runs the statement
};

// The name of the script that this process runs, or ran last: places of its data and rules are of that
// file. It lies at the same place in all processes of a job, as the texts of the program do
// (PortablePlace).
[[nodiscard]] const char* script_file() noexcept;

}  // namespace rubato::flow

#include "rubato/flow/program/program_task.hpp"

#include <algorithm>
#include <optional>

#include "rubato/flow/journal/equal_tasks.hpp"
#include "rubato/flow/program/detail/node_programs.hpp"
#include "rubato/flow/program/detail/program_plan.hpp"
#include "rubato/flow/records.hpp"

namespace rubato::flow {
namespace {

using program_detail::CorePrograms;
using program_detail::PlanEnd;
using program_detail::ProgramPlan;

// The arguments of a rule: the outputs, what is done, the texts that are captured, the inputs.
std::size_t n_results(const ProgramPlan& plan) {
  const auto n_texts = [](bool is_captured) -> std::size_t { return is_captured ? 1 : 0; };
  return plan.outputs.size() + 1 + n_texts(plan.options.captures_stdout) +
         n_texts(plan.options.captures_stderr);
}

// All of a rule that whoever called us is about to delete.
std::unique_ptr<Rule> taken(Rule& rule, const Bytes& closure) {
  const auto n = static_cast<std::uint32_t>(rule.args().size());
  auto kept = std::make_unique<Rule>(rule.action, n, rule.options, rule.at);
  kept->set_closure(closure.data(), closure.size());
  kept->at_arg = n;
  kept->loop = rule.loop;
  kept->made_on = rule.made_on;
  for (std::size_t i = 0; i < n; ++i)
    kept->args()[i] = std::exchange(rule.args()[i], {});
  return kept;
}

void set_results(Flow& flow, Rule& rule, const ProgramPlan& plan, PlanEnd end) {
  const auto set = [&](std::size_t i, const Value& value) {
    flow.set(std::exchange(rule.args()[i].ref, {}), value, rule.at);
  };
  std::size_t i = 0;
  for (const std::string& output : plan.outputs)
    set(i++, Codec<FileName>::put(plan.file_of(output)));
  set(i++, Value::done());
  if (plan.options.captures_stdout) set(i++, Codec<std::string>::put(std::move(end.text)));
  if (plan.options.captures_stderr) set(i++, Codec<std::string>::put(std::move(end.errors)));
}

// Its next try, on the next node.
void try_elsewhere(Flow& flow, Rule& rule, ProgramPlan plan, const std::string& problem) {
  const core::JobShape& shape = flow.core().shape();
  plan.failed.push_back("on node " + std::to_string(shape.node) + ": " + problem);
  plan.was_dealt = true;
  const std::unique_ptr<Rule> next = taken(rule, plan.to_bytes());
  flow.core().post((shape.node + 1) % shape.n_nodes * shape.n_cores, MoveRule{}, next->to_bytes());
}

// It and the journal, if the run has one. `given` keeps its number for tries on other nodes.
std::optional<JournalledTask> journalled(Flow& flow, const ProgramPlan& plan,
                                         const std::vector<Value>& values, ProgramPlan& given) {
  Journal* const journal = flow.journal();
  if (journal == nullptr) return {};
  const auto identity = [&] { return program_detail::identity_of(plan, values, *journal); };
  JournalledTask all{*journal, flow.run_native(identity, {core::NativeTime::brief})};
  if (plan.failed.empty()) {
    given.number = number_among_equals(all.task);
  } else {
    all.task.set_number(plan.number);
  }
  return all;
}

// Why it failed; "" if it ended well, nothing if it is tried again on another node.
std::optional<std::string> run_to_end(Flow& flow, Rule& rule, ProgramPlan given,
                                      CoreWatch::Span* span) {
  ProgramPlan plan = given;
  try {
    std::vector<Value> values;
    for (const Arg& arg : rule.args().subspan(n_results(plan)))
      values.push_back(arg.value);
    plan.take_paths(values);
    program_detail::NodePrograms& node = CorePrograms::here().node();
    if (span != nullptr) {
      span->set_program(program_detail::program_of(plan, values),
                        program_detail::text_of(plan, values));
    }
    const bool moves = plan.tries_elsewhere(rule.options, flow.core().shape().n_nodes);
    const std::optional<JournalledTask> task = journalled(flow, plan, values, given);
    PlanEnd all = flow.run_native(
        [&] {
          return program_detail::run_plan(node.launcher(), plan, values, task ? &*task : nullptr,
                                          moves);
        },
        rule.options.turn());
    if (all.end.well()) {
      set_results(flow, rule, plan, std::move(all));
      return "";
    }
    if (!moves) return all.end.problem;
    if (plan.failed.size() + 1 < plan.options.retry.n_tries &&
        may_be_tried_elsewhere(all.end, plan.options.retry)) {
      try_elsewhere(flow, rule, given, all.end.problem);
      return std::nullopt;
    }
    std::vector<std::string> problems = plan.failed;
    problems.push_back("on node " + std::to_string(flow.core().shape().node) + ": " +
                       all.end.problem);
    return text_of_tries(problems);
  } catch (const std::exception& error) {
    return error.what();
  }
}

void run_here(Flow& flow, Rule& rule, const ProgramPlan& plan) {
  const bool has_name = !rule.options.name.empty();
  flow.core().tasks().label_running(has_name ? rule.options.name.c_str() : "program of a flow",
                                    rule.at.place());
  if (plan.failed.empty()) flow.note_run();
  std::optional<CoreWatch::Span> span;
  if (flow.watch() != nullptr) span.emplace(*flow.watch(), rule);
  const std::optional<std::string> problem = run_to_end(flow, rule, plan, span ? &*span : nullptr);
  if (!problem) return;
  if (problem->empty()) return flow.give_back(rule, nullptr);
  std::string what = rule.text() + ": " + *problem;
  const Value failure = Value::failed(what);
  flow.note_failed_body(std::move(what));
  flow.give_back(rule, &failure);
}

// Those that waited for their turn, in this task: it has one already.
void run_kept(Flow& flow, CorePrograms& programs) {
  while (std::optional<CorePrograms::Kept> kept = programs.next()) {
    {
      const CoreContext::RunningScope inside(flow.core(), kept->scope);
      run_here(flow, *kept->rule, ProgramPlan::from_bytes(kept->rule->closure()));
    }
    flow.core().end_in_scope(kept->scope);
  }
}

void run_program(Flow& flow, Rule& rule) {
  ProgramPlan plan = ProgramPlan::from_bytes(rule.closure());
  // A worker has it: it is one of few.
  if (rule.options.type || rule.options.needs_several()) return run_here(flow, rule, plan);
  CorePrograms& programs = CorePrograms::here();
  programs.wait_for_room();
  if (programs.begin()) {
    run_here(flow, rule, plan);
    run_kept(flow, programs);
    return programs.end();
  }
  const bool is_dealt = !plan.was_dealt && rule.options.core == kAnyCore;
  plan.was_dealt = true;
  std::unique_ptr<Rule> kept = taken(rule, plan.to_bytes());
  const CoreId to = is_dealt ? programs.deal() : flow.core().core();
  if (flow.core().shape().node_of(to) == flow.core().shape().node) {
    programs.keep(std::move(kept));
  } else {
    flow.core().post(to, MoveRule{}, kept->to_bytes());
  }
}

std::string called(const Rule& rule) {
  return ProgramPlan::called(rule.closure());
}
std::uint32_t number_of_called(const Rule& rule) {
  return static_cast<std::uint32_t>(std::hash<std::string>()(called(rule)));
}

// NOLINTBEGIN(cert-err58-cpp): before main, like all actions
const ActionId kProgram =
    register_action({.name = "program", .run = &run_program, .counts_itself = true});
// One with ProgramTaskOptions::called.
const ActionId kCalledProgram = register_action({.name = "program",
                                                 .run = &run_program,
                                                 .describe = &called,
                                                 .number = &number_of_called,
                                                 .counts_itself = true});
// NOLINTEND(cert-err58-cpp)

}  // namespace

const Future<FileName>& StartedProgram::file(std::string_view path) const {
  const auto found = std::ranges::find(paths, path);
  if (found != paths.end()) return files[static_cast<std::size_t>(found - paths.begin())];
  throw Error("output " + std::string(path) + ": expected an output of the program" +
              did_you_mean(path, paths));
}

ProgramTask::~ProgramTask() {
  for (const Arg& input : inputs_)
    Flow::here().give_back_reader(input.ref);
}

void ProgramTask::add_item(const Item& item) {
  const bool is_stream = item.role == detail::Role::in || item.role == detail::Role::out ||
                         item.role == detail::Role::errors;
  const auto has_role = [&](const Item& other) { return other.role == item.role; };
  if (is_stream && std::ranges::any_of(items_, has_role)) {
    throw Error(at_.text() +
                ": expected one file for each standard stream of a program, found "
                "two for the same");
  }
  const bool is_text = options_.captures_stderr || options_.text_has_errors;
  if (item.role == detail::Role::errors && is_text) {
    throw Error(at_.text() + ": expected stderr_to() or standard error as text, found both");
  }
  if (item.role == detail::Role::out && options_.captures_stdout) {
    throw Error(at_.text() + ": expected stdout_to() or captures_stdout, found both");
  }
  items_.push_back(item);
}

void ProgramTask::put(detail::Role role, detail::OutputWord output) {
  // A word of its own, or a part of one; or what the output says of itself.
  if (output.role == detail::Role::word) output.role = role;
  std::size_t i = 0;
  while (i < outputs_.size() && (futures_[i] || outputs_[i] != output.path))
    ++i;
  add_item({output.role, true, static_cast<std::uint32_t>(i)});
  if (i < outputs_.size()) return;
  outputs_.push_back(std::move(output.path));
  futures_.emplace_back();
  paths_from_.push_back(-1);
}

void ProgramTask::put(detail::Role role, detail::LateOutputWord output) {
  if (output.role == detail::Role::word) output.role = role;
  const DataId future = output.path.ref().id;
  const auto found = std::ranges::find(futures_, future);
  add_item({output.role, true, static_cast<std::uint32_t>(found - futures_.begin())});
  if (found != futures_.end()) return;
  outputs_.emplace_back();
  futures_.push_back(future);
  paths_from_.push_back(static_cast<std::int32_t>(inputs_.size()));
  put(detail::Role::only_waited_for, std::move(output.path));
}

void ProgramTask::put_input(detail::Role role, Arg input) {
  // First, so that its reference is given back if the item is refused.
  inputs_.push_back(std::move(input));
  add_item({role, false, static_cast<std::uint32_t>(inputs_.size() - 1)});
}

StartedProgram ProgramTask::start() {
  Flow& flow = Flow::here();
  const PortablePlace at(at_);
  ProgramPlan plan{options_, {}, outputs_, paths_from_};
  for (const Item& item : items_)
    plan.items.push_back({item.role, item.is_output, item.index});
  const std::size_t n_before = n_results(plan);
  auto rule =
      std::make_unique<Rule>(options_.called.empty() ? kProgram : kCalledProgram,
                             static_cast<std::uint32_t>(n_before + inputs_.size()),
                             RuleOptions{options_.name, options_.core, options_.priority, true,
                                         options_.may_move, options_.type, options_.n_cores},
                             at);
  const Bytes closure = plan.to_bytes();
  rule->set_closure(closure.data(), closure.size());
  std::size_t i = 0;
  const auto make = [&](Kind kind) {
    const Ref whole{flow.create(kind, at), kWholeWeight};
    rule->args()[i].mode = Arg::Mode::output;
    rule->args()[i++].ref = whole;
    return whole;
  };
  StartedProgram started;
  for (std::size_t n = 0; n < outputs_.size(); ++n)
    started.files.emplace_back(make(Kind::file));
  started.done = Future<void>(make(Kind::unit));
  if (options_.captures_stdout) started.text = Future<std::string>(make(Kind::string));
  if (options_.captures_stderr) started.errors = Future<std::string>(make(Kind::string));
  for (Arg& input : inputs_)
    rule->args()[i++] = std::move(input);
  inputs_.clear();
  started.paths = std::move(outputs_);
  flow.submit(std::move(rule));
  // The caller may be one that makes them without an end, and has no other reason to wait.
  if (flow.core().may_wait()) CorePrograms::here().wait_for_room();
  return started;
}

}  // namespace rubato::flow

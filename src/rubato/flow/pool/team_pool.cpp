#include "rubato/flow/pool/team_pool.hpp"

#include <algorithm>

#include "rubato/flow/flow.hpp"
#include "rubato/flow/pool/team_task.hpp"

namespace rubato::flow {
namespace {

void put_cores(Writer& out, const std::vector<CoreId>& cores) {
  out.put_vector(cores);
}

// What the cores of a team need to run it.
struct Formed {
  std::unique_ptr<Rule> rule;
  std::uint64_t number = 0;
  std::vector<CoreId> cores;

  [[nodiscard]] Bytes to_bytes(const Rule& of) const {
    Writer out;
    out.put(number);
    put_cores(out, cores);
    const Bytes bytes = of.to_bytes();
    out.append(bytes.data(), bytes.size());
    return out.take();
  }
  [[nodiscard]] static std::unique_ptr<Formed> from_bytes(ByteView bytes) {
    Reader in(bytes);
    auto formed = std::make_unique<Formed>();
    formed->number = in.get<std::uint64_t>();
    formed->cores = in.get_vector<CoreId>();
    formed->rule = Rule::from_bytes(in.get_view(in.left()));
    return formed;
  }
};

struct PutTeam {
  std::uint64_t unused = 0;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Flow::here().team_pool().accept(Rule::from_bytes(bytes));
  }
};

// A member has ended; with a failure, or without.
struct PartDone {
  std::uint64_t task;  // an address of the node it goes to
  void apply(CoreContext& here, ByteView failure) const {
    TeamTask& of = *std::bit_cast<TeamTask*>(task);
    if (of.failure.empty())
      of.failure.assign(reinterpret_cast<const char*>(failure.data()), failure.size());
    --of.n_open;
    if (of.waiter != nullptr) here.tasks().wake(*std::exchange(of.waiter, nullptr));
  }
};

// The part of a member that is not the first.
struct MemberPart {
  Formed* formed;
  CoreId first;
  std::uint64_t task;

  void run(CoreContext& here) const {
    const std::unique_ptr<Formed> owned(formed);
    const global::Team team = global::Team::join(owned->number, owned->cores);
    TeamTask mine{team};
    owned->rule->team = &mine;
    const std::string failure = Flow::here().run_part(*owned->rule);
    if (!failure.empty()) mine.fail(failure);
    team.free();
    here.post(first, PartDone{task}, std::as_bytes(std::span(failure)));
  }
};
struct JoinTeam {
  std::uint64_t task;
  void apply(CoreContext& here, ByteView bytes) const {
    here.spawn_bound(MemberPart{Formed::from_bytes(bytes).release(), here.source(), task});
  }
};

struct TeamEnded {
  WorkType type;
  void apply(CoreContext& /*here*/) const { Flow::here().team_pool().note_ended(type); }
};

// That of the first one, which has the outputs.
struct FirstPart {
  Formed* formed;

  void run(CoreContext& here) const {
    const std::unique_ptr<Formed> owned(formed);
    Flow& flow = Flow::here();
    Rule& rule = *owned->rule;
    const WorkType type = rule.options.type;
    if (rule.options.as_team) {
      run_as_team(here, flow, rule);
    } else {
      flow.run(rule);
    }
    flow.typed_pool().free_workers(type, owned->cores);
    here.post(flow.team_pool().queue_of(type).keeper, TeamEnded{type});
  }
  void run_as_team(CoreContext& here, Flow& flow, Rule& rule) const {
    const global::Team team = global::Team::join(formed->number, formed->cores);
    TeamTask mine{team, true, static_cast<std::uint32_t>(formed->cores.size() - 1)};
    rule.team = &mine;
    for (std::size_t i = 1; i < formed->cores.size(); ++i) {
      const std::unique_ptr<Rule> part = flow.copy_for_member(rule);
      here.post(formed->cores[i], JoinTeam{std::bit_cast<std::uint64_t>(&mine)},
                formed->to_bytes(*part));
    }
    flow.run(rule);
    mine.wait_for_others();
    team.free();
  }
};
struct RunTeam {
  std::uint64_t unused = 0;
  void apply(CoreContext& here, ByteView bytes) const {
    here.spawn_bound(FirstPart{Formed::from_bytes(bytes).release()});
  }
};

}  // namespace

// --- a team's task

void TeamTask::run_beside(Flow& flow, const std::function<void()>& f) const {
  CoreWatch* const watch = flow.watch();
  core::Beside::Told told;
  if (watch != nullptr) told = [watch](Nanos begin, Nanos end) { watch->note_beside(begin, end); };
  team.run_beside(f, std::move(told), {});  // the task has the place of whoever wrote it
}

void TeamTask::wait_for_others() {
  CoreContext& here = CoreContext::here();
  while (n_open > 0) {
    waiter = &here.tasks().running();
    here.tasks().suspend("others of its team to end");
  }
}

void TeamTask::settle() {
  if (!is_first) return;
  wait_for_others();
  if (!failure.empty()) throw Error(failure);
}

// --- bringing them together

std::uint32_t TeamPool::most_on(const RuleOptions& options, NodeId node) const {
  const std::uint32_t n = workers_.n_on(options.type, node);
  // A core is one member at most.
  return options.as_team ? std::min(n, here_.shape().n_cores) : n;
}

CoreId TeamPool::gatherer(WorkType type) const {
  return workers_.keeper_on(type, workers_.nodes_of(type).front());
}

void TeamPool::put(std::unique_ptr<Rule>& rule) {
  const RuleOptions& options = rule->options;
  std::uint64_t n_most = 0;
  const bool is_bound = options.core != kAnyCore && !options.may_move && !options.as_team;
  for (const NodeId node : workers_.nodes_of(options.type)) {
    if (is_bound && node != here_.shape().node_of(options.core)) continue;
    const std::uint64_t n = most_on(options, node);
    n_most = options.as_team ? n_most + n : std::max(n_most, n);
  }
  if (options.n_cores == 0 || options.n_cores > n_most) {
    const std::string what =
        options.type ? "workers of type " + workers_.workers().name(options.type) : "cores";
    throw Error("it is to have " + std::to_string(options.n_cores) + " " + what +
                " at a time, expected 1 to " + std::to_string(n_most) +
                (options.as_team ? ", all there are"
                 : is_bound      ? ", those of its node"
                                 : ", the most of one node"));
  }
  const CoreId to = gatherer(options.type);
  const QueueId queue = queue_of(options.type);
  if (to == here_.core()) {
    accept(std::move(rule));
  } else {
    here_.post(to, PutTeam{}, rule->to_bytes());
    rule.reset();
  }
  Flow::here().throttle().note_put(queue);
}

void TeamPool::accept(std::unique_ptr<Rule> rule) {
  const CoreContext::InPlace inside(here_);
  const WorkType type = rule->options.type;
  const std::int64_t priority = rule->options.priority;
  here_.begin_in_scope(here_.scope());
  Kept& kept = kept_[type.number];
  Flow::here().throttle().note_queued(queue_of_teams(type), rule->origin(),
                                      {.n_workers = std::max(1U, kept.n_running)});
  kept.waiting.emplace(std::pair(-priority, n_put_++), Waiting{std::move(rule), here_.scope()});
  gather_next(type, kept);
}

// From a node on, over as few as it takes.
void TeamPool::gather_next(WorkType type, Kept& kept) {
  if (kept.gathering || kept.waiting.empty()) return;
  Gathering next{std::move(kept.waiting.begin()->second), {}, 0};
  kept.waiting.erase(kept.waiting.begin());
  Flow::here().throttle().note_begun(queue_of_teams(type));
  const RuleOptions options = next.team.rule->options;
  const std::vector<NodeId>& nodes = workers_.nodes_of(type);
  std::size_t first = kept.next_node;
  if (options.core != kAnyCore) {
    first = static_cast<std::size_t>(
        std::ranges::lower_bound(nodes, here_.shape().node_of(options.core)) - nodes.begin());
  }
  const CoreContext::RunningScope inside(here_, next.team.scope);
  std::uint32_t n_left = options.n_cores;
  std::vector<std::pair<NodeId, std::uint32_t>> parts;
  for (std::size_t i = 0; i < nodes.size() && n_left > 0; ++i) {
    const NodeId node = nodes[(first + i) % nodes.size()];
    const std::uint32_t n = std::min(n_left, most_on(options, node));
    if (!options.as_team && n < n_left) continue;
    // Where it is bound to, put() has found enough.
    parts.emplace_back(node, n);
    n_left -= n;
    kept.next_node = (first + i + 1) % nodes.size();
  }
  next.n_missing = parts.size();
  kept.gathering = std::move(next);
  for (const auto& [node, n] : parts)
    workers_.ask_to_reserve(type, node, n);
}

void TeamPool::note_reserved(WorkType type, const std::vector<CoreId>& cores) {
  const CoreContext::InPlace inside(here_);
  Kept& kept = kept_.at(type.number);
  Gathering& now = kept.gathering.value();
  now.cores.insert(now.cores.end(), cores.begin(), cores.end());
  if (--now.n_missing > 0) return;
  Gathering together = std::move(now);
  kept.gathering.reset();
  std::ranges::sort(together.cores);
  Formed formed;
  formed.number = (std::uint64_t{here_.core()} << 32) + ++n_teams_;
  formed.cores = std::move(together.cores);
  {
    const CoreContext::RunningScope of_team(here_, together.team.scope);
    here_.post(formed.cores.front(), RunTeam{}, formed.to_bytes(*together.team.rule));
  }
  here_.end_in_scope(together.team.scope);
  set_running(type, kept, kept.n_running + 1);
  gather_next(type, kept);
}

void TeamPool::note_ended(WorkType type) {
  Kept& kept = kept_.at(type.number);
  set_running(type, kept, kept.n_running - 1);
}

void TeamPool::set_running(WorkType type, Kept& kept, std::uint32_t n) {
  kept.n_running = n;
  Flow::here().throttle().set_workers(queue_of_teams(type), std::max(1U, n));
}

}  // namespace rubato::flow

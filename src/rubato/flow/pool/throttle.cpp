#include "rubato/flow/pool/throttle.hpp"

#include <algorithm>

#include "rubato/flow/flow.hpp"

namespace rubato::flow {
namespace {

struct QueueIsFull {
  QueueId queue;
  std::uint32_t loop;
  std::uint32_t unused = 0;
  void apply(CoreContext& /*here*/) const { Flow::here().throttle().note_full(queue, loop); }
};
struct QueueHasRoom {
  QueueId queue;
  void apply(CoreContext& /*here*/) const { Flow::here().throttle().note_room(queue); }
};
struct WorkerBlocked {
  QueueNumber number;
  std::int32_t change;
  void apply(CoreContext& /*here*/) const {
    Flow::here().throttle().note_blocked_of(number, change);
  }
};

bool contains(const auto& all, const auto& one) {
  return std::ranges::find(all, one) != all.end();
}

}  // namespace

Throttle::Throttle() : here_(CoreContext::here()) {
  here_.let_go_when_quiet({.is_any = [this] { return is_full_of_data_ || !makers_.empty(); },
                           .let_go = [this] { let_more_come(); },
                           .look =
                               [this] {
                                 if (is_full_of_data_) look_for_room();
                               }});
}

void Throttle::begin() {
  queues_.clear();
  full_.clear();
  aside_.clear();
  n_waiting_ = 0;
  n_queued_max_ = 0;
  n_at_data_ = n_at_data_max_ = 0;
  at_data_bound_ = ready_bound_ = at_data_most_;
  is_full_of_data_ = false;
  makers_.clear();
  ++n_runs_;
}

// --- what runs

Throttle::Running::Running(Throttle& throttle, std::uint32_t loop, QueueId empties) noexcept
    : throttle_(throttle), task_(throttle.task()), loop_(loop), empties_(empties) {
  if (task_ != nullptr) outer_ = static_cast<Running*>(std::exchange(task_->frame, this));
}

Throttle::Running::Running(Throttle& throttle) noexcept : Running(throttle, 0, {}) {
  if (outer_ == nullptr) return;
  loop_ = outer_->loop_;
  empties_ = outer_->empties_;
}

Throttle::Running::~Running() {
  if (task_ != nullptr) task_->frame = outer_;
}

void Throttle::Running::settle() {
  const QueueId queue = std::exchange(full_, {});
  if (queue.number != kNoQueue && throttle_.here_.may_wait()) throttle_.wait_for(queue);
}

// --- whoever makes rules

// What a task of a worker or a team makes belongs to the loop around it, but does not wait: that task
// may wait for it. A core goes on with others while one that is bound to it waits.
void Throttle::mark(Rule& rule) {
  rule.made_on = here_.shape().node;
  Running* const maker = running();
  if (maker != nullptr) {
    // What is cut off a loop is no task more, nor what runs in place.
    const Action& action = action_at(rule.action);
    const bool is_part = action.is_loop && maker->loop_ != 0;
    if (!is_part && !action.in_place) maker->has_made_ = true;
  }
  if (rule.loop != 0) return;
  if (maker != nullptr) {
    const QueueNumber empties = maker->empties_.number;
    rule.loop = maker->loop_ | (empties != kNoQueue && empties != kBoundQueue ? kOfWorker : 0);
  }
  if (!action_at(rule.action).is_loop || (rule.loop & ~kOfWorker) != 0) return;
  // If the numbers begin again, two loops may wait where one would do.
  const auto n_cores = static_cast<std::uint32_t>(here_.shape().n_cores_total());
  const std::uint32_t number = (++n_loops_ * n_cores + here_.core()) & ~kOfWorker;
  rule.loop |= std::max(1U, number);
}

Throttle::Full* Throttle::find(QueueId queue) noexcept {
  const auto found = std::ranges::find(full_, queue, &Full::queue);
  return found != full_.end() ? &*found : nullptr;
}

void Throttle::note_put(QueueId queue) {
  Running* const maker = running();
  if (maker == nullptr || full_.empty() || find(queue) == nullptr) return;
  const bool is_bound = maker->empties_.number == kBoundQueue;
  if (is_bound ? queue.number != kBoundQueue : !is_of_worker()) maker->full_ = queue;
}

void Throttle::note_made_for(QueueId queue) {
  for (const Full& full : full_) {
    const bool is_it = queue.keeper == kAnyCore || queue.keeper == full.queue.keeper;
    if (is_it && queue.number == full.queue.number) return note_put(full.queue);
  }
}

void Throttle::wait_for(QueueId queue) {
  Full* const full = find(queue);
  if (full == nullptr) return;
  full->waiting.push_back(task());
  ++n_waiting_;
  here_.tasks().suspend("tasks of a full queue to begin");
}

bool Throttle::must_wait(const Rule& rule, bool had_room) const noexcept {
  if ((rule.loop & kOfWorker) != 0) return false;
  if (holds_all()) return true;
  const QueueId data{here_.core(), kDataQueue};
  const auto has_it = [&](const Full& full) {
    return contains(full.loops, rule.loop) && !(had_room && full.queue == data);
  };
  return rule.loop != 0 && action_at(rule.action).is_loop && std::ranges::any_of(full_, has_it);
}

void Throttle::put_aside(std::unique_ptr<Rule> rule) {
  const core::FinishId scope = here_.scope();
  here_.begin_in_scope(scope);
  aside_.push_back({std::move(rule), scope});
}

void Throttle::take_back() {
  for (Aside& each : std::exchange(aside_, {})) {
    if (holds(*each.rule)) {
      aside_.push_back(std::move(each));
      continue;
    }
    {
      const CoreContext::RunningScope inside(here_, each.scope);
      Flow::here().advance(std::move(each.rule));
    }
    here_.end_in_scope(each.scope);
  }
}

void Throttle::add_leftovers(std::vector<std::string>& all) const {
  if (aside_.empty()) return;
  const std::size_t n_more = aside_.size() - 1;
  all.push_back(aside_.front().rule->text() +
                (n_more > 0 ? " and " + std::to_string(n_more) + " more wait" : " waits") +
                " until fewer are queued of the tasks that it makes");
}

void Throttle::note_full(QueueId queue, std::uint32_t loop) {
  Full* full = find(queue);
  if (full == nullptr) full = &full_.emplace_back(Full{queue, {}, {}});
  if (loop != 0 && !contains(full->loops, loop)) full->loops.push_back(loop);
}

void Throttle::note_room(QueueId queue) {
  const auto found = std::ranges::find(full_, queue, &Full::queue);
  if (found == full_.end()) return;
  const CoreContext::InPlace inside(here_);
  const std::vector<core::Worker*> waiting = std::move(found->waiting);
  full_.erase(found);
  n_waiting_ -= static_cast<std::uint32_t>(waiting.size());
  for (core::Worker* const each : waiting)
    here_.tasks().wake(*each);
  take_back();
}

// --- who keeps a queue

void Throttle::note_queued(QueueNumber number, const RuleOrigin& rule, const QueueLimits& limits) {
  Queue& queue = queues_[number];
  queue.limits = limits;
  if (limits.n_most == 0) queue.limits.n_most = n_most_;
  n_queued_max_ = std::max(n_queued_max_, ++queue.n);
  settle(queue, number);
  if (!queue.is_full) return;
  tell_maker(queue, number, rule);
  watch(queue, number);
}

void Throttle::note_begun(QueueNumber number) {
  Queue& queue = queues_.at(number);
  RUBATO_ASSERT(queue.n > 0, number);
  --queue.n;
  ++queue.n_steps;
  if (queue.is_full) settle(queue, number);
}

void Throttle::note_seen_full(QueueNumber number, const RuleOrigin& rule) {
  Queue& queue = queues_[number];
  if (!std::exchange(queue.is_full, true)) begin_full(queue);
  tell_maker(queue, number, rule);
  settle(queue, number);
  watch(queue, number);
}

void Throttle::set_workers(QueueNumber number, std::uint32_t n_workers) {
  Queue& queue = queues_[number];
  queue.limits.n_workers = n_workers;
  watch(queue, number);
}

void Throttle::begin_full(Queue& queue) {
  queue.told.clear();
  queue.loops.clear();
}

void Throttle::settle(Queue& queue, QueueNumber number) {
  const std::size_t n_most = queue.limits.n_most;
  const bool is_full = !queue.is_stuck && queue.n > (queue.is_full ? n_most / 2 : n_most);
  if (std::exchange(queue.is_full, is_full) == is_full) return;
  if (is_full) return begin_full(queue);
  for (const NodeId node : std::exchange(queue.told, {}))
    tell(node, QueueHasRoom{{here_.core(), number}});
}

// The cores of this node and of that which made the rule.
void Throttle::tell_maker(Queue& queue, QueueNumber number, const RuleOrigin& rule) {
  const QueueId id{here_.core(), number};
  const std::uint32_t loop = rule.loop & ~kOfWorker;
  if (!contains(queue.loops, loop) && queue.loops.size() < kLoopsMost) {
    queue.loops.push_back(loop);
    for (const NodeId node : queue.told)
      tell(node, QueueIsFull{id, loop});
  }
  for (const NodeId node : {here_.shape().node, rule.made_on}) {
    if (contains(queue.told, node)) continue;
    queue.told.push_back(node);
    for (const std::uint32_t each : queue.loops)
      tell(node, QueueIsFull{id, each});
  }
}

template <class R>
void Throttle::tell(NodeId node, const R& record) {
  const CoreContext::InPlace inside(here_);
  const core::JobShape& shape = here_.shape();
  if (node != shape.node) {
    const CoreId first = node * shape.n_cores;
    here_.multicast(first, first + shape.n_cores, record);
    return here_.hurry(first);
  }
  for (CoreId core = shape.first_core(); core < shape.first_core() + shape.n_cores; ++core) {
    if (core == here_.core()) continue;
    here_.post(core, record);
    here_.hurry(core);
  }
  record.apply(here_);
}

// --- data that is waited for

void Throttle::note_many_at_data(const Rule& rule) {
  n_at_data_max_ = std::max(n_at_data_max_, n_at_data());
  Queue& queue = queues_[kDataQueue];
  if (!std::exchange(is_full_of_data_, true)) {
    queue.told.clear();
    queue.loops.clear();
    here_.hold_back(*this);
  }
  tell_maker(queue, kDataQueue, rule.origin());
}

// Not again where nothing has begun since: those of the pool wait for stacks, and the core must rest.
void Throttle::flush(CoreContext& /*here*/) {
  if (!makers_.empty()) {
    look_for_makers();
    // As long as it has others to begin; if these wait for stacks, the core must rest.
    if (!makers_.empty() && n_seen_ready_ != here_.n_pooled()) here_.hold_back(*this);
    n_seen_ready_ = here_.n_pooled();
  }
  if (!is_full_of_data_) return;
  const bool goes_on = looks_so_far_ != n_looks_;
  look_for_room();
  looks_so_far_ = n_looks_;
  if (is_full_of_data_ && goes_on && here_.n_pooled() > 0) here_.hold_back(*this);
}

bool Throttle::look_for_room() {
  ++n_looks_;
  const std::size_t n = n_at_data();
  if (n > at_data_bound_ / 2) return false;
  if (n <= at_data_most_ / 2) at_data_bound_ = at_data_most_;
  end_full_of_data();
  return true;
}

void Throttle::end_full_of_data() {
  is_full_of_data_ = false;
  for (const NodeId node : std::exchange(queues_[kDataQueue].told, {}))
    tell(node, QueueHasRoom{{here_.core(), kDataQueue}});
}

// Nothing else goes on anywhere: twice as many may wait, until they have gone.
void Throttle::let_more_come() {
  if (!makers_.empty()) {
    ready_bound_ = std::max(ready_bound_, here_.n_pooled()) * 2;
    wake_makers();
  }
  if (!is_full_of_data_) return;
  at_data_bound_ = std::max(at_data_bound_, n_at_data()) * 2;
  end_full_of_data();
}

// --- tasks that may run

void Throttle::hold_maker() {
  Running* const maker = running();
  if (maker == nullptr || !here_.may_wait() || is_of_worker()) return;
  if (++maker->n_made_ < kMadeLeast) return;
  makers_.push_back(task());
  here_.hold_back(*this);
  here_.tasks().suspend("tasks that it has made to begin");
}

void Throttle::look_for_makers() {
  const std::size_t n = here_.n_pooled();
  if (n > ready_bound_ / 2) return;
  if (n <= at_data_most_ / 2) ready_bound_ = at_data_most_;
  wake_makers();
}

void Throttle::wake_makers() {
  for (core::Worker* const each : std::exchange(makers_, {}))
    here_.tasks().wake(*each);
}

// --- tasks that empty queues

// Workers of a type are those of single tasks, and of teams.
void Throttle::tell_blocked(std::int32_t change) {
  const Running* const me = running();
  if (me == nullptr || me->empties_.number == kNoQueue) return;
  const QueueNumber number = me->empties_.number;
  if (number == kBoundQueue) return tell_blocked(me->empties_, change);
  Flow& flow = Flow::here();
  const WorkType type{number < queue_of_teams({}) ? number : number - queue_of_teams({})};
  tell_blocked(flow.team_pool().queue_of(type), change);
  if (!type) return;
  const CoreId keeper = flow.typed_pool().keeper_on(type, here_.shape().node);
  tell_blocked({keeper, queue_of_type(type)}, change);
}

void Throttle::tell_blocked(QueueId queue, std::int32_t change) {
  if (queue.keeper == here_.core()) return note_blocked_of(queue.number, change);
  here_.post(queue.keeper, WorkerBlocked{queue.number, change});
}

void Throttle::note_blocked_of(QueueNumber number, std::int32_t change) {
  Queue& queue = queues_[number];
  queue.n_blocked += change;
  if (change > 0) return watch(queue, number);
  ++queue.n_steps;
  queue.is_stuck = false;
}

void Throttle::watch(Queue& queue, QueueNumber number) {
  if (!queue.is_full || queue.has_workers() || std::exchange(queue.is_watched, true)) return;
  here_.spawn_after(kStuckAfter, [this, number, run = n_runs_, n_steps = queue.n_steps] {
    if (run == n_runs_) look_whether_stuck(number, n_steps);
  });
}

void Throttle::look_whether_stuck(QueueNumber number, std::uint64_t n_steps) {
  Queue& queue = queues_.at(number);
  queue.is_watched = false;
  if (queue.has_workers()) return;
  if (queue.n_steps != n_steps) return watch(queue, number);
  queue.is_stuck = true;
  settle(queue, number);
}

}  // namespace rubato::flow

// Rules that may run: in the pool of a core, in queues for workers and teams, given to others.

#include "rubato/flow/flow.hpp"
#include "rubato/flow/records.hpp"

namespace rubato::flow {
namespace {

// Of some thousand tasks that a core begins: if so many wait, others that are bound to it do not end.
constexpr std::uint32_t kBoundTasks = 1024;

// A rule that may run, in the pool of a core; one that makes others, or a step of an interpreter.
struct PooledRule {
  Rule* rule;

  void run(CoreContext& /*here*/) const { Flow::here().run_pooled(std::unique_ptr<Rule>(rule)); }
  void send(CoreContext& here, CoreId to) const {
    const std::unique_ptr<Rule> owned(rule);
    here.post(to, TakeRule{}, owned->to_bytes());
  }
};
struct PooledStep : PooledRule {
  static constexpr bool kMakesMore = true;
};

// The best of those that wait on this core; nothing, if others have run them all.
struct BestRule {
  std::uint64_t unused = 0;
  void run(CoreContext& /*here*/) const {
    Flow& flow = Flow::here();
    flow.run_best_of(flow);
  }
};
// The best of those that wait on a core of this node, for whoever has nothing to do.
struct BestRuleOf {
  Flow* owner;
  void run(CoreContext& /*here*/) const { Flow::here().run_best_of(*owner); }
  void send(CoreContext& here, CoreId to) const {
    const std::unique_ptr<Rule> best = owner->pop_best(here.scope());
    here.post(to, TakeBest{}, best != nullptr ? best->to_bytes() : Bytes());
  }
};

}  // namespace

void TakeRule::apply(CoreContext& here, ByteView bytes) const {
  std::unique_ptr<Rule> rule = Rule::from_bytes(bytes);
  if (Flow::here().is_maker(*rule)) {
    here.take_given(PooledStep{{rule.release()}});
  } else {
    here.take_given(PooledRule{rule.release()});
  }
}

// Who has asked is told even if there is nothing any more, and asks again.
void TakeBest::apply(CoreContext& here, ByteView bytes) const {
  Flow& flow = Flow::here();
  if (!bytes.empty()) flow.add_ready(Rule::from_bytes(bytes));
  here.take_given(BestRuleOf{&flow});
}

void Flow::dispatch(std::unique_ptr<Rule> rule) {
  const Action& action = action_at(rule->action);
  if (!action.takes_failures) {
    for (std::size_t i = 0; i < rule->args().size(); ++i) {
      // What comes along with a rule, for those that it makes, is no input of it.
      const Arg& arg = rule->args()[i];
      if (arg.mode != Arg::Mode::value || !arg.value.is_failed()) continue;
      const Value failure = arg.value;
      return skip(std::move(rule), i, failure);
    }
  }
  if (action.in_place || (action.is_start && here_.may_wait())) return run(*rule);
  if (rule->options.type || rule->options.needs_several()) return put_in_pool(std::move(rule));
  const bool is_bound = rule->options.is_bound();
  if (is_bound) {
    throttle_.note_queued(kBoundQueue, rule->origin(), {.n_workers = kBoundTasks});
  } else {
    throttle_.note_pooled(*rule);
  }
  if (rule->options.priority != 0) {
    if (is_bound) return add_bound(std::move(rule));
    add_ready(std::move(rule));
    here_.spawn_pooled(BestRuleOf{this});
  } else if (is_bound) {
    here_.spawn_bound(PooledRule{rule.release()});
  } else if (is_maker(*rule)) {
    here_.spawn_pooled(PooledStep{{rule.release()}});
  } else {
    here_.spawn_pooled(PooledRule{rule.release()});
  }
}

bool Flow::is_maker(const Rule& rule) const {
  return action_at(rule.action).part == TaskPart::step || makes_more(rule.action);
}

// A rule that cannot be where it is to be has failed.
void Flow::put_in_pool(std::unique_ptr<Rule> rule) {
  try {
    rule->options.needs_several() ? team_pool_.put(rule) : typed_pool_.put(rule);
  } catch (const std::exception& error) {
    if (watch_ != nullptr) watch_->note_gone(*rule);
    std::string what = rule->text() + ": " + error.what();
    const Value failure = Value::failed(what);
    note_failed_body(std::move(what));
    fail_targets_of(std::move(rule), failure);
  }
}

void Flow::add_ready_to(ReadyQueue& queue, std::unique_ptr<Rule> rule) {
  queue.push(here_.scope(), std::move(rule));
  here_.spawn_bound(BestRule{});
}

std::unique_ptr<Rule> Flow::pop_best_here() {
  const core::FinishId scope = here_.scope();
  const std::optional<std::int32_t> bound = bound_ready_.best_priority(scope);
  const std::optional<std::int32_t> other = ready_.best_priority(scope);
  if (bound && (!other || *bound >= *other)) return bound_ready_.pop_best(scope);
  std::unique_ptr<Rule> best = ready_.pop_best(scope);
  // Somebody else was faster.
  return best == nullptr && bound ? bound_ready_.pop_best(scope) : std::move(best);
}

void Flow::run_best_of(Flow& owner) {
  std::unique_ptr<Rule> best = &owner == this ? pop_best_here() : owner.pop_best(here_.scope());
  if (best != nullptr) run_pooled(std::move(best));
}

void Flow::run_pooled(std::unique_ptr<Rule> rule) {
  const bool had_room = throttle_.note_begun_here(*rule);
  if (rule->options.is_bound()) {
    throttle_.note_begun(kBoundQueue);
  } else if (throttle_.holds(*rule, had_room)) [[unlikely]] {
    return throttle_.put_aside(std::move(rule));
  }
  run(*rule);
}

// What waits at once if it has made too much of what is queued, which may be elsewhere, or not yet.
void Flow::submit_queued(std::unique_ptr<Rule> rule) {
  Throttle::Running frame(throttle_);
  const RuleOptions& how = rule->options;
  QueueId queue{how.core, how.is_bound() ? kBoundQueue : kNoQueue};
  if (how.type) queue = {kAnyCore, queue_of_type(how.type)};
  if (how.needs_several()) queue = {kAnyCore, queue_of_teams(how.type)};
  advance(std::move(rule));
  throttle_.note_made_for(queue);
  frame.settle();
}

// The queue that is shorter by a rule that this core runs.
QueueId Flow::emptied_by(const Rule& rule) const {
  const WorkType type = rule.options.type;
  if (rule.options.needs_several()) return team_pool_.queue_of(type);
  if (type) return {typed_pool_.keeper_on(type, here_.shape().node), queue_of_type(type)};
  if (rule.options.is_bound()) return {here_.core(), kBoundQueue};
  return {};
}

}  // namespace rubato::flow

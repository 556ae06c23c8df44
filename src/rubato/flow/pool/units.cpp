// Units that tasks put and get by themselves: what the pool of types does for kinds of units.

#include <algorithm>

#include "rubato/flow/flow.hpp"
#include "rubato/flow/pool/unit_kind.hpp"

namespace rubato::flow {
namespace {

std::vector<std::string>& kind_names() {
  static std::vector<std::string> names;  // filled before main
  return names;
}

// What a unit is kept as until somebody gets it; never run.
// NOLINTNEXTLINE(cert-err58-cpp): before main, like all actions
const ActionId kUnit = register_action({.name = "unit", .run = [](Flow&, Rule&) {}});

// A unit that only one core may have; else any core of its node, or of all.
struct Target {
  bool is_core;
};
bool is_for_core(const Rule& unit) {
  Target target{};
  std::memcpy(&target, unit.closure().data(), sizeof target);
  return target.is_core && !unit.options.may_move;
}

// A task that puts many lets its core look for messages now and then.
constexpr std::uint64_t kPutsAtOnce = 64;

struct AskUnit {
  WorkType kind;
  std::uint64_t address;
  void apply(CoreContext& here) const {
    Flow::here().typed_pool().add_getter(kind, here.source(), address);
  }
};
// A task that rests is to go on, said by something of another scope: in that of all units, or where
// it is, if these are over.
struct WakeResting {
  std::uint64_t task;
  std::uint64_t are_over;
  void apply(CoreContext& here) const {
    auto& resting = *std::bit_cast<core::Worker*>(task);
    if (are_over != 0) return here.tasks().wake(resting);
    Flow::here().typed_pool().wake(resting);
  }
};
struct AskToWake {
  std::uint64_t task;
  core::FinishId units;
  CoreId core;
  void apply(CoreContext& here) const {
    if (Flow::here().typed_pool().units_are_over()) return here.post(core, WakeResting{task, 1});
    const CoreContext::RunningScope inside(here, units);
    here.post(core, WakeResting{task, 0});
  }
};
struct HandUnit {
  std::uint64_t address;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Flow::here().typed_pool().take_unit(address, Rule::from_bytes(bytes));
  }
};

}  // namespace

// A task that waits for a unit; on its stack.
struct TypedPool::Getting {
  core::Worker* waiter;
  bool sleeps = false;
  bool is_over = false;
  std::optional<Value> unit = {};
};

std::uint32_t TypedPool::register_kind(std::string name) {
  kind_names().push_back(std::move(name));
  return static_cast<std::uint32_t>(kind_names().size() - 1);
}

std::size_t TypedPool::n_kinds() noexcept {
  return kind_names().size();
}

void TypedPool::begin_units(core::FinishId units, core::FinishId around) noexcept {
  units_scope_ = units;
  around_units_ = around;
}

void TypedPool::close_units() {
  units_are_over_ = true;
  for (auto& [number, mine] : kept_) {
    if (!is_kind(mine.type)) continue;
    mine.getters.clear();
    mine.n_free = 0;
  }
}

void TypedPool::end_units() {
  for (Getting* const getting : std::exchange(getting_, {})) {
    getting->is_over = true;
    here_.tasks().wake(*getting->waiter);
  }
}

void TypedPool::rest(core::Worker& task) {
  if (units_scope_ != 0 && task.scope == units_scope_) here_.move_to_scope(task, around_units_);
}

// What goes on is open again in the scope of all units: that cannot have ended if this was called in
// it, or by what it waits for. When it has ended, what goes on is open where it has waited.
void TypedPool::wake(core::Worker& task) {
  const core::FinishId scope = here_.scope();
  const bool rests = units_scope_ != 0 && !units_are_over_ && task.scope == around_units_ &&
                     scope != around_units_;
  if (rests && scope != units_scope_) {
    // Nothing of that scope may be open here: its home can say that there is.
    here_.post(core::home_of(units_scope_),
               AskToWake{std::bit_cast<std::uint64_t>(&task), units_scope_, here_.core()});
    return;
  }
  if (rests) here_.move_to_scope(task, units_scope_);
  here_.tasks().wake(task);
}

std::optional<Value> TypedPool::get_unit(WorkType kind) {
  here_.check_may_block();
  const core::FinishId scope = here_.scope();
  if (units_are_over_ || (scope == around_units_ && scope != 0)) return {};
  if (scope == 0 || scope != units_scope_) {
    throw Error(
        "a unit is to be got within a finish scope, or outside a flow: expected a task of the flow "
        "that has opened no such scope, and was not started by what another task set in one");
  }
  core::Worker& me = here_.tasks().running();
  Getting getting{&me};
  const auto address = std::bit_cast<std::uint64_t>(&getting);
  const CoreId keeper = keeper_on(kind, here_.shape().node);
  if (keeper == here_.core()) {
    add_getter(kind, keeper, address);
  } else {
    here_.post(keeper, AskUnit{kind, address});
  }
  if (getting.unit) {
    here_.yield();  // others ask this core for some, and nobody else lets it look
    return std::move(getting.unit);
  }
  Throttle& throttle = Flow::here().throttle();
  throttle.note_blocked();
  if (!getting.unit) {
    getting.sleeps = true;
    getting_.push_back(&getting);
    rest(me);
  }
  while (!getting.unit && !getting.is_over)
    here_.tasks().suspend("a unit of work");
  throttle.note_unblocked();
  return std::move(getting.unit);
}

void TypedPool::add_getter(WorkType kind, CoreId core, std::uint64_t address) {
  const CoreContext::InPlace inside(here_);
  Kept& mine = kept(kind);
  mine.getters.push_back({core, address});
  ++mine.n_free;
  pump(mine);
}

void TypedPool::pump_units(Kept& mine) {
  mine.lifelines.begin_turn(here_.now(), mine.n_begun, 0, here_.ask_ahead_most());
  hand_out(mine);
  if (here_.shape().n_nodes == 1) return;
  offer(mine);
  want(mine);
  if (mine.n_free == 0) mine.lifelines.pace.note_work_left();
}

// --- on a node

TypedPool::Queue& TypedPool::queue_for(Kept& mine, const Rule& rule) {
  return is_kind(mine.type) && is_for_core(rule) ? mine.of_core[rule.options.core] : mine.waiting;
}

void TypedPool::hand_out(Kept& mine) {
  const auto has_unit = [&](const Getter& getter) {
    return !mine.waiting.empty() || mine.of_core.contains(getter.core);
  };
  while (!mine.waiting.empty() || !mine.of_core.empty()) {
    auto to = mine.getters.end();
    if (!mine.waiting.empty()) {
      const CoreId wanted = mine.waiting.begin()->second.rule->options.core;
      to = std::ranges::find(mine.getters, wanted, &Getter::core);
    }
    if (to == mine.getters.end()) to = std::ranges::find_if(mine.getters, has_unit);
    if (to == mine.getters.end()) return;
    hand(mine, to);
  }
}

// The best of what that task may have.
void TypedPool::hand(Kept& mine, std::deque<Getter>::iterator to) {
  const Getter getter = *to;
  mine.getters.erase(to);
  --mine.n_free;
  ++mine.n_begun;
  const auto own = mine.of_core.find(getter.core);
  const bool is_own =
      own != mine.of_core.end() &&
      (mine.waiting.empty() || own->second.begin()->first < mine.waiting.begin()->first);
  Queue& queue = is_own ? own->second : mine.waiting;
  Waiting best = take(mine, queue, queue.begin());
  if (is_own && queue.empty()) mine.of_core.erase(own);
  if (getter.core == here_.core()) {
    take_unit(getter.address, std::move(best.rule));
  } else {
    here_.post(getter.core, HandUnit{getter.address}, best.rule->to_bytes());
  }
}

// Something outside of the flow may have put a unit at the very end: who was to get it may have been
// told that there are none.
void TypedPool::take_unit(std::uint64_t address, std::unique_ptr<Rule> unit) {
  auto& getting = *std::bit_cast<Getting*>(address);
  if (units_are_over_ && std::ranges::find(getting_, &getting) == getting_.end()) {
    put(unit);
    return;
  }
  getting.unit = std::move(unit->args()[0].value);
  if (!std::exchange(getting.sleeps, false)) return;
  std::erase(getting_, &getting);
  wake(*getting.waiter);
}

void TypedPool::add_leftovers(std::vector<std::string>& all) const {
  const auto add = [&](const Kept& mine, const Queue& queue) {
    if (queue.empty()) return;
    const Rule& first = *queue.begin()->second.rule;
    const std::string& name = kind_names()[mine.type.number - workers_.n_types() - 1];
    const std::string n_more = std::to_string(queue.size() - 1);
    all.push_back("a unit of kind '" + name + "' of " + first.at.place().text() +
                  (queue.size() > 1 ? " and " + n_more + " more wait" : " waits") +
                  " for a task that gets " + (queue.size() > 1 ? "them" : "it") +
                  (is_for_core(first) ? " on core " + std::to_string(first.options.core) : ""));
  };
  for (const auto& [number, mine] : kept_) {
    if (!is_kind(mine.type)) continue;
    add(mine, mine.waiting);
    for (const auto& [core, queue] : mine.of_core)
      add(mine, queue);
  }
}

namespace detail {

std::uint32_t register_unit_kind(std::string name) {
  return TypedPool::register_kind(std::move(name));
}

void put_unit(std::uint32_t kind, Value value, const UnitOptions& options, PortablePlace at) {
  Flow& flow = Flow::here();
  const core::JobShape& shape = flow.core().shape();
  if (options.core != kAnyCore && options.core >= shape.n_cores_total()) {
    throw Error("a unit for core " + std::to_string(options.core) + ": expected less than " +
                std::to_string(shape.n_cores_total()));
  }
  if (options.core != kAnyCore && options.node != kAnyNode) {
    throw Error("a unit for core " + std::to_string(options.core) + " and for node " +
                std::to_string(options.node) + ": expected one of them");
  }
  if (options.node != kAnyNode && options.node >= shape.n_nodes) {
    throw Error("a unit for node " + std::to_string(options.node) + ": expected less than " +
                std::to_string(shape.n_nodes));
  }
  RuleOptions how;
  how.priority = options.priority;
  how.may_move = options.may_move;
  how.core = options.node != kAnyNode ? options.node * shape.n_cores : options.core;
  how.type = flow.typed_pool().type_of_kind(kind);
  auto unit = std::make_unique<Rule>(kUnit, 1, how, at);
  const Target target{options.node == kAnyNode && options.core != kAnyCore};
  unit->set_closure(&target, sizeof target);
  unit->args()[0].value = std::move(value);
  flow.typed_pool().put(unit);
  if (flow.typed_pool().count_unit() % kPutsAtOnce == 0 && flow.core().may_wait())
    flow.core().yield();
}

std::optional<Value> get_unit(std::uint32_t kind) {
  TypedPool& pool = Flow::here().typed_pool();
  return pool.get_unit(pool.type_of_kind(kind));
}

}  // namespace detail
}  // namespace rubato::flow

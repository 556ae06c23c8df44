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

// For a node that is to have them.
struct PutUnits {
  std::uint64_t unused = 0;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Flow::here().typed_pool().accept_units(rules_of(bytes));
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
  Rule* unit;  // of this node
  void apply(CoreContext& /*here*/) const {
    Flow::here().typed_pool().take_unit(address, std::unique_ptr<Rule>(unit));
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

// All of one kind, and of the same options.
void TypedPool::put_units(std::vector<std::unique_ptr<Rule>> units) {
  const WorkType kind = units.front()->options.type;
  const NodeId node = node_for(*units.front());
  if (node == here_.shape().node) return accept_units(std::move(units));
  const CoreId keeper = keeper_on(kind, node);
  here_.post(keeper, PutUnits{}, bytes_of(units));
}

void TypedPool::accept_units(std::vector<std::unique_ptr<Rule>> units) {
  const WorkType kind = units.front()->options.type;
  std::vector<NodeQueue::Waiting> all;
  all.reserve(units.size());
  for (std::unique_ptr<Rule>& unit : units)
    all.push_back(waiting(std::move(unit)));
  ready(kind).add(std::move(all));
  begin_ready(kind);
  tell(kind);
}

bool TypedPool::is_for_core(const Rule& unit) {
  Target target{};
  std::memcpy(&target, unit.closure().data(), sizeof target);
  return target.is_core && !unit.options.may_move;
}

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
  for (std::uint32_t kind = 0; kind < n_kinds(); ++kind)
    ready(type_of_kind(kind)).close();
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
  ready(kind).add_getter({here_.core(), address});
  begin_ready(kind);
  tell(kind);
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

void TypedPool::pump_units(Kept& mine) {
  begin_ready(mine.type);
  read_news(mine);
  mine.lifelines.begin_turn(here_.now(), mine.n_begun, 0, here_.ask_ahead_most());
  if (here_.shape().n_nodes == 1) return;
  offer(mine);
  // So many were put here meanwhile that it would not even ask ahead: what others put is for who still
  // waits. Not for each: who puts them one by one here, and gets them as soon, would send two messages each.
  const NodeQueue::Counts now = ready(mine.type).counts();
  if (mine.wanted == Asked::now && now.n_free == 0 && now.n_waiting > mine.lifelines.n_ahead())
    end_want(mine);
  want(mine);
  if (ready(mine.type).counts().n_free == 0) mine.lifelines.pace.note_work_left();
}

void TypedPool::hand(NodeQueue::Handed next) {
  if (next.to.core == here_.core()) {
    take_unit(next.to.address, std::move(next.unit.rule));
  } else {
    here_.post(next.to.core, HandUnit{next.to.address, next.unit.rule.release()});
    here_.hurry(next.to.core);
  }
}

// Something outside of the flow may have put a unit at the very end: who was to get it may have been
// told that there are none.
void TypedPool::take_unit(std::uint64_t address, std::unique_ptr<Rule> unit) {
  auto& getting = *std::bit_cast<Getting*>(address);
  if (units_are_over_ && std::ranges::find(getting_, &getting) == getting_.end()) {
    std::vector<std::unique_ptr<Rule>> again;
    again.push_back(std::move(unit));
    put_units(std::move(again));
    return;
  }
  getting.unit = std::move(unit->args()[0].value);
  if (!std::exchange(getting.sleeps, false)) return;
  std::erase(getting_, &getting);
  wake(*getting.waiter);
}

void TypedPool::add_leftovers(std::vector<std::string>& all) const {
  const std::scoped_lock lock(of_node_.mutex);
  for (const auto& [number, queue] : of_node_.queues) {
    const WorkType kind{number};
    if (!is_kind(kind) || !is_keeper(kind)) continue;
    const std::string& name = kind_names()[number - workers_.n_types() - 1];
    queue->visit([&](const Rule& first, std::size_t n) {
      all.push_back("a unit of kind '" + name + "' of " + first.at.place().text() +
                    (n > 1 ? " and " + std::to_string(n - 1) + " more wait" : " waits") +
                    " for a task that gets " + (n > 1 ? "them" : "it") +
                    (is_for_core(first) ? " on core " + std::to_string(first.options.core) : ""));
    });
  }
}

namespace detail {

std::uint32_t register_unit_kind(std::string name) {
  return TypedPool::register_kind(std::move(name));
}

void put_units(std::uint32_t kind, std::vector<Value> values, const UnitOptions& options,
               PortablePlace at) {
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
  const Target target{options.node == kAnyNode && options.core != kAnyCore};
  std::vector<std::unique_ptr<Rule>> units;
  for (Value& value : values) {
    units.push_back(std::make_unique<Rule>(kUnit, 1, how, at));
    units.back()->set_closure(&target, sizeof target);
    units.back()->args()[0].value = std::move(value);
  }
  const std::uint64_t n = units.size();
  flow.typed_pool().put_units(std::move(units));
  if (flow.typed_pool().count_units(n) && flow.core().may_wait()) flow.core().yield();
}

std::optional<Value> get_unit(std::uint32_t kind) {
  TypedPool& pool = Flow::here().typed_pool();
  return pool.get_unit(pool.type_of_kind(kind));
}

}  // namespace detail
}  // namespace rubato::flow

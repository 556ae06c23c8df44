#include "rubato/flow/pool/typed_pool.hpp"

#include <algorithm>

#include "rubato/flow/flow.hpp"

namespace rubato::flow {

namespace {

// A rule for the keeper of its type.
struct PutTyped {
  std::uint64_t unused = 0;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Flow::here().typed_pool().accept(Rule::from_bytes(bytes));
  }
};
// A keeper asks another one for rules: at that time, when it had so many left.
struct BegTyped {
  WorkType type;
  std::uint32_t is_ahead;
  Nanos asked;
  std::uint64_t n_left;
  void apply(CoreContext& here) const {
    Flow::here().typed_pool().note_question(type, {here.source(), asked, n_left, here.now()},
                                            is_ahead != 0);
  }
};
// Behind rules of one that was asked at that time, and had held the question for a while.
struct GaveTyped {
  WorkType type;
  std::uint32_t unused = 0;
  Nanos asked;
  Nanos held;
  void apply(CoreContext& here) const {
    Flow::here().typed_pool().note_given(type, here.source(), here.now() - asked - held);
  }
};
// Somewhere rules of the type wait.
struct TypedWorkExists {
  WorkType type;
  void apply(CoreContext& /*here*/) const { Flow::here().typed_pool().note_work(type); }
};
// What it has asked the market of the type for has come otherwise.
struct WantIsOver {
  WorkType type;
  NodeId node;
  void apply(CoreContext& /*here*/) const { Flow::here().typed_pool().end_want(type, node); }
};
struct FreeWorker {
  WorkType type;
  CoreId core;
  void apply(CoreContext& /*here*/) const { Flow::here().typed_pool().free_worker(type, core); }
};
struct ReserveWorkers {
  WorkType type;
  std::uint32_t n;
  void apply(CoreContext& here) const { Flow::here().typed_pool().reserve(type, n, here.source()); }
};
struct WorkersReserved {
  WorkType type;
  void apply(CoreContext& /*here*/, ByteView cores) const {
    Reader in(cores);
    Flow::here().team_pool().note_reserved(type, in.get_vector<CoreId>());
  }
};

// A rule that a worker of its type has.
struct TypedRule {
  Rule* rule;
  CoreId keeper;

  void run(CoreContext& here) const {
    const std::unique_ptr<Rule> owned(rule);
    const WorkType type = owned->options.type;
    Flow::here().run(*owned);
    if (keeper == here.core()) {
      Flow::here().typed_pool().free_worker(type, keeper);
    } else {
      here.post(keeper, FreeWorker{type, here.core()});
    }
  }
};
struct RunTyped {
  std::uint64_t unused = 0;
  void apply(CoreContext& here, ByteView bytes) const {
    here.spawn_bound(TypedRule{Rule::from_bytes(bytes).release(), here.source()});
  }
};

}  // namespace

void TypedPool::begin(Workers workers) {
  workers_ = std::move(workers);
  kept_.clear();
  nodes_.assign(workers_.n_types() + 1 + n_kinds(), {});
  next_node_ = here_.core();
  markets_.clear();
  units_scope_ = around_units_ = 0;
  units_are_over_ = false;
  std::uint32_t n_here = 0;
  for (std::uint32_t number = 1; number <= workers_.n_types(); ++number)
    n_here += workers_.n_on({number}, here_.shape().node, here_.shape());
  here_.allow_native(n_here);
}

const std::vector<NodeId>& TypedPool::nodes_of(WorkType type) {
  std::vector<NodeId>& nodes = nodes_.at(type.number);
  if (!nodes.empty()) return nodes;
  for (NodeId node = 0; node < here_.shape().n_nodes; ++node) {
    if (n_on(type, node) > 0) nodes.push_back(node);
  }
  return nodes;
}

std::uint32_t TypedPool::n_on(WorkType type, NodeId node) const {
  const bool has_workers = type && !is_kind(type);
  return has_workers ? workers_.n_on(type, node, here_.shape()) : here_.shape().n_cores;
}

NodeId TypedPool::node_for(const Rule& rule) {
  const WorkType type = rule.options.type;
  const core::JobShape& shape = here_.shape();
  if (rule.options.core != kAnyCore) {
    const NodeId node = shape.node_of(rule.options.core);
    if (n_on(type, node) > 0) return node;
    if (!rule.options.may_move) {
      throw Error("it is bound to node " + std::to_string(node) +
                  ", which has no workers of type " + workers_.name(type));
    }
  }
  if (n_on(type, shape.node) > 0) return shape.node;
  const std::vector<NodeId>& nodes = nodes_of(type);
  return nodes[next_node_++ % nodes.size()];
}

void TypedPool::put(std::unique_ptr<Rule>& rule) {
  const WorkType type = rule->options.type;
  const CoreId keeper = keeper_on(type, node_for(*rule));
  if (keeper == here_.core()) {
    accept(std::move(rule));
  } else {
    here_.post(keeper, PutTyped{}, rule->to_bytes());
    rule.reset();
  }
  if (!is_kind(type)) Flow::here().throttle().note_put({keeper, queue_of_type(type)});
}

TypedPool::Kept& TypedPool::kept(WorkType type) {
  const auto [at, is_new] = kept_.try_emplace(type.number);
  Kept& mine = at->second;
  if (!is_new) return mine;
  mine.type = type;
  mine.n_free = is_kind(type) ? 0 : n_on(type, here_.shape().node);
  mine.n_on_core.resize(here_.shape().n_cores);
  const std::vector<NodeId>& nodes = nodes_of(type);
  const auto me =
      static_cast<std::size_t>(std::ranges::lower_bound(nodes, here_.shape().node) - nodes.begin());
  for (std::size_t bit = 1; bit < nodes.size(); bit <<= 1) {
    if ((me ^ bit) < nodes.size()) mine.lifelines.add(keeper_on(type, nodes[me ^ bit]));
  }
  return mine;
}

void TypedPool::accept(std::unique_ptr<Rule> rule) {
  const CoreContext::InPlace inside(here_);
  Kept& mine = kept(rule->options.type);
  add(mine, std::move(rule));
  pump(mine);
}

void TypedPool::add(Kept& mine, std::unique_ptr<Rule> rule) {
  // A unit that waits is nothing to be waited for: somebody may get it, or not.
  Waiting waiting{std::move(rule), is_kind(mine.type) ? 0 : here_.scope()};
  here_.begin_in_scope(waiting.scope);
  mine.n_movable += waiting.is_bound() ? 0U : 1U;
  mine.n_anywhere += waiting.is_placed() ? 0U : 1U;
  if (!is_kind(mine.type)) {
    Flow::here().throttle().note_queued(queue_of_type(mine.type), *waiting.rule,
                                        {.n_workers = n_for_singles(mine)});
  }
  const Order order{-std::int64_t{waiting.rule->options.priority}, n_put_++};
  Queue& queue = queue_for(mine, *waiting.rule);
  queue.emplace(order, std::move(waiting));
}

TypedPool::Waiting TypedPool::take(Kept& mine, Queue& queue, Queue::iterator at) {
  Waiting taken = std::move(at->second);
  queue.erase(at);
  mine.n_movable -= taken.is_bound() ? 0U : 1U;
  mine.n_anywhere -= taken.is_placed() ? 0U : 1U;
  if (!is_kind(mine.type)) Flow::here().throttle().note_begun(queue_of_type(mine.type));
  return taken;
}

// Those that no team has reserved.
std::uint32_t TypedPool::n_for_singles(const Kept& mine) const {
  return n_on(mine.type, here_.shape().node) - static_cast<std::uint32_t>(mine.reserved.size());
}

// Workers that are free get what waits; then those that have asked, or others are asked.
void TypedPool::pump(Kept& mine) {
  if (is_kind(mine.type)) return pump_units(mine);
  mine.lifelines.begin_turn(here_.now(), mine.n_begun, 0, here_.ask_ahead_most());
  // Teams first: what single rules leave them they would never get.
  while (mine.n_asked > mine.reserved.size() && mine.n_free > 0) {
    mine.reserved.push_back(take_worker(mine, kAnyCore));
    if (mine.type)
      Flow::here().throttle().set_workers(queue_of_type(mine.type), n_for_singles(mine));
  }
  if (mine.n_asked > 0 && mine.reserved.size() == mine.n_asked) {
    Writer out;
    out.put_vector(std::exchange(mine.reserved, {}));
    mine.n_asked = 0;
    here_.post(mine.asked_by, WorkersReserved{mine.type}, out.view());
  }
  while (mine.n_free > 0 && !mine.waiting.empty())
    start(mine, take(mine, mine.waiting, mine.waiting.begin()));
  if (mine.n_movable > 0) {
    note_work(mine.type);
    give(mine);
  }
  seek(mine);
  if (mine.n_free == 0) mine.lifelines.pace.note_work_left();
}

// Of a team each core is one member, if there are as many.
CoreId TypedPool::idlest(const Kept& mine) const {
  const CoreId first = here_.shape().first_core();
  const auto load = [&](CoreId local) {
    return std::pair(std::ranges::count(mine.reserved, first + local), mine.n_on_core[local]);
  };
  CoreId best = 0;
  for (CoreId local = 1; local < mine.n_on_core.size(); ++local) {
    if (load(local) < load(best)) best = local;
  }
  return first + best;
}

CoreId TypedPool::take_worker(Kept& mine, CoreId wanted) {
  const core::JobShape& shape = here_.shape();
  const bool is_here = wanted != kAnyCore && shape.node_of(wanted) == shape.node;
  const CoreId core = is_here ? wanted : idlest(mine);
  --mine.n_free;
  ++mine.n_on_core[shape.local_of(core)];
  return core;
}

void TypedPool::start(Kept& mine, Waiting next) {
  const CoreId core = take_worker(mine, next.rule->options.core);
  ++mine.n_begun;
  {
    const CoreContext::RunningScope inside(here_, next.scope);
    if (core == here_.core()) {
      here_.spawn_bound(TypedRule{next.rule.release(), core});
    } else {
      here_.post(core, RunTyped{}, next.rule->to_bytes());
    }
  }
  here_.end_in_scope(next.scope);
}

// Those that have nothing to do first, then who has so much less that it is to get some.
void TypedPool::give(Kept& mine) {
  core::Lifelines& lifelines = mine.lifelines;
  while (!lifelines.beggars.empty() && mine.n_movable > 0)
    give_to(mine, lifelines.beggars, false);
  while (lifelines.has_asker_below(mine.n_anywhere))
    give_to(mine, lifelines.askers, true);
}

void TypedPool::give_to(Kept& mine, std::vector<core::Lifelines::Question>& who, bool is_ahead) {
  const core::Lifelines::Question question = who.back();
  who.pop_back();
  const std::size_t n_more = (is_ahead ? mine.n_anywhere : mine.n_movable) - question.n_left;
  send_rules(mine, question.who, n_more, is_ahead);
  here_.post(question.who, GaveTyped{mine.type, 0, question.asked, here_.now() - question.heard});
  here_.hurry(question.who);
}

// A share of those by which it has more.
void TypedPool::send_rules(Kept& mine, CoreId to, std::size_t n_more, bool is_ahead) {
  const std::size_t n_most = (n_more + 1) / mine.lifelines.n_shares();
  for_each_to_give(mine, n_most, is_ahead, [&](Queue::iterator at) {
    const Waiting given = take(mine, mine.waiting, at);
    {
      const CoreContext::RunningScope inside(here_, given.scope);
      here_.post(to, PutTyped{}, given.rule->to_bytes());
    }
    here_.end_in_scope(given.scope);
  });
}

// From neighbours, and from whoever has more than it can run: a neighbour whose workers are busy for long
// remembers a question and asks nobody itself.
void TypedPool::seek(Kept& mine) {
  if (!mine.knows_of_work) return;
  ask(mine);
  if (nodes_of(mine.type).size() <= 2) return;  // all are neighbours
  offer(mine);
  const bool is_wanted = mine.n_free > 0 && mine.waiting.empty();
  if (is_wanted) {
    want(mine);
  } else if (std::exchange(mine.wanted, Asked::not_yet) != Asked::not_yet) {
    here_.post(market_of(mine.type), WantIsOver{mine.type, here_.shape().node});
  }
}

// When workers have nothing to do; and before, if they would wait for the answer: but not while this
// core has pooled tasks, which may put some. Who asks others for these gets what they put as well. Nor
// while a team waits for workers, which has them first.
void TypedPool::ask(Kept& mine) {
  const std::uint64_t n_left = mine.waiting.size();
  const bool may_ask_ahead = here_.n_movable() == 0 && mine.n_asked == 0;
  const std::uint64_t n_ahead = may_ask_ahead ? mine.lifelines.n_ahead() : 0;
  const bool is_ahead = mine.n_free == 0;
  if (is_ahead ? n_ahead == 0 || n_left > n_ahead : n_left > 0) return;
  mine.lifelines.ask(is_ahead ? Asked::ahead : Asked::now, [&](CoreId keeper) {
    here_.post(keeper, BegTyped{mine.type, is_ahead ? 1U : 0U, here_.now(), n_left});
    here_.hurry(keeper);
  });
}

void TypedPool::free_worker(WorkType type, CoreId core) {
  const CoreContext::InPlace inside(here_);
  Kept& mine = kept(type);
  ++mine.n_free;
  --mine.n_on_core[here_.shape().local_of(core)];
  pump(mine);
}

void TypedPool::free_workers(WorkType type, const std::vector<CoreId>& cores) {
  for (const CoreId core : cores) {
    const CoreId keeper = keeper_on(type, here_.shape().node_of(core));
    if (keeper == here_.core()) {
      free_worker(type, core);
    } else {
      here_.post(keeper, FreeWorker{type, core});
    }
  }
}

void TypedPool::ask_to_reserve(WorkType type, NodeId node, std::uint32_t n) {
  here_.post(keeper_on(type, node), ReserveWorkers{type, n});
}

void TypedPool::reserve(WorkType type, std::uint32_t n, CoreId asked_by) {
  Kept& mine = kept(type);
  RUBATO_REQUIRE(mine.n_asked == 0, n);
  mine.n_asked = n;
  mine.asked_by = asked_by;
  pump(mine);
}

void TypedPool::note_question(WorkType type, const core::Lifelines::Question& question,
                              bool is_ahead) {
  Kept& mine = kept(type);
  mine.lifelines.note_question(question, is_ahead);
  give(mine);
}

void TypedPool::note_given(WorkType type, CoreId by, Nanos round_trip) {
  Kept& mine = kept(type);
  core::Lifelines& lifelines = mine.lifelines;
  lifelines.note_given(by);
  lifelines.round_trip.note(round_trip);
  seek(mine);
}

void TypedPool::note_work(WorkType type) {
  Kept& mine = kept(type);
  if (std::exchange(mine.knows_of_work, true)) return;
  for (const CoreId keeper : mine.lifelines.cores())
    here_.post(keeper, TypedWorkExists{type});
  seek(mine);
}

}  // namespace rubato::flow

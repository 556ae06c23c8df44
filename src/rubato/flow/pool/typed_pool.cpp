#include "rubato/flow/pool/typed_pool.hpp"

#include <algorithm>

#include "rubato/flow/flow.hpp"

namespace rubato::flow {

namespace {

// A rule for a node of its type.
struct PutTyped {
  std::uint64_t unused = 0;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Flow::here().typed_pool().accept(Rule::from_bytes(bytes));
  }
};
// Another core of its node tells a keeper that there are news.
struct LookAt {
  WorkType type;
  void apply(CoreContext& /*here*/) const { Flow::here().typed_pool().look(type); }
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
  void apply(CoreContext& /*here*/) const { Flow::here().typed_pool().note_want_over(type, node); }
};
struct FreeWorker {
  WorkType type;
  CoreId core;
  void apply(CoreContext& /*here*/) const { Flow::here().typed_pool().end_rule(type, core); }
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

  void run(CoreContext& here) const {
    const std::unique_ptr<Rule> owned(rule);
    const WorkType type = owned->options.type;
    Flow::here().run(*owned);
    Flow::here().typed_pool().end_rule(type, here.core());
  }
};
struct RunTyped {
  Rule* rule;  // of this node
  void apply(CoreContext& here) const { here.spawn_bound(TypedRule{rule}); }
};

}  // namespace

TypedPool::TypedPool() : here_(CoreContext::here()), of_node_(here_.of_node<OfNode>()) {
  begin({});
}

void TypedPool::begin(Workers workers) {
  workers_ = std::move(workers);
  kept_.clear();
  const std::size_t n_numbers = workers_.n_types() + 1 + n_kinds();
  nodes_.assign(n_numbers, {});
  ready_.assign(n_numbers, nullptr);
  next_node_ = here_.core();
  markets_.clear();
  later_.clear();
  units_scope_ = around_units_ = 0;
  units_are_over_ = false;
  const core::JobShape& shape = here_.shape();
  std::uint32_t n_here = 0;
  for (std::uint32_t number = 1; number <= workers_.n_types(); ++number)
    n_here += workers_.n_on({number}, shape.node, shape);
  here_.allow_native(n_here);
  const std::scoped_lock lock(of_node_.mutex);
  std::erase_if(of_node_.queues, [&](const auto& queue) { return is_keeper({queue.first}); });
  for (std::uint32_t number = 0; number < n_numbers; ++number) {
    const WorkType type{number};
    if (!is_keeper(type)) continue;
    const CoreId first = shape.first_core();
    of_node_.queues[number] =
        is_kind(type) ? std::make_shared<NodeQueue>(first, shape.n_cores)
                      : std::make_shared<NodeQueue>(first, shape.n_cores, n_on(type, shape.node));
  }
}

// REQUIRES: all cores have begun the run.
NodeQueue& TypedPool::ready(WorkType type) {
  std::shared_ptr<NodeQueue>& known = ready_.at(type.number);
  if (known == nullptr) {
    const std::scoped_lock lock(of_node_.mutex);
    known = of_node_.queues.at(type.number);
  }
  return *known;
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
  const NodeId node = node_for(*rule);
  const CoreId keeper = keeper_on(type, node);
  if (node == here_.shape().node) {
    accept(std::move(rule));
  } else {
    here_.post(keeper, PutTyped{}, rule->to_bytes());
    rule.reset();
  }
  Flow::here().throttle().note_put({keeper, queue_of_type(type)});
}

TypedPool::Kept& TypedPool::kept(WorkType type) {
  RUBATO_ASSERT(is_keeper(type), type.number, here_.core());
  const auto [at, is_new] = kept_.try_emplace(type.number);
  Kept& mine = at->second;
  if (!is_new) return mine;
  mine.type = type;
  const std::vector<NodeId>& nodes = nodes_of(type);
  const auto me =
      static_cast<std::size_t>(std::ranges::lower_bound(nodes, here_.shape().node) - nodes.begin());
  for (std::size_t bit = 1; bit < nodes.size(); bit <<= 1) {
    if ((me ^ bit) < nodes.size()) mine.lifelines.add(keeper_on(type, nodes[me ^ bit]));
  }
  return mine;
}

// --- any core of a node

// It sees by itself that there are too many: the keeper may hear of thousands later.
void TypedPool::accept(std::unique_ptr<Rule> rule) {
  const WorkType type = rule->options.type;
  NodeQueue& queue = ready(type);
  Throttle& throttle = Flow::here().throttle();
  const bool is_full = !is_keeper(type) && queue.counts().n_waiting >= throttle.n_most();
  if (is_full) {
    throttle.note_full({keeper_on(type, here_.shape().node), queue_of_type(type)},
                       rule->loop & ~kOfWorker);
  }
  queue.add(waiting(std::move(rule)), is_full);
  begin_ready(type);
  tell(type);
}

void TypedPool::end_rule(WorkType type, CoreId core) {
  {
    const CoreContext::InPlace inside(here_);
    if (std::optional<NodeQueue::Begun> next = ready(type).end_on(core)) start(std::move(*next));
  }
  begin_ready(type);
  tell(type);
  // So does who waits here for room.
  Throttle& throttle = Flow::here().throttle();
  if (!is_keeper(type) && ready(type).counts().n_waiting <= throttle.n_most() / 2)
    throttle.note_room({keeper_on(type, here_.shape().node), queue_of_type(type)});
}

NodeQueue::Waiting TypedPool::waiting(std::unique_ptr<Rule> rule) {
  const WorkType type = rule->options.type;
  // A unit that waits is nothing to be waited for: somebody may get it, or not.
  const core::FinishId scope = is_kind(type) ? 0 : here_.scope();
  here_.begin_in_scope(scope);
  const CoreId only = is_kind(type) && is_for_core(*rule) ? rule->options.core : kAnyCore;
  return {std::move(rule), scope, here_.core(), only};
}

// Workers that are free get what waits, or tasks units.
void TypedPool::begin_ready(WorkType type) {
  const CoreContext::InPlace inside(here_);
  NodeQueue& queue = ready(type);
  if (is_kind(type)) {
    while (std::optional<NodeQueue::Handed> next = queue.hand_next())
      hand(std::move(*next));
  } else {
    while (std::optional<NodeQueue::Begun> next = queue.begin_next(here_.core()))
      start(std::move(*next));
  }
}

void TypedPool::start(NodeQueue::Begun begun) {
  Rule* const rule = begun.next.rule.release();
  in_its_scope(begun.next, [&] {
    if (begun.core == here_.core()) {
      here_.spawn_bound(TypedRule{rule});
    } else {
      here_.post(begun.core, RunTyped{rule});
      here_.hurry(begun.core);
    }
  });
}

// --- the keeper

void TypedPool::tell(WorkType type) {
  if (is_keeper(type)) return look(type);
  if (!ready(type).has_to_tell(here_.core(), here_.scope())) return;
  const CoreId keeper = keeper_on(type, here_.shape().node);
  here_.post(keeper, LookAt{type});
  here_.hurry(keeper);
}

// Of a run that is over nothing is left.
void TypedPool::look(WorkType type) {
  if (type.number >= ready_.size() || !is_keeper(type)) return;
  const CoreContext::InPlace inside(here_);
  pump(kept(type));
}

// What came and what has begun since it has looked, for the throttle, and for how long ahead it asks. Of
// what has done both nothing waited.
void TypedPool::read_news(Kept& mine) {
  const NodeQueue::News news = ready(mine.type).take_news();
  mine.n_begun += news.n_begun;
  if (is_kind(mine.type)) return;
  const QueueNumber number = queue_of_type(mine.type);
  Throttle& throttle = Flow::here().throttle();
  const QueueLimits limits{.n_workers = n_for_singles(mine.type, ready(mine.type).counts())};
  std::uint64_t n_gone = news.n_begun + news.n_given;
  for (const NodeQueue::News::Came& came : news.came) {
    const std::uint64_t n_passed = std::min(came.n, n_gone);
    n_gone -= n_passed;
    throttle.note_passed(number, n_passed, news.n_most);
    for (std::uint64_t i = n_passed; i < came.n; ++i)
      throttle.note_queued(number, came.of, limits);
  }
  for (; n_gone > 0; --n_gone)
    throttle.note_begun(number);
  // All that wait for room hear of it by one.
  const auto full = std::find_if(news.came.rbegin(), news.came.rend(),
                                 [](const auto& came) { return came.is_full; });
  if (full != news.came.rend()) throttle.note_seen_full(number, full->of);
}

// Those that no team has reserved.
std::uint32_t TypedPool::n_for_singles(WorkType type, const NodeQueue::Counts& now) const {
  return n_on(type, here_.shape().node) - static_cast<std::uint32_t>(now.n_reserved);
}

// Workers that are free get what waits; then those that have asked, or others are asked.
void TypedPool::pump(Kept& mine) {
  if (is_kind(mine.type)) return pump_units(mine);
  begin_ready(mine.type);
  read_news(mine);
  mine.lifelines.begin_turn(here_.now(), mine.n_begun, 0, here_.ask_ahead_most());
  reserve_for_team(mine);
  if (ready(mine.type).counts().n_movable > 0) {
    note_work(mine.type);
    give(mine);
  }
  seek(mine);
  if (ready(mine.type).counts().n_free == 0) mine.lifelines.pace.note_work_left();
}

void TypedPool::reserve_for_team(Kept& mine) {
  NodeQueue& queue = ready(mine.type);
  if (const std::optional<std::vector<CoreId>> cores = queue.take_reserved()) {
    Writer out;
    out.put_vector(*cores);
    here_.post(mine.asked_by, WorkersReserved{mine.type}, out.view());
  }
  const NodeQueue::Counts now = queue.counts();
  if (std::exchange(mine.n_reserved, now.n_reserved) == now.n_reserved || !mine.type) return;
  Flow::here().throttle().set_workers(queue_of_type(mine.type), n_for_singles(mine.type, now));
}

// Those that have nothing to do first, then who has so much less that it is to get some.
void TypedPool::give(Kept& mine) {
  core::Lifelines& lifelines = mine.lifelines;
  while (!lifelines.beggars.empty() && give_to(mine, lifelines.beggars, false)) {
  }
  while (lifelines.has_asker_below(ready(mine.type).counts().n_anywhere) &&
         give_to(mine, lifelines.askers, true)) {
  }
  read_news(mine);  // there may be room for others
}

// False if there is nothing: cores of this node take it at the same time.
bool TypedPool::give_to(Kept& mine, std::vector<core::Lifelines::Question>& who, bool is_ahead) {
  const core::Lifelines::Question question = who.back();
  const NodeQueue::Counts now = ready(mine.type).counts();
  const std::size_t n = is_ahead ? now.n_anywhere : now.n_movable;
  if (n <= question.n_left) return false;
  std::vector<NodeQueue::Waiting> given = take_some(mine, n - question.n_left, is_ahead);
  if (given.empty()) return false;
  who.pop_back();
  send_rules(question.who, given);
  here_.post(question.who, GaveTyped{mine.type, 0, question.asked, here_.now() - question.heard});
  here_.hurry(question.who);
  return true;
}

// A share of those by which it has more.
std::vector<NodeQueue::Waiting> TypedPool::take_some(Kept& mine, std::size_t n_more,
                                                     bool is_ahead) {
  const std::size_t n_shares = is_kind(mine.type) ? 2 : mine.lifelines.n_shares();
  const std::size_t n_most = std::min((n_more + 1) / n_shares, kGivenMost);
  return ready(mine.type).give(n_most, is_ahead);
}

void TypedPool::send_rules(CoreId to, const std::vector<NodeQueue::Waiting>& rules) {
  for (const NodeQueue::Waiting& given : rules)
    in_its_scope(given, [&] { here_.post(to, PutTyped{}, given.rule->to_bytes()); });
}

// From neighbours, and from whoever has more than it can run: a neighbour whose workers are busy for long
// remembers a question and asks nobody itself.
void TypedPool::seek(Kept& mine) {
  if (!mine.knows_of_work) return;
  ask(mine);
  if (nodes_of(mine.type).size() <= 2) return;  // all are neighbours
  offer(mine);
  const NodeQueue::Counts now = ready(mine.type).counts();
  if (now.n_free > 0 && now.n_waiting == 0) {
    here_.n_movable() > 0 ? want_later(mine) : want(mine);
  } else if (mine.wanted != Asked::not_yet) {
    end_want(mine);
  }
}

void TypedPool::end_want(Kept& mine) {
  mine.wanted = Asked::not_yet;
  here_.post(market_of(mine.type), WantIsOver{mine.type, here_.shape().node});
}

// When workers have nothing to do; and before, if they would wait for the answer: but not while this
// core has pooled tasks, which may put some. Who asks others for these gets what they put as well. Nor
// while a team waits for workers, which has them first.
void TypedPool::ask(Kept& mine) {
  const NodeQueue::Counts now = ready(mine.type).counts();
  const std::uint64_t n_left = now.n_waiting;
  const bool may_ask_ahead = here_.n_movable() == 0 && !now.is_reserving;
  const std::uint64_t n_ahead = may_ask_ahead ? mine.lifelines.n_ahead() : 0;
  const bool is_ahead = now.n_free == 0;
  if (is_ahead ? n_ahead == 0 || n_left > n_ahead : n_left > 0) return;
  mine.lifelines.ask(is_ahead ? Asked::ahead : Asked::now, [&](CoreId keeper) {
    here_.post(keeper, BegTyped{mine.type, is_ahead ? 1U : 0U, here_.now(), n_left});
    here_.hurry(keeper);
  });
}

void TypedPool::free_workers(WorkType type, const std::vector<CoreId>& cores) {
  const core::JobShape& shape = here_.shape();
  for (const CoreId core : cores) {
    const NodeId node = shape.node_of(core);
    if (node == shape.node) {
      end_rule(type, core);
    } else {
      here_.post(keeper_on(type, node), FreeWorker{type, core});
    }
  }
}

void TypedPool::ask_to_reserve(WorkType type, NodeId node, std::uint32_t n) {
  here_.post(keeper_on(type, node), ReserveWorkers{type, n});
}

void TypedPool::reserve(WorkType type, std::uint32_t n, CoreId asked_by) {
  Kept& mine = kept(type);
  mine.asked_by = asked_by;
  ready(type).reserve(n);
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

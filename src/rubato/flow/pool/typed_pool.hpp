#pragma once
// TypedPool: ready rules of types of work, and the workers of each type [Turbine 3, ADLB].
//
// On each node that has workers of a type there is a queue of the rules that wait for one, the largest
// priority first, which its cores share (node_queue.hpp). A rule that is ready goes into that of its
// node, or of another one if this one has no such workers. Each core runs the next one of the queue when a
// worker on it has ended one, whatever the other cores do. One core of the node, the keeper, speaks with
// other nodes; it is told what has come and what has begun.
//
// A keeper whose workers have nothing to do, or will have soon, asks the keepers that are its neighbours in
// a hypercube (core/message/lifelines.hpp); who has more than it can run gives the best to those that
// asked, and every second one of what is left, to a share of the difference. Nobody asks twice before it
// was given something, so that idle nodes are silent. And each type has a market (market.cpp), the keeper
// of one node, for what all of the neighbours of a free worker have no part in: it hears who has rules to
// give, and whose workers are free.
//
// Rules that are bound to a place wait there.
//
// Kinds of units (unit_kind.hpp) are types whose workers are the tasks that wait in get(). Nodes may
// have none, so they do not ask their neighbours but the market, which hears who has units that nobody
// there waits for, who waits, and who would wait soon, once each, and tells the one to give many to the
// other.
//
// What is for a place, but may go elsewhere, goes to who has nothing to do alone.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rubato/flow/pool/node_queue.hpp"
#include "rubato/flow/pool/throttle.hpp"
#include "rubato/flow/pool/workers.hpp"
#include "rubato/flow/rule/rule.hpp"

namespace rubato::flow {

// The part of one core; used by its tasks and by what messages apply.
class TypedPool final : public core::Combiner {
 public:
  TypedPool();

  // Forgets the last run; these are the workers of the next one. On all cores.
  void begin(Workers workers);
  [[nodiscard]] const Workers& workers() const noexcept { return workers_; }

  // Workers of a type on a node; without a type, its cores.
  [[nodiscard]] std::uint32_t n_on(WorkType type, NodeId node) const;
  // The nodes that have some.
  [[nodiscard]] const std::vector<NodeId>& nodes_of(WorkType type);
  [[nodiscard]] CoreId keeper_on(WorkType type, NodeId node) const noexcept {
    const std::uint32_t n_cores = here_.shape().n_cores;
    return node * n_cores + type.number % n_cores;
  }
  // As many workers of a node as soon as they are free; TeamPool::note_reserved() of this core gets
  // them. One request at a time.
  void ask_to_reserve(WorkType type, NodeId node, std::uint32_t n);
  // Of any node, by their cores.
  void free_workers(WorkType type, const std::vector<CoreId>& cores);

  // A rule that is ready. Throws Error, and leaves the rule, if it is bound to a node that has no
  // workers of its type.
  void put(std::unique_ptr<Rule>& rule);

  // --- units

  [[nodiscard]] WorkType type_of_kind(std::uint32_t kind) const noexcept {
    return {static_cast<std::uint32_t>(workers_.n_types()) + 1 + kind};
  }
  // Of the run: that of all that puts and gets, and the one around it, in which tasks wait for units.
  // When nothing is open in `units` any more, end_units(). On all cores.
  void begin_units(core::FinishId units, core::FinishId around) noexcept;
  // When that has ended: nobody is handed a unit any more. On the core that runs the flow, then on all
  // cores, before end_units() on any.
  void close_units();
  [[nodiscard]] bool units_are_over() const noexcept { return units_are_over_; }
  void end_units();
  // A task that waits for what others do in the flow is nothing to wait for: before it sleeps, and
  // when it is to go on.
  void rest(core::Worker& task);
  void wake(core::Worker& task);
  [[nodiscard]] std::optional<Value> get_unit(WorkType kind);
  // Of one kind, and of the same options; at least one.
  void put_units(std::vector<std::unique_ptr<Rule>> units);
  // True now and then, of a core that puts many: it is to look for messages.
  [[nodiscard]] bool count_units(std::uint64_t n) noexcept {
    const std::uint64_t before = std::exchange(n_units_put_, n_units_put_ + n);
    return before / kPutsAtOnce != n_units_put_ / kPutsAtOnce;
  }
  // Units that nobody has got, in sentences.
  void add_leftovers(std::vector<std::string>& all) const;
  [[nodiscard]] static std::uint32_t register_kind(std::string name);
  [[nodiscard]] static std::size_t n_kinds() noexcept;

  // Says at the markets that workers are free.
  void flush(CoreContext& here) override;

  // --- of messages

  // At what cores of the node have put and begun. By the keeper.
  void look(WorkType type);
  // Of a node, for rules of a type or units.
  struct Want {
    NodeId node;
    std::uint32_t is_ahead;  // it will have none soon; 0: a worker is free, a task waits
    std::uint64_t n_left;    // that it had
    Nanos asked;             // by its clock
    Nanos held;              // by others since
  };
  struct Offer {
    NodeId node;
    std::uint64_t n;           // that it had when it said so
    std::uint64_t n_anywhere;  // of these, that are for no place
  };
  void note_offer(WorkType kind, const Offer& offer);
  void note_want(WorkType kind, Want want);
  void note_want_over(WorkType kind, NodeId node);
  void give_units(WorkType kind, const Want& to);
  // What others were asked for.
  void accept_order(WorkType kind, Nanos asked, Nanos round_trip,
                    std::vector<std::unique_ptr<Rule>> units);
  void accept_units(std::vector<std::unique_ptr<Rule>> units);
  void take_unit(std::uint64_t address, std::unique_ptr<Rule> unit);
  void accept(std::unique_ptr<Rule> rule);
  // A worker of this node has ended one, on that core.
  void end_rule(WorkType type, CoreId core);
  void reserve(WorkType type, std::uint32_t n, CoreId asked_by);
  void note_question(WorkType type, const core::Lifelines::Question& question, bool is_ahead);
  void note_given(WorkType type, CoreId by, Nanos round_trip);
  void note_work(WorkType type);

 private:
  using Asked = core::Lifelines::Asked;
  // What the cores of a node share; each queue is made by its keeper.
  struct OfNode {
    std::mutex mutex;
    std::map<std::uint32_t, std::shared_ptr<NodeQueue>> queues;  // by WorkType::number
  };
  struct Getting;
  // By the clock of the market in place of Want::held: when they came, less what they were held before.
  struct Market {
    std::deque<Offer> offers;
    std::deque<Want> wants;
  };

  // What this core keeps of a type.
  struct Kept {
    WorkType type;
    CoreId asked_by = 0;            // for the team that workers are reserved for
    std::size_t n_reserved = 0;     // as the throttle knows
    std::size_t n_offered = 0;      // the market knows that there are so many to give
    Asked wanted = Asked::not_yet;  // or that some are wanted
    Nanos wanted_at = 0;            // when it was told so last
    bool wants_later = false;       // when this core has nothing else to do
    std::uint64_t n_begun = 0;      // since the run began
    core::Lifelines lifelines;      // keepers of other nodes; for units the market alone
    bool knows_of_work = false;
  };

  [[nodiscard]] bool is_kind(WorkType type) const noexcept {
    return type.number > workers_.n_types();
  }
  [[nodiscard]] bool is_keeper(WorkType type) const noexcept {
    return keeper_on(type, here_.shape().node) == here_.core();
  }
  [[nodiscard]] static bool is_for_core(const Rule& unit);
  [[nodiscard]] NodeQueue& ready(WorkType type);
  // As it is added to the queue; open in the scope of the caller from now on.
  [[nodiscard]] NodeQueue::Waiting waiting(std::unique_ptr<Rule> rule);
  void begin_ready(WorkType type);
  void tell(WorkType type);
  void read_news(Kept& kept);
  // f() starts it again, or sends it on, in its scope, and what is open of it ends.
  template <class F>
  void in_its_scope(const NodeQueue::Waiting& taken, F f) {
    here_.take_over(taken.scope, taken.owner);
    {
      const CoreContext::RunningScope inside(here_, taken.scope);
      f();
    }
    here_.end_in_scope(taken.scope);
  }
  void pump_units(Kept& kept);
  void offer(Kept& kept);
  void want(Kept& kept);
  void end_want(Kept& kept);
  static void end_asked(Kept& kept, Nanos asked);
  void want_later(Kept& kept);
  void bring(Kept& kept, const Want& to);
  void trade(WorkType kind);
  [[nodiscard]] CoreId market_of(WorkType kind) const noexcept {
    return keeper_on(kind, kind.number % here_.shape().n_nodes);
  }
  void hand(NodeQueue::Handed next);
  [[nodiscard]] NodeId node_for(const Rule& rule);
  [[nodiscard]] Kept& kept(WorkType type);
  void pump(Kept& kept);
  [[nodiscard]] std::uint32_t n_for_singles(WorkType type, const NodeQueue::Counts& now) const;
  void start(NodeQueue::Begun begun);
  void reserve_for_team(Kept& kept);
  void give(Kept& kept);
  bool give_to(Kept& kept, std::vector<core::Lifelines::Question>& who, bool is_ahead);
  [[nodiscard]] std::vector<NodeQueue::Waiting> take_some(Kept& kept, std::size_t n_more,
                                                          bool is_ahead);
  void send_rules(CoreId to, const std::vector<NodeQueue::Waiting>& rules);
  void seek(Kept& kept);
  void ask(Kept& kept);

  static constexpr std::uint64_t kPutsAtOnce = 64;
  static constexpr std::size_t kGivenMost = 256;
  static constexpr std::uint64_t kLeastDifference = 2;  // for which units are given ahead

  CoreContext& here_;
  OfNode& of_node_;
  Workers workers_;
  // [WorkType::number]: those that have workers; empty until somebody asks.
  std::vector<std::vector<NodeId>> nodes_;
  std::map<std::uint32_t, Kept> kept_;  // by WorkType::number, where this core is the keeper
  // [WorkType::number] of the node; null until somebody asks.
  std::vector<std::shared_ptr<NodeQueue>> ready_;
  std::uint64_t n_units_put_ = 0;
  std::uint32_t next_node_ = 0;
  // Types whose free workers are told of later, each in a scope that is open.
  std::vector<std::pair<WorkType, core::FinishId>> later_;
  std::map<std::uint32_t, Market> markets_;  // of this core, by WorkType::number
  core::FinishId units_scope_ = 0;
  core::FinishId around_units_ = 0;
  bool units_are_over_ = false;
  std::vector<Getting*> getting_;  // tasks of this core
};

}  // namespace rubato::flow

#pragma once
// TypedPool: ready rules of types of work, and the workers of each type [Turbine 3, ADLB].
//
// On each node that has workers of a type, one core keeps the rules that wait for one, the largest
// priority first. A rule that is ready goes to the keeper of its node, or to that of another one if
// this one has no such workers. A keeper whose workers have nothing to do, or will have soon, asks the
// keepers that are its neighbours in a hypercube (core/message/lifelines.hpp); who has more than it can
// run gives the best to those that asked, and every second one of what is left, to a share of the
// difference. Nobody asks twice before it was given something, so that idle nodes are silent. And each
// type has a market (market.cpp), the keeper of one node, for what all of the neighbours of a free worker
// have no part in: it hears who has rules to give, and whose workers are free.
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
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rubato/flow/pool/workers.hpp"
#include "rubato/flow/rule/rule.hpp"

namespace rubato::flow {

// The part of one core; used by its tasks and by what messages apply.
class TypedPool {
 public:
  TypedPool() : here_(CoreContext::here()) { begin({}); }

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
  // How many this core has put, with one more.
  std::uint64_t count_unit() noexcept { return ++n_units_put_; }
  // Units that nobody has got, in sentences.
  void add_leftovers(std::vector<std::string>& all) const;
  [[nodiscard]] static std::uint32_t register_kind(std::string name);
  [[nodiscard]] static std::size_t n_kinds() noexcept;

  // --- of messages
  void add_getter(WorkType kind, CoreId core, std::uint64_t address);
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
  void note_want(WorkType kind, const Want& want);
  void add_want(WorkType kind, Want want);
  void end_want(WorkType kind, NodeId node);
  void give_units(WorkType kind, const Want& to);
  void accept_units(WorkType kind, Nanos round_trip, ByteView units);
  void take_unit(std::uint64_t address, std::unique_ptr<Rule> unit);
  void accept(std::unique_ptr<Rule> rule);
  void free_worker(WorkType type, CoreId core);
  void reserve(WorkType type, std::uint32_t n, CoreId asked_by);
  void note_question(WorkType type, const core::Lifelines::Question& question, bool is_ahead);
  void note_given(WorkType type, CoreId by, Nanos round_trip);
  void note_work(WorkType type);

 private:
  struct Waiting {
    std::unique_ptr<Rule> rule;
    core::FinishId scope = 0;  // open
    [[nodiscard]] bool is_bound() const noexcept {
      return rule->options.core != kAnyCore && !rule->options.may_move;
    }
    [[nodiscard]] bool is_placed() const noexcept { return rule->options.core != kAnyCore; }
  };
  using Asked = core::Lifelines::Asked;
  // The largest priority first, then the oldest.
  using Order = std::pair<std::int64_t, std::uint64_t>;
  using Queue = std::map<Order, Waiting>;
  // A task that waits for a unit, and where on its stack it does.
  struct Getter {
    CoreId core;
    std::uint64_t address;
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
    std::uint32_t n_free = 0;              // workers
    std::vector<std::uint32_t> n_on_core;  // [cores of the node]: workers that are busy there
    std::uint32_t n_asked = 0;             // workers that are to be reserved, 0: none
    CoreId asked_by = 0;
    std::vector<CoreId> reserved;
    Queue waiting;
    std::map<CoreId, Queue> of_core;  // units that no other core may have
    std::deque<Getter> getters;
    std::size_t n_offered = 0;      // the market knows that there are so many to give
    Asked wanted = Asked::not_yet;  // or that some are wanted
    std::size_t n_movable = 0;      // of those that wait
    std::size_t n_anywhere = 0;     // of these, that are for no place
    std::uint64_t n_begun = 0;      // since the run began
    core::Lifelines lifelines;      // keepers of other nodes; for units the market alone
    bool knows_of_work = false;
  };

  [[nodiscard]] bool is_kind(WorkType type) const noexcept {
    return type.number > workers_.n_types();
  }
  [[nodiscard]] Queue& queue_for(Kept& kept, const Rule& rule);
  void add(Kept& kept, std::unique_ptr<Rule> rule);
  void pump_units(Kept& kept);
  void offer(Kept& kept);
  void want(Kept& kept);
  void trade(WorkType kind);
  [[nodiscard]] CoreId market_of(WorkType kind) const noexcept {
    return keeper_on(kind, kind.number % here_.shape().n_nodes);
  }
  void hand_out(Kept& kept);
  void hand(Kept& kept, std::deque<Getter>::iterator to);
  [[nodiscard]] NodeId node_for(const Rule& rule);
  [[nodiscard]] Kept& kept(WorkType type);
  void pump(Kept& kept);
  [[nodiscard]] std::uint32_t n_for_singles(const Kept& kept) const;
  // A worker, on that core or on the one that has least to do.
  [[nodiscard]] CoreId take_worker(Kept& kept, CoreId wanted);
  [[nodiscard]] CoreId idlest(const Kept& kept) const;
  void start(Kept& kept, Waiting next);
  [[nodiscard]] Waiting take(Kept& kept, Queue& queue, Queue::iterator at);
  void give(Kept& kept);
  // Of those that may move: the best, for a node that has nothing to do, and every second one of the
  // others; n_most, but at least one. Ahead, of those that are for no place.
  template <class F>
  void for_each_to_give(Kept& mine, std::size_t n_most, bool is_ahead, F give) {
    n_most = std::clamp<std::size_t>(n_most, 1, kGivenMost);
    bool is_given = true;
    std::size_t n_given = 0;
    for (auto at = mine.waiting.begin(); at != mine.waiting.end() && n_given < n_most;) {
      const auto next = std::next(at);
      const bool may_go = is_ahead ? !at->second.is_placed() : !at->second.is_bound();
      if (may_go && std::exchange(is_given, !is_given)) {
        give(at);
        ++n_given;
      }
      at = next;
    }
  }
  void give_to(Kept& kept, std::vector<core::Lifelines::Question>& who, bool is_ahead);
  void send_rules(Kept& kept, CoreId to, std::size_t n_more, bool is_ahead);
  void seek(Kept& kept);
  void ask(Kept& kept);

  static constexpr std::size_t kGivenMost = 256;
  static constexpr std::uint64_t kLeastDifference = 2;  // for which units are given ahead

  CoreContext& here_;
  Workers workers_;
  // [WorkType::number]: those that have workers; empty until somebody asks.
  std::vector<std::vector<NodeId>> nodes_;
  std::map<std::uint32_t, Kept> kept_;  // by WorkType::number
  std::uint64_t n_put_ = 0;
  std::uint64_t n_units_put_ = 0;
  std::uint32_t next_node_ = 0;
  std::map<std::uint32_t, Market> markets_;  // of this core, by WorkType::number
  core::FinishId units_scope_ = 0;
  core::FinishId around_units_ = 0;
  bool units_are_over_ = false;
  std::vector<Getting*> getting_;  // tasks of this core
};

}  // namespace rubato::flow

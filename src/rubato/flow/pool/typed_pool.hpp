#pragma once
// TypedPool: ready rules of types of work, and the workers of each type [Turbine 3, ADLB].
//
// On each node that has workers of a type, one core keeps the rules that wait for one, the largest
// priority first. A rule that is ready goes to the keeper of its node, or to that of another one if
// this one has no such workers. A keeper whose workers have nothing to do asks the keepers that are
// its neighbours in a hypercube; who has more than it can run gives the best to those that asked,
// and every second one of what is left. Nobody asks twice before it was given something, so that
// idle nodes are silent.
//
// Rules that are bound to a place wait there.

#include <cstdint>
#include <map>
#include <memory>
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

  // --- of messages
  void accept(std::unique_ptr<Rule> rule);
  void free_worker(WorkType type, CoreId core);
  void reserve(WorkType type, std::uint32_t n, CoreId asked_by);
  void note_beggar(WorkType type, NodeId node);
  void note_given(WorkType type, NodeId by);
  void note_work(WorkType type);

  // Most rules of a type that have waited on this core at a time.
  [[nodiscard]] std::size_t n_waiting_max() const noexcept { return n_waiting_max_; }

 private:
  struct Waiting {
    std::unique_ptr<Rule> rule;
    core::FinishId scope = 0;  // open
    [[nodiscard]] bool is_bound() const noexcept {
      return rule->options.core != kAnyCore && !rule->options.may_move;
    }
  };
  // The largest priority first, then the oldest.
  using Order = std::pair<std::int64_t, std::uint64_t>;

  // What this core keeps of a type.
  struct Kept {
    WorkType type;
    std::uint32_t n_free = 0;              // workers
    std::vector<std::uint32_t> n_on_core;  // [cores of the node]: workers that are busy there
    std::uint32_t n_asked = 0;             // workers that are to be reserved, 0: none
    CoreId asked_by = 0;
    std::vector<CoreId> reserved;
    std::map<Order, Waiting> waiting;
    std::size_t n_movable = 0;  // of these
    std::vector<NodeId> neighbours;
    std::vector<bool> was_asked;  // [neighbours]: and has not given since
    std::vector<NodeId> beggars;  // that have asked
    bool knows_of_work = false;
  };

  [[nodiscard]] NodeId node_for(const Rule& rule);
  [[nodiscard]] Kept& kept(WorkType type);
  void pump(Kept& kept);
  // A worker, on that core or on the one that has least to do.
  [[nodiscard]] CoreId take_worker(Kept& kept, CoreId wanted);
  [[nodiscard]] CoreId idlest(const Kept& kept) const;
  void start(Kept& kept, Waiting next);
  [[nodiscard]] static Waiting take(Kept& kept, std::map<Order, Waiting>::iterator at);
  void give(Kept& kept);
  void give(Kept& kept, NodeId to, std::map<Order, Waiting>::iterator at);
  void beg(Kept& kept);

  CoreContext& here_;
  Workers workers_;
  // [WorkType::number]: those that have workers; empty until somebody asks.
  std::vector<std::vector<NodeId>> nodes_;
  std::map<std::uint32_t, Kept> kept_;  // by WorkType::number
  std::uint64_t n_put_ = 0;
  std::uint32_t next_node_ = 0;
  std::size_t n_waiting_max_ = 0;
};

}  // namespace rubato::flow

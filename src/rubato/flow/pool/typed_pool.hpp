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
  TypedPool() : here_(CoreContext::here()) {}

  // Forgets the last run; these are the workers of the next one. On all cores.
  void begin(Workers workers);
  [[nodiscard]] const Workers& workers() const noexcept { return workers_; }

  // A rule that is ready. Throws Error, and leaves the rule, if it is bound to a node that has no
  // workers of its type.
  void put(std::unique_ptr<Rule>& rule);

  // --- of messages
  void accept(std::unique_ptr<Rule> rule);
  void free_worker(WorkType type);
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
    std::uint32_t n_free = 0;     // workers
    std::uint32_t next_core = 0;  // of the node, for the next rule
    std::map<Order, Waiting> waiting;
    std::size_t n_movable = 0;  // of these
    std::vector<NodeId> neighbours;
    std::vector<bool> was_asked;  // [neighbours]: and has not given since
    std::vector<NodeId> beggars;  // that have asked
    bool knows_of_work = false;
  };

  [[nodiscard]] CoreId keeper_on(WorkType type, NodeId node) const noexcept;
  [[nodiscard]] NodeId node_for(const Rule& rule);
  [[nodiscard]] Kept& kept(WorkType type);
  void pump(Kept& kept);
  void start(Kept& kept, Waiting next);
  [[nodiscard]] static Waiting take(Kept& kept, std::map<Order, Waiting>::iterator at);
  void give(Kept& kept);
  void give(Kept& kept, NodeId to, std::map<Order, Waiting>::iterator at);
  void beg(Kept& kept);

  CoreContext& here_;
  Workers workers_;
  std::vector<std::vector<NodeId>> nodes_;  // [types]: those that have workers
  std::map<std::uint32_t, Kept> kept_;      // by WorkType::number
  std::uint64_t n_put_ = 0;
  std::uint32_t next_node_ = 0;
  std::size_t n_waiting_max_ = 0;
};

}  // namespace rubato::flow

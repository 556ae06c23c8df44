#pragma once
// NodeQueue: what is ready of a type of work on a node, or of a kind of units, and who is free to run it.
//
// Shared by the cores of the node, under its lock: whoever adds a rule or has ended one finds the next
// rule and the worker for it, so that nobody waits until another core is between two of its tasks. What
// concerns other nodes, teams and the throttle is the keeper's (typed_pool.hpp): the queue keeps the news
// for it, and says who is to send it a message, so that few are under way however long it does not look.

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "rubato/core/adaptive_mutex.hpp"
#include "rubato/flow/rule/rule.hpp"

namespace rubato::flow {

// All calls are of any core of the node; none blocks for longer than others hold the lock.
class NodeQueue {
 public:
  struct Waiting {
    std::unique_ptr<Rule> rule;
    core::FinishId scope = 0;  // open, on the core that has added it
    CoreId owner = 0;          // that core
    CoreId only = kAnyCore;    // a unit that nobody else may have
    std::uint64_t number = 0;  // in the order of add()
    [[nodiscard]] bool is_bound() const noexcept { return is_placed() && !rule->options.may_move; }
    [[nodiscard]] bool is_placed() const noexcept { return rule->options.core != kAnyCore; }
  };
  // A rule that begins, on that core.
  struct Begun {
    Waiting next;
    CoreId core;
  };
  // A task that waits for a unit, and where on its stack it does.
  struct Getter {
    CoreId core;
    std::uint64_t address;
  };
  struct Handed {
    Waiting unit;
    Getter to;
  };
  // As others change it meanwhile, each of its own time.
  struct Counts {
    std::size_t n_waiting = 0;   // but for units that one core alone may have
    std::size_t n_movable = 0;   // of these, that may go to another node
    std::size_t n_anywhere = 0;  // of these, that are for no place
    std::size_t n_free = 0;      // workers, or tasks that wait for units
    std::size_t n_reserved = 0;  // workers, for a team that waits for more
    bool is_reserving = false;
  };

  // What has happened since the keeper has looked.
  struct News {
    struct Came {
      RuleOrigin of;
      std::uint64_t n = 0;
      bool is_full = false;  // who has put them has seen that there are too many
    };
    std::vector<Came> came;
    std::uint64_t n_begun = 0;  // here
    std::uint64_t n_given = 0;  // to other nodes
    std::size_t n_most = 0;     // that have waited at a time
  };

  NodeQueue(CoreId first_core, std::uint32_t n_cores, std::uint32_t n_workers);
  // Of units.
  NodeQueue(CoreId first_core, std::uint32_t n_cores);

  void add(Waiting waiting, bool is_full);
  void add(std::vector<Waiting> units);
  [[nodiscard]] Counts counts() const noexcept;
  // Of what may go elsewhere: the best, for a node that has nothing to do, and every second one of the
  // others; n_most, but at least one if there is one. Ahead, of those that are for no place.
  [[nodiscard]] std::vector<Waiting> give(std::size_t n_most, bool is_ahead);
  // What waits, for reports at the end of a run: f(first rule, number) of those for all cores, then of
  // units for one, by cores.
  template <class F>
  void visit(F f) const {
    const std::scoped_lock lock(mutex_);
    if (!waiting_.empty()) f(*waiting_.first().rule, waiting_.size());
    for (const auto& [core, line] : of_core_)
      f(*line.first().rule, line.size());
  }

  // --- the keeper

  // After a change by that core, in that scope: true if it is to send the keeper a message, since it has none
  // under way, or none in a scope that ends no sooner.
  [[nodiscard]] bool has_to_tell(CoreId core, core::FinishId scope);
  // By the keeper.
  [[nodiscard]] News take_news();

  // --- workers

  // The best rule, and the worker for it: on the core that it is for, or on the one that has least to do,
  // rather on that one. Nothing if none waits or none is free, or a team waits for workers.
  [[nodiscard]] std::optional<Begun> begin_next(CoreId rather);
  // A worker of that core has ended what it ran: what begins in its place. Nobody comes between.
  [[nodiscard]] std::optional<Begun> end_on(CoreId core);
  // So many workers are to be reserved for a team, before single rules. REQUIRES: no team waits.
  void reserve(std::uint32_t n);
  // Their cores, once, when they are free.
  [[nodiscard]] std::optional<std::vector<CoreId>> take_reserved();

  // --- units

  void add_getter(Getter getter);
  // The next unit, and the task that gets it: one of the core that it is for, or who has waited longest.
  [[nodiscard]] std::optional<Handed> hand_next();
  // Nobody gets any more.
  void close();

 private:
  // The largest priority first, then the oldest.
  class Line {
   public:
    [[nodiscard]] bool empty() const noexcept { return n_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return n_; }
    // REQUIRES: !empty()
    [[nodiscard]] const Waiting& first() const noexcept {
      return of_priority_.begin()->second.front();
    }
    void push(Waiting waiting);
    [[nodiscard]] Waiting pop();
    // n_most of those that `may_go`, which are n_all: the first, and every second one of the others.
    template <class F>
    [[nodiscard]] std::vector<Waiting> take(std::size_t n_most, std::size_t n_all, F may_go);

   private:
    using Alike = std::deque<Waiting>;
    using Priorities = std::map<std::int64_t, Alike>;

    Priorities of_priority_;       // by what is less for more; none is empty
    Priorities::node_type spare_;  // an empty one
    std::size_t n_ = 0;
  };

  void add_one(Waiting waiting);
  [[nodiscard]] Waiting take_first(Line& line);
  void note_gone(const Waiting& taken);
  [[nodiscard]] CoreId take_worker(CoreId wanted, CoreId rather);
  [[nodiscard]] CoreId idlest(CoreId rather) const;
  [[nodiscard]] std::optional<Begun> begin(CoreId rather);
  void reserve_free();
  void show();

  // Under the lock.
  mutable core::AdaptiveMutex mutex_;
  CoreId first_core_;
  bool is_of_units_ = false;
  Line waiting_;
  std::map<CoreId, Line> of_core_;  // units that no other core may have; none is empty
  std::uint64_t n_added_ = 0;
  std::size_t n_movable_ = 0;
  std::size_t n_anywhere_ = 0;
  std::uint32_t n_free_ = 0;              // workers
  std::vector<std::uint32_t> n_on_core_;  // [cores of the node]: workers that are busy there
  std::uint32_t n_asked_ = 0;             // workers that are to be reserved, 0: none
  std::vector<CoreId> reserved_;
  std::deque<Getter> getters_;
  News news_;

  // Counts, and whether there are news, as others see them without the lock.
  struct Shown {
    std::atomic<std::size_t> n_waiting = 0;
    std::atomic<std::size_t> n_movable = 0;
    std::atomic<std::size_t> n_anywhere = 0;
    std::atomic<std::size_t> n_free = 0;
    std::atomic<std::size_t> n_reserved = 0;
    std::atomic<bool> is_reserving = false;
    std::atomic<bool> has_news = false;
  };
  Shown shown_;
  // [cores of the node] 0: no message is under way; or its scope, and 1.
  std::vector<std::atomic<std::uint64_t>> told_;
  std::atomic<bool> any_told_ = false;
};

}  // namespace rubato::flow

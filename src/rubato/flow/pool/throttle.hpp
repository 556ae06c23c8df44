#pragma once
// Throttle: generation follows consumption [Turbine 5].
//
// Rules that wait for a worker of a type, for the cores of a team, for a core that they are bound to
// or for their turn as programs are queued; one core keeps the queue, or counts it. Where more than
// QueueLimits::n_most are queued, it tells the cores of its node, and of those nodes that they come
// from; when half are left it tells them again. Cores that share a queue see by themselves that it is
// full. Meanwhile, on these cores,
//
//   - a task that made such a rule, or what let one run, waits: when it makes the next one, or at
//     its end;
//   - parts of loops whose tasks made some are put aside, as rules, so that what waits are few tasks.
//     A rule knows its loop, the outermost around it, from what made it (Rule::loop);
//   - where kWaitingMost tasks wait on a core, whatever of a flow its pool would begin is put aside.
//
// Tasks that workers and teams run do not wait, nor is what they make put aside: they empty the queues;
// nor do tasks that are bound to a core wait for others that are. And a queue is not full when nothing
// has begun for a while (kStuckAfter) and all workers that empty it wait for data of the flow: what is
// not made yet may be what lets them go on.
//
// Rules of loops that wait for data which is not set yet, or that go to where it is, are bounded as
// well: where more than kAtDataMost rules are on a core, these and those that may run,
// parts of their loops are put aside until half are left, or
// until all of the job is quiet, since what these are to set may be what others wait for: then as
// many again may come. Tasks never wait for that: they may be about to set it.
//
// Steps of an interpreter, and tasks whose functions make others, begin when no other task is left
// (PooledStep). A task that makes very many that any core may run, and may run now, waits while
// kAtDataMost are in the pool of its core; until half are left, or all of the job is quiet, as above.
//
// So a queue holds n_most rules and what is made until the last core has heard of it; and what tasks
// of workers make for queues, which nothing bounds but the loop around all of it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rubato/core/message/core_context.hpp"
#include "rubato/flow/rule/rule.hpp"

namespace rubato::flow {

using core::NodeId;

// What a queue is for; together with the core that keeps it, which one it is.
using QueueNumber = std::uint32_t;
inline constexpr QueueNumber kNoQueue = 0;
[[nodiscard]] constexpr QueueNumber queue_of_type(WorkType type) noexcept {
  return type.number;
}
[[nodiscard]] constexpr QueueNumber queue_of_teams(WorkType type) noexcept {
  return 0x4000'0000U + type.number;
}
inline constexpr QueueNumber kBoundQueue = 0x8000'0000U;
inline constexpr QueueNumber kProgramQueue = 0x8000'0001U;
inline constexpr QueueNumber kDataQueue = 0x8000'0002U;  // rules that wait for data

struct QueueId {
  CoreId keeper = 0;
  QueueNumber number = kNoQueue;
  [[nodiscard]] bool operator==(const QueueId&) const noexcept = default;
};

// In Rule::loop: a task that empties a queue has made it.
inline constexpr std::uint32_t kOfWorker = 0x8000'0000U;

struct QueueLimits {
  std::size_t n_most = 0;  // 0: kQueuedMost
  // If so many tasks of workers wait for data of the flow, none empties the queue.
  std::uint32_t n_workers = UINT32_MAX;
};

// The part of one core; used by its tasks and by what messages apply.
class Throttle final : public core::Combiner {
 public:
  // What runs in a task, on its stack. May wait at its end.
  class Running;

  // Rules of loops on a core: some 26 MB of interpreted ones.
  static constexpr std::size_t kAtDataMost = 16384;

  Throttle();

  // Forgets the last run.
  void begin();
  // For tests: instead of kQueuedMost.
  void set_most(std::size_t n) noexcept { n_most_ = n; }
  void set_at_data_most(std::size_t n) noexcept {
    at_data_bound_ = ready_bound_ = at_data_most_ = n;
  }

  // --- of whoever makes rules

  // Of a rule that was just made: which loop it belongs to.
  void mark(Rule& rule);
  // The running task makes another one.
  void note_maker() noexcept;
  // A rule has gone to that queue.
  void note_put(QueueId queue);
  // The same of one that may come to it later; kAnyCore: whoever keeps it.
  void note_made_for(QueueId queue);
  // The running task has put one into the pool of this core, maybe; it waits if there are many.
  void note_ready() {
    if (here_.n_pooled() > ready_bound_) [[unlikely]]
      hold_maker();
  }
  // True if the running task empties a queue, or one has made it that does.
  [[nodiscard]] bool is_of_worker() const noexcept;
  // Waits until the queue is not full any more, if it is; a task's call.
  void wait_for(QueueId queue);
  // True if a rule that the pool gives is not to begin now. One for which this core's data had room
  // begins, whatever came back into the pool before it: else rules only go round.
  [[nodiscard]] bool holds(const Rule& rule, bool had_room = false) const noexcept {
    return !full_.empty() && must_wait(rule, had_room);
  }
  [[nodiscard]] bool holds_all() const noexcept { return n_waiting_ >= kWaitingMost; }
  // It goes back into the pool when it may begin. In the scope of the caller.
  void put_aside(std::unique_ptr<Rule> rule);
  // Rules that are put aside and tasks that wait, in sentences.
  void add_leftovers(std::vector<std::string>& all) const;

  // --- of who keeps a queue

  void note_queued(QueueNumber number, const RuleOrigin& rule, const QueueLimits& limits);
  void note_begun(QueueNumber number);
  // So many came and have begun since anybody has looked, and that many have waited at a time.
  void note_passed(QueueNumber number, std::uint64_t n, std::size_t n_most) {
    queues_[number].n_steps += n;
    n_queued_max_ = std::max(n_queued_max_, n_most);
  }
  // Another core has seen that there are too many, and waits: it is told when there is room, maybe now.
  void note_seen_full(QueueNumber number, const RuleOrigin& rule);
  // Of a queue without a limit of its own.
  [[nodiscard]] std::size_t n_most() const noexcept { return n_most_; }
  void set_workers(QueueNumber number, std::uint32_t n_workers);
  // A rule waits for data here; and does not wait any more.
  void note_at_data(const Rule& rule) {
    if (!counts_at_data(rule)) return;
    ++n_at_data_;
    look_at_data(rule);
  }
  // One that has all its data is in the pool of this core.
  void note_pooled(const Rule& rule) {
    if (counts_at_data(rule)) look_at_data(rule);
  }
  // And this core begins one of its pool, which it may have got from another; true if that has made
  // room.
  bool note_begun_here(const Rule& rule) {
    note_pooled(rule);
    return note_taken();
  }
  bool note_taken() {
    if (!makers_.empty()) [[unlikely]]
      look_for_makers();
    return is_full_of_data_ && look_for_room();
  }
  void note_has_data(const Rule& rule) {
    if (!counts_at_data(rule)) return;
    --n_at_data_;
    note_taken();
  }
  [[nodiscard]] std::size_t n_at_data_max() const noexcept { return n_at_data_max_; }
  // The most that were queued at a time, in any queue of this core.
  [[nodiscard]] std::size_t n_queued_max() const noexcept { return n_queued_max_; }

  // --- of tasks that empty queues

  // The task that runs waits for data of the flow, and goes on.
  void note_blocked() { tell_blocked(1); }
  void note_unblocked() { tell_blocked(-1); }

  // Other cores may have taken what was in the pool: looks for room when there is nothing else to do.
  void flush(CoreContext& here) override;

  // --- of messages
  void note_full(QueueId queue, std::uint32_t loop);
  void note_room(QueueId queue);
  void note_blocked_of(QueueNumber number, std::int32_t change);

 private:
  struct Queue {
    std::size_t n = 0;
    std::int64_t n_blocked = 0;
    // Ever: workers that went on, and rules that began.
    std::uint64_t n_steps = 0;
    QueueLimits limits;
    bool is_full = false;
    bool is_watched = false;  // whether it is stuck
    bool is_stuck = false;
    [[nodiscard]] bool has_workers() const noexcept {
      return n_blocked < std::int64_t{limits.n_workers};
    }
    std::vector<NodeId> told;
    std::vector<std::uint32_t> loops;
  };
  // What this core was told of.
  struct Full {
    QueueId queue;
    std::vector<std::uint32_t> loops;
    std::vector<core::Worker*> waiting;
  };
  struct Aside {
    std::unique_ptr<Rule> rule;
    core::FinishId scope = 0;  // open
  };

  // Of a loop that can be put aside.
  [[nodiscard]] static bool counts_at_data(const Rule& rule) noexcept {
    return rule.loop != 0 && (rule.loop & kOfWorker) == 0;
  }
  [[nodiscard]] std::size_t n_at_data() const noexcept {
    return n_at_data_ + here_.n_pooled() + here_.n_lent();
  }
  void look_at_data(const Rule& rule) {
    if (n_at_data() > at_data_bound_) [[unlikely]]
      note_many_at_data(rule);
  }
  void note_many_at_data(const Rule& rule);
  void hold_maker();
  void look_for_makers();
  void wake_makers();
  bool look_for_room();
  void end_full_of_data();
  void let_more_come();
  [[nodiscard]] core::Worker* task() const noexcept;
  [[nodiscard]] Running* running() const noexcept;
  [[nodiscard]] bool must_wait(const Rule& rule, bool had_room) const noexcept;
  [[nodiscard]] Full* find(QueueId queue) noexcept;
  void begin_full(Queue& queue);
  void settle(Queue& queue, QueueNumber number);
  void tell_maker(Queue& queue, QueueNumber number, const RuleOrigin& rule);
  void watch(Queue& queue, QueueNumber number);
  void look_whether_stuck(QueueNumber number, std::uint64_t n_steps);
  template <class R>
  void tell(NodeId node, const R& record);
  void tell_blocked(std::int32_t change);
  void tell_blocked(QueueId queue, std::int32_t change);
  void take_back();

  static constexpr std::size_t kQueuedMost = 4096;
  // Loops of a queue that are told of; those of others go on.
  static constexpr std::size_t kLoopsMost = 64;
  // What a task may make while its core has more than enough.
  static constexpr std::uint32_t kMadeLeast = 1024;
  // Of some thousand tasks that run pooled ones on a core.
  static constexpr std::uint32_t kWaitingMost = 256;
  static constexpr Nanos kStuckAfter = 20 * kMillisecond;

  CoreContext& here_;
  std::map<QueueNumber, Queue> queues_;  // that this core keeps
  std::vector<Full> full_;               // anywhere; few
  std::deque<Aside> aside_;
  std::uint32_t n_waiting_ = 0;
  std::uint32_t n_loops_ = 0;
  std::uint64_t n_runs_ = 0;
  std::size_t n_most_ = kQueuedMost;
  std::size_t n_queued_max_ = 0;
  std::size_t n_at_data_ = 0;
  std::size_t n_at_data_max_ = 0;
  std::size_t at_data_most_ = kAtDataMost;
  std::size_t at_data_bound_ = kAtDataMost;  // larger, if all were quiet
  bool is_full_of_data_ = false;
  std::size_t ready_bound_ = kAtDataMost;  // the same of tasks that may run
  std::vector<core::Worker*> makers_;      // that wait for them to begin
  std::size_t n_seen_ready_ = 0;           // at the last flush()
  std::uint64_t n_looks_ = 0;              // for room
  std::uint64_t looks_so_far_ = 0;         // at the last flush()
};

class Throttle::Running {
 public:
  // `empties`: the queue that the rule comes from, if whoever runs it empties one.
  Running(Throttle& throttle, std::uint32_t loop, QueueId empties) noexcept;
  // A part of what runs, which waits at the end of the part.
  explicit Running(Throttle& throttle) noexcept;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();

  // Waits if the rule has made too much. Before the end.
  void settle();
  [[nodiscard]] bool has_made() const noexcept { return has_made_; }

 private:
  friend class Throttle;

  Throttle& throttle_;
  core::Worker* task_;  // null: none, a message runs it
  Running* outer_ = nullptr;
  std::uint32_t loop_ = 0;
  QueueId empties_;
  QueueId full_;              // that it has put something in
  std::uint32_t n_made_ = 0;  // while its core had many
  bool has_made_ = false;
};

inline bool Throttle::is_of_worker() const noexcept {
  const Running* const me = running();
  return me != nullptr && (me->empties_.number != kNoQueue || (me->loop_ & kOfWorker) != 0);
}

inline void Throttle::note_maker() noexcept {
  if (Running* const maker = running()) maker->has_made_ = true;
}

inline core::Worker* Throttle::task() const noexcept {
  core::Scheduler& tasks = here_.tasks();
  return tasks.running_or_null() != nullptr ? &tasks.running() : nullptr;
}

inline Throttle::Running* Throttle::running() const noexcept {
  const core::Worker* const mine = task();
  return mine != nullptr ? static_cast<Running*>(mine->frame) : nullptr;
}

}  // namespace rubato::flow

#pragma once
// CoreWatch: what is seen of the tasks of one core, where somebody wants to see it: how many there
// are, how long those of each name took, and which were the slowest.
//
// A core without one pays a branch a task. Its memory is bounded: a total for each name, at most
// kNamesMost of them, the kSlowestKept slowest tasks, exactly, and bins of time; what is wanted of
// all tasks is the trace's.
//
// A task's time is that from its begin to its end, with what it waited meanwhile; that of native
// work and of programs is their own, without the wait for a thread. Times are those of
// CoreContext::clock().

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rubato/flow/observe/task_counts.hpp"
#include "rubato/flow/rule/rule.hpp"
#include "rubato/observe/trace.hpp"
#include "rubato/observe/use_over_time.hpp"

namespace rubato::flow {

// What tasks are told apart by.
struct TaskName {
  std::string name;
  std::string kind;  // "async", "leaf", "program", ..; "rule" of what is no task to people
  std::string place;

  [[nodiscard]] bool operator<(const TaskName& other) const {
    return std::tie(name, kind, place) < std::tie(other.name, other.kind, other.place);
  }
};
struct NameTotals {
  TaskName of;
  std::uint64_t n = 0;
  std::uint64_t n_failed = 0;
  Nanos total = 0;
  Nanos most = 0;
};
struct SlowTask {
  TaskName of;
  std::string words;  // its arguments as far as they were plain values; of a program, its words
  CoreId core = 0;
  Nanos begin = 0;  // since the start of the run
  Nanos time = 0;
  bool has_failed = false;
};

inline constexpr std::size_t kNamesMost = 1000;
inline constexpr std::size_t kSlowestKept = 20;
inline constexpr std::size_t kWordBytesMost = 200;

// What is kept of tasks: how many there are, for a progress line, or all.
enum class WatchDepth : std::uint8_t { counts, all };

class CoreWatch {
 public:
  // A task, from its begin to its end. On the stack of whoever runs it.
  class Span;
  // Native work of the task that runs.
  class Native;

  // `trace` may be null. Both outlive this, as `origin` does: when the run began.
  CoreWatch(CoreContext& core, const Nanos& origin, observe::Trace* trace, WatchDepth depth);
  CoreWatch(const CoreWatch&) = delete;
  CoreWatch& operator=(const CoreWatch&) = delete;

  void note_made() noexcept { LiveTaskCounts::count(live_.made); }
  // The same of a rule, which may be no task to people; and one that will not run as such.
  void note_made(const Rule& rule) noexcept {
    if (action_at(rule.action).part != TaskPart::step) note_made();
  }
  void note_gone(const Rule& rule) noexcept {
    if (action_at(rule.action).part != TaskPart::step) LiveTaskCounts::count(live_.gone);
  }
  // The task that runs has failed; if it goes on, it will still have failed.
  void note_failed() noexcept;

  // A task of this core was on a thread beside it.
  void note_beside(Nanos begin, Nanos end) { beside_.add(begin - origin_, end - origin_); }

  // From any thread.
  [[nodiscard]] TaskCounts counts() const noexcept { return live_.read(); }
  // After the run.
  [[nodiscard]] const std::vector<NameTotals>& names() const noexcept { return names_; }
  [[nodiscard]] const std::vector<SlowTask>& slowest() const noexcept { return slowest_; }
  [[nodiscard]] const observe::UseOverTime& beside() const noexcept { return beside_; }

 private:
  struct Key {
    ActionId action;
    std::uint32_t number;
    const char* name;
    const char* file;
    int line;
    int column;
    bool operator==(const Key&) const = default;
  };
  struct HashKey {
    std::size_t operator()(const Key& key) const noexcept;
  };
  [[nodiscard]] Span* of_running() noexcept;
  [[nodiscard]] std::uint32_t index_of(const Rule& rule);
  [[nodiscard]] std::uint32_t index_of(TaskName name);
  void end(const Span& span);

  CoreContext& core_;
  const Nanos& origin_;
  observe::Trace* trace_;
  WatchDepth depth_;
  std::unordered_map<Key, std::uint32_t, HashKey> by_key_;  // indices of names_
  std::map<TaskName, std::uint32_t> by_name_;
  std::vector<NameTotals> names_;
  std::vector<std::uint32_t> trace_names_;  // [names_], if there is a trace
  std::vector<SlowTask> slowest_;           // a heap, the fastest first
  observe::UseOverTime beside_;             // native work and programs
  Span* open_ = nullptr;                    // the newest of those that have not ended
  alignas(64) LiveTaskCounts live_;
};

class CoreWatch::Span {
 public:
  Span(CoreWatch& watch, const Rule& rule);
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span();

  // It is a program: its name, unless the task has one, and its command.
  void set_program(const std::string& program, std::string command);

 private:
  friend class CoreWatch;
  friend class Native;

  CoreWatch& watch_;
  const core::Worker* worker_;
  Span* older_;
  Span* newer_ = nullptr;
  std::uint32_t name_ = 0;
  TaskPart part_;
  bool has_failed_ = false;
  std::uint64_t turns_ = 0;  // of tasks on this core, at the begin
  Nanos begin_ = 0;
  Nanos native_begin_ = 0;
  Nanos native_time_ = -1;  // it has had none
  std::array<Value, 4> values_;
  std::string words_;
};

class CoreWatch::Native {
 public:
  // It waits for a thread from now on.
  explicit Native(CoreWatch& watch) noexcept;
  Native(const Native&) = delete;
  Native& operator=(const Native&) = delete;
  // On the core again.
  ~Native();

  // While it runs, on its own thread.
  class Timed {
   public:
    explicit Timed(Native& native) noexcept : native_(native) {
      native_.note_thread();
      native_.begin_ = native_.watch_.core_.clock();
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;
    ~Timed() { native_.end_ = native_.watch_.core_.clock(); }

   private:
    Native& native_;
  };

 private:
  // Its task waits for a thread no more.
  void note_thread() noexcept {
    if (std::exchange(waits_, false)) LiveTaskCounts::count_shared(watch_.live_.served);
  }

  CoreWatch& watch_;
  Span* span_;
  bool waits_;  // and its task is one to people
  Nanos begin_ = 0;
  Nanos end_ = 0;
};

// Where a core's watch is, if it has one: CoreContext::local_or_make().
struct WatchPlace {
  CoreWatch* watch = nullptr;
};

// For people: at most kWordBytesMost bytes of it, in one line.
[[nodiscard]] std::string shortened(std::string text);

}  // namespace rubato::flow

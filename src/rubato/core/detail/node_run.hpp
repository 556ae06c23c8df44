#pragma once
// NodeRun: one run of one engine on the cores of a node. The essay stands in node_host.hpp.
//
// What is shared lies under the node's lock, but for the flags that threads look at without it. A
// core takes the lock once for each piece of work: to hand in what it has run and to take the next.

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "rubato/core/detail/node_link.hpp"
#include "rubato/core/detail/sleeper.hpp"
#include "rubato/core/node_host.hpp"
#include "rubato/core/watchdog.hpp"

namespace rubato::core::detail {

class NodeRun {
 public:
  // All outlive the run. `processors` is empty or has one entry for each core.
  NodeRun(NodeLink& link, const NodeHostOptions& options,
          const std::vector<std::uint32_t>& processors, Engine& engine);

  NodeRun(const NodeRun&) = delete;
  NodeRun& operator=(const NodeRun&) = delete;
  ~NodeRun();

  // To the end; throws the Error that ended it.
  NodeFigures run();
  // Whether the calling thread runs a piece of work of an engine.
  [[nodiscard]] static bool is_in_work() noexcept { return in_work_; }

 private:
  // NOLINTNEXTLINE(readability-identifier-naming): private
  inline static thread_local constinit bool in_work_ = false;
  enum class State : std::uint8_t { running, done, failed };

  struct alignas(64) Core {
    // Under the lock.
    Work work;
    Nanos since = kNever;          // its work began; kNever: it has none
    bool idle = false;             // its last look was in vain
    std::uint64_t offers = 0;      // made when it looked
    std::uint64_t idle_epoch = 0;  // no work was found when this many events had happened
    // Of the core's thread; looked at by the service thread.
    std::atomic<Nanos> work_time = 0;  // a running mean over the latest pieces of work
    // Read after it has ended.
    CoreFigures figures;
    std::string place;
  };

  // A core's time from one piece of work to the next.
  struct IdleSpell {
    Nanos begin = 0;       // 0: no round yet
    Nanos last = 0;        // end of the last round
    bool crowded = false;  // other threads want the processor
    std::uint32_t n_naps = 0;
    Nanos yield_time = 0;  // before its first nap; 0: as always
    // The one after it, which has found work.
    [[nodiscard]] IdleSpell next() const;
  };

  class EnginePort final : public Port {
   public:
    explicit EnginePort(NodeRun& run) : run_(run) {}
    void send(NodeId to, Bytes bytes) override { run_.send(to, std::move(bytes)); }
    void wake_at(Nanos when) override;
    [[nodiscard]] Nanos now() const noexcept override { return run_.event_time_; }
    [[nodiscard]] Came came() const noexcept override;

   private:
    NodeRun& run_;
  };

  // Threads.
  void core_thread(std::uint32_t core);
  void core_loop(std::uint32_t core);
  void serve();

  // Of a core thread, without the lock.
  [[nodiscard]] bool take(std::uint32_t core, bool has_run);
  void execute(std::uint32_t core);
  void idle(std::uint32_t core, std::uint32_t seen, IdleSpell& spell);
  [[nodiscard]] Nanos nap_time(bool polls, const IdleSpell& spell, Nanos now) const;

  // Under the lock.
  enum class Wake : std::uint8_t { nobody, one, all };  // to be done after it
  Wake found_nothing(Core& me, Nanos now);
  Wake offer();
  void start();
  void on_message(NodeId from, Bytes bytes);
  void send(NodeId to, Bytes bytes);
  template <class F>
  void event(F call);
  void run_timer(Nanos now);
  void look_for_end(Nanos now);
  [[nodiscard]] bool passive() const;
  bool let_go();
  void collect_waiting();
  void end(State state);
  void fail(const Error& error);

  // Of the service thread.
  [[nodiscard]] bool cores_are_deaf(Nanos now) const;
  void check_signal();
  void check_busy(Nanos now);
  void report(const std::string& line) const;
  void show_glance(Nanos now);
  void leave_failed();
  NodeFigures figures();

  NodeLink& link_;
  const NodeHostOptions& options_;
  const std::vector<std::uint32_t>& processors_;
  Engine& engine_;
  EnginePort port_;
  const bool alone_;  // a job of one node: nobody sends but the engine to itself

  // What idle cores look at all the time, what they write, and what the lock guards share no line.
  alignas(64) std::atomic<State> state_{State::running};
  std::atomic<Nanos> timer_at_{kNever};
  std::atomic<std::uint32_t> n_threads_{0};
  // Changes when idle cores may find something. Written under the lock.
  std::atomic<std::uint64_t> offers_{0};
  Sleeper cores_sleeper_;
  Sleeper server_sleeper_;
  alignas(64) std::atomic<bool> polled_{false};  // an idle core looks for messages
  std::atomic<Nanos> idle_{0};                   // of all cores so far; counts for glances alone

  alignas(64) std::uint64_t n_events_ = 1;  // a core is idle for sure if it looked after the last
  std::uint32_t n_idle_ = 0;                // cores whose last look was in vain
  Nanos event_time_ = 0;
  std::vector<Core> cores_;
  Nanos start_time_ = 0;
  Nanos end_time_ = 0;
  Nanos failed_at_ = kNever;
  Nanos glanced_at_ = 0;
  bool collecting_ = false;
  std::uint64_t n_let_go_ = 0;  // Termination::Local
  std::optional<Error> error_;
  NodeFigures counts_;  // messages and bytes
  Watchdog watchdog_;
  Nanos busy_looked_at_ = 0;  // when it did last, and how long cores had been idle by then
  Nanos busy_idle_ = 0;
};

}  // namespace rubato::core::detail

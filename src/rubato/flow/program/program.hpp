#pragma once
// Programs as leaf tasks [Turbine: external application functions]: a node's launcher starts them,
// watches them, and says in one sentence what became of them.
//
//   Launcher launcher;                                one for a node, made at its start
//   const ProgramEnd end = launcher.run({.words = {"sort", "in"}, .stdout_path = "out"});
//   if (!end.well()) report(end.problem);
//
// run() blocks its thread, so it is called by threads beside the cores, several at once. What a
// user or a script can do wrong (no such program, an unreadable input, a failure of the program)
// comes back in ProgramEnd and is no exception: other tasks go on.
//
// Invariants:
// - A program has a process group of its own. When run() returns nothing of that group runs: what
//   a program leaves behind when it ends is killed. Children that made themselves another session
//   (setsid) go on behind a program that ends by itself, as daemons are meant to; of one that is
//   ended they are ended, too, if their parents still lived then.
// - A program inherits descriptors 0, 1 and 2 and no other, no blocked or ignored signal, and not
//   the processor that its caller is bound to.
// - When the node is killed, its warden kills what it has running (detail/warden.hpp).
// - Nothing waits without an end that kill_all() can reach, but a named pipe as a standard stream
//   of which nobody opens the other end.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/time.hpp"

namespace rubato::flow {

namespace program_detail {
struct NodeState;
struct Child;
class Warden;
}  // namespace program_detail

// What to run, and how. Each member has its default: a call names what it needs.
struct ProgramCall {
  // The program and its arguments, without a shell. A program without a slash is looked up in PATH.
  std::vector<std::string> words = {};
  // "": the input is empty, output goes to the node's own, and of the errors the last lines are
  // kept. Outputs are created or emptied; two of one name share the file. Relative to `folder`.
  std::string stdin_path = {};
  std::string stdout_path = {};
  std::string stderr_path = {};
  // Where the program runs; "": where the node does.
  std::string folder = {};
  // Beyond, and in the place of, what the node had when its launcher was made.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> environment_removed = {};
  // From its start; then SIGTERM, and SIGKILL after the launcher's grace. kNever: none.
  Nanos timeout = kNever;
  // Asked every 10 ms while it runs, by the thread of run(): true kills it at once.
  std::function<bool()> has_enough = {};
};

// What became of a program.
struct ProgramEnd {
  // Its exit code; 128 + n when signal n ended it; 124 when it answered its time-out by a 0, 126
  // when it or its files cannot be used, 127 when there is no such program. 0 only if all is well.
  int code = 0;
  bool started = false;       // false: no process was made, and none of its effects can be there
  bool timed_out = false;     // ended by us for its timeout
  bool stopped = false;       // ended by us, or not begun, for kill_all()
  bool had_enough = false;    // ended by us for ProgramCall::has_enough
  std::uint32_t n_tries = 1;  // more: with_retries()
  // "" if all is well, else what was called and why it failed, with the last lines of its errors.
  std::string problem;
  // The last lines that it wrote to standard error, at most 4 KiB; "" if that is redirected.
  std::string last_errors;
  Nanos wall = 0;                       // from its start to its end
  Nanos processor = 0;                  // time on processors, its children's included
  std::int64_t resident_bytes_max = 0;  // of the largest process

  [[nodiscard]] bool well() const noexcept { return code == 0; }
};

struct LauncherOptions {
  // How many programs run at once; more wait. 0: twice the processors.
  std::uint32_t n_at_once = 0;
  Nanos grace = 2 * kSecond;  // between SIGTERM and SIGKILL
  // Whether what programs write to standard error also appears on the node's.
  bool errors_passed_on = true;
  // How often a start is tried that fails for want of something that others give back (processes,
  // memory, descriptors, a program file still open for writing). The pause doubles from 1 ms.
  std::uint32_t n_start_tries = 11;
  // The processors that programs may use; empty: those of the thread that makes the launcher.
  std::vector<std::uint32_t> processors;
  // The host's clock: monotonic.
  Nanos (*clock)() noexcept = steady_now;
};

// Starts the programs of one node. All calls may come from any thread.
class Launcher {
 public:
  // Keeps the environment, PATH and the processors of now. REQUIRES: made before the node binds its
  // threads, unless options name the processors; the node does not ignore SIGCHLD. Throws Error
  // (failed) if the system refuses what it needs.
  explicit Launcher(LauncherOptions options = {});
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  // As kill_all().
  ~Launcher();

  // Runs a program to its end. Blocks the thread, also until one of the n_at_once is free.
  [[nodiscard]] ProgramEnd run(const ProgramCall& call);

  // The end of a run: every program gets SIGTERM, and SIGKILL after `grace`; calls that wait, pause
  // or come later return at once with `stopped`. Blocks until no program is left and all calls of
  // run() have ended. May be called again, also while it blocks, e.g. with grace 0 at the second
  // Ctrl-C: the shortest grace counts. Not for signal handlers: it locks.
  void kill_all(Nanos grace);
  void kill_all() { kill_all(options_.grace); }

  // Waits for `duration`; false, and at once, if kill_all() was called. For pauses between tries.
  [[nodiscard]] bool pause(Nanos duration);

  [[nodiscard]] const LauncherOptions& options() const noexcept { return options_; }

 private:
  class Slot;
  [[nodiscard]] ProgramEnd run_in_slot(const ProgramCall& call, std::uint32_t place);
  [[nodiscard]] std::optional<program_detail::Child> start(const ProgramCall& call);

  LauncherOptions options_;
  std::unique_ptr<const program_detail::NodeState> node_;
  std::unique_ptr<program_detail::Warden> warden_;
  std::mutex mutex_;
  std::condition_variable slot_free_;
  std::condition_variable stopped_;
  std::condition_variable left_;
  std::vector<std::uint32_t> places_;  // with the warden, that no program has
  std::uint32_t n_inside_ = 0;         // threads in run() and pause()
  bool stopping_ = false;
  std::atomic<Nanos> grace_;
};

}  // namespace rubato::flow

#pragma once
// Engine: the state machine of one node, and Port: what it may ask of its host.
//
// An engine never blocks, never reads a clock and starts no thread. A host (core/node_host.hpp on
// real cores, core/sim_host.hpp in virtual time) feeds it events and takes work from it, so the
// same engine runs in both. All Engine calls but run() and cost() come under one lock, from any
// core; run() is called without it, on several cores at once, for different work.
//
//   event                   host calls             the engine may answer through its Port
//   the node starts         start                  send, wake_at
//   bytes came              on_message             send, wake_at
//   a core is idle          next_work              (returns the most urgent ready work, if any)
//   that work has run       on_finished            send, wake_at
//   the asked time came     on_time                send, wake_at
// The host stops when finished() is true on this node and all sends have left.

#include <cstdint>
#include <string>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/base/error.hpp"
#include "rubato/base/time.hpp"
#include "rubato/net/fabric.hpp"

namespace rubato::core {

using net::NodeId;

// One thing to run on one core. Its meaning belongs to the engine.
struct Work {
  std::uint32_t kind = 0;
  std::uint32_t index = 0;
  std::int64_t tick = 0;
  void* detail = nullptr;
  Nanos took = 0;  // on its core: set by the host before on_finished()
  Nanos late = 0;  // of what a message brought: how late that was, as its engine counts it
};

// Something that runs beside the cores, on a thread that is not of the host.
struct WorkBeside {
  std::string name;  // what people call it, and all of its kind: "native work of task 'solve' .."
  Nanos since = 0;   // its begin
};

// What a host offers; valid during the call that it is passed to.
class Port {
 public:
  Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  virtual ~Port() = default;

  // Queues `bytes` for the same engine on node `to`; in order for each pair. Never blocks; the
  // engine's protocol bounds what is on its way.
  virtual void send(NodeId to, Bytes bytes) = 0;

  // Asks for on_time() at `when` or a little later; the earliest of all requests counts.
  virtual void wake_at(Nanos when) = 0;

  // When the current event happened. For figures, never for decisions.
  [[nodiscard]] virtual Nanos now() const noexcept = 0;

  // When the message came that on_message() is called for, as far as the host knows: it may have waited
  // for a core that had other work. For figures.
  struct Came {
    Nanos earliest = 0;
    Nanos latest = 0;
  };
  [[nodiscard]] virtual Came came() const noexcept { return {now(), now()}; }
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  virtual void start(Port& port) = 0;
  virtual void on_message(Port& port, NodeId from, Bytes bytes) = 0;
  virtual void on_finished(Port& port, const Work& work) = 0;
  virtual void on_time(Port& /*port*/) {}

  // Takes the most urgent ready work for an idle core of the node ([0, n_cores)), or returns false.
  [[nodiscard]] virtual bool next_work(std::uint32_t core, Work& work) = 0;

  // False if next_work() would surely return false for every core: then no idle core is woken,
  // which spares a system call of 1-2 us. Asked after each event while a core sleeps.
  [[nodiscard]] virtual bool more_work() const { return true; }

  // True if each core has work of its own, so that all idle ones are woken to look for theirs.
  [[nodiscard]] virtual bool work_is_of_cores() const { return false; }

  // A core is about to hand in `work` (which is run) and to ask for the next. What on_finished() and
  // next_work() will write was last written by other cores, and each line of it that they wait for
  // takes 50 to 250 ns; here they can all be asked for at once. Without the lock: nothing that
  // events change may be read, only its address taken.
  virtual void prefetch(const Work& /*work*/, std::uint32_t /*core*/) const {}

  // Does the work. Without the lock; may throw Error, which ends the job with its message.
  virtual void run(const Work& work, std::uint32_t core) = 0;

  // What run() costs on one core in virtual time. Only simulators ask, after run().
  [[nodiscard]] virtual Nanos cost(const Work& work) const = 0;

  // What a message of `n_bytes` costs the core that sends or takes it, in virtual time.
  [[nodiscard]] virtual Nanos message_cost(std::size_t /*n_bytes*/) const { return 0; }

  [[nodiscard]] virtual bool finished() const = 0;

  // Nothing can happen any more, on any node, and some node has not finished. True if this node holds
  // something back that goes on now: there is work, or it has sent. The others are asked as well,
  // and may have let theirs go already. If all say no, that is a deadlock.
  [[nodiscard]] virtual bool on_quiet(Port& /*port*/) { return false; }

  // One line for the watchdog: what this node waits for, or "" if it waits for nothing.
  [[nodiscard]] virtual std::string waiting_for() const = 0;

  // What people call `work`: "step of region 12 to tick 40". For the watchdog and for traces.
  [[nodiscard]] virtual std::string work_name(const Work& work) const {
    return "work of kind " + std::to_string(work.kind) + ", index " + std::to_string(work.index) +
           ", tick " + std::to_string(work.tick);
  }

  // What has begun by then beside the cores and has not ended, but for what somebody has asked to be
  // told of at a time that is still to come. For the watchdog.
  [[nodiscard]] virtual std::vector<WorkBeside> work_beside(Nanos /*begun_by*/) const { return {}; }

  // The job ends without a result, on every node, because of `error`: take back what is half
  // written. The last call that the engine gets.
  virtual void on_failed(const Error& /*error*/) {}
};

}  // namespace rubato::core

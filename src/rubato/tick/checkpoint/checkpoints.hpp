#pragma once
// Checkpoints: the state of a run, saved to a folder while the run goes on.
//
//   CheckpointOptions options{.folder = "run/checkpoints", .every = 1000};
//   ExecutionOptions execution; ..
//   const auto checkpoints = add_checkpoints(execution, options, host);   before execute()
//
// At a tick that is saved, each own region's version is copied right after its step; when a node has
// all of its regions, a thread of its own writes them to a part, and node 0 writes the manifest when
// all parts are there (manifest.hpp). Nobody waits for anybody: no barrier, and no node holds more
// than its own regions. A node's steps wait for its disk only if one part is being written and
// another one waits for that. The newest two are kept. What cannot be written ends the run with an
// Error; the checkpoints that were whole stay.
//
// In the simulator parts are written in the step that completes them, and times are virtual.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rubato/tick/checkpoint/folder.hpp"
#include "rubato/tick/checkpoint/part_file.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::tick {

struct CheckpointOptions {
  std::string folder;  // "": none are written
  Tick every = 0;      // at its multiples; 0: not by ticks
  Nanos interval = 0;  // about so long after one the next; 0: not by time
  // How long nodes may take to agree on a tick before those that have promised wait for the others.
  Nanos answer = 20 * kMillisecond;
  // While a core::CheckpointSignals lives: a signal has one written, which ends the run with
  // ExitCode::checkpointed.
  bool on_signal = false;
  std::string resumed;  // the checkpoint's folder that the run begins with; "": at tick 0
  Manifest about;  // what all of this run have in common: the model, its parameters, ticks, seed
};

namespace detail {

// Does one thing after the other: on a thread, or at once where it is posted.
class Background {
 public:
  explicit Background(bool has_thread);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() { end(); }
  // What has not begun and need not be done is dropped; blocks until the rest is done. May be called
  // again.
  void end();

  // `at_any_rate`: also after a failure, and at the end.
  void post(std::function<void()> job, bool at_any_rate = false);
  // Blocks until no job waits for another one.
  void wait_for_room();
  // What a job threw first; nothing else is done after it.
  [[nodiscard]] std::optional<Error> error() const;

 private:
  struct Job {
    std::function<void()> call;
    bool at_any_rate;
  };
  void work();
  void run(const std::function<void()>& job);
  void drop_jobs();  // with the lock

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::optional<Error> error_;
  std::atomic<bool> has_failed_{false};  // error_ is set: asked after each event
  bool ends_ = false;
  std::thread thread_;  // the last: it uses the others
};

// What one node has saved and is saving.
class NodeSaver {
 public:
  struct Done {
    Tick tick = 0;
    CheckpointPart part;
  };

  NodeSaver(const CheckpointOptions& options, PartName name, Background& background)
      : options_(options), name_(name), background_(background) {}

  // Each of the NodeRuns that the node's run is made of; it outlives its own steps.
  void follow(NodeRun& run);
  // A tick to be saved beside the multiples; before any unit to it starts.
  void arm(Tick t) noexcept { armed_.store(t, std::memory_order_relaxed); }
  [[nodiscard]] Tick armed() const noexcept { return armed_.load(std::memory_order_relaxed); }
  // Parts that were begun and not yet taken by take_done().
  [[nodiscard]] bool is_busy() const noexcept { return n_open_.load() > 0; }
  [[nodiscard]] std::vector<Done> take_done();

 private:
  struct Saving {
    std::uint32_t left = 0;  // regions
    std::vector<CheckpointPiece> pieces;
  };

  void take(const NodeRun& run, RegionId region, Tick t);
  void write(Tick t, Saving& saving);
  [[nodiscard]] Saving& open(const NodeRun& run, Tick t, Bytes& memory, bool& is_new);

  const CheckpointOptions& options_;
  const PartName name_;  // but for its tick
  Background& background_;
  std::atomic<Tick> armed_{kNoTick};
  std::atomic<int> n_open_{0};
  std::atomic<bool> has_news_{false};
  std::mutex mutex_;  // guards what follows
  std::map<Tick, Saving> savings_;
  std::vector<Bytes> spare_;  // memory of pieces that are written
  std::vector<Done> done_;
};

}  // namespace detail

class Checkpoints {
 public:
  // What of the job this process is.
  struct Process {
    std::uint32_t n_nodes = 1;
    bool first = true;         // it has node 0
    bool has_threads = true;   // false: in virtual time
    std::uint64_t run_id = 0;  // equal on all nodes
  };

  // `options.folder` is not "". The folder is ready; what prepare_checkpoints() has given comes with
  // the first process.
  Checkpoints(CheckpointOptions options, Process process, std::unique_ptr<FolderLock> lock);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;
  // The first process takes back what is not whole.
  ~Checkpoints();

  // Before the first step of each NodeRun of a node's run.
  void follow(NodeId node, NodeRun& run);
  // The engine to drive in place of the run's own; this outlives it.
  [[nodiscard]] std::unique_ptr<core::Engine> wrap(NodeId node, TickEngine& engine);

  // On the process of node 0: how many are whole, and the last of them; "" if there is none.
  [[nodiscard]] std::uint64_t n_whole() const;
  [[nodiscard]] std::string last() const;

 private:
  friend class CheckpointEngine;

  // Parts of one tick that have been told of, at node 0.
  struct Gathering {
    std::map<NodeId, CheckpointPart> parts;
  };

  [[nodiscard]] const CheckpointOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::uint32_t n_nodes() const noexcept { return process_.n_nodes; }
  [[nodiscard]] bool has_threads() const noexcept { return process_.has_threads; }
  [[nodiscard]] detail::NodeSaver& saver(NodeId node);
  // Of this process's writing.
  [[nodiscard]] std::optional<Error> error() const { return background_.error(); }
  // Of node 0, under its host's lock.
  void add_part(NodeId node, Tick tick, const CheckpointPart& part);
  void add_failure(NodeId node, const std::string& text);
  // The first failure, once none of what is being saved can become whole any more.
  void throw_if_failed();
  void write_manifests(const TickEngine& engine);
  [[nodiscard]] Tick next_tick(Tick armed) const;
  [[nodiscard]] bool is_gathering();
  [[nodiscard]] Tick last_tick() const;

  const CheckpointOptions options_;
  const Process process_;
  const std::unique_ptr<FolderLock> lock_;  // of the first process
  std::map<Tick, Gathering> gatherings_;
  std::vector<NodeId> failed_;  // nodes that write no more
  std::string first_failure_;
  Tick posted_ = -1;        // of the last manifest that was begun
  Tick stop_interval_ = 0;  // of the model
  Tick stop_lag_ = 0;
  Tick ending_ = kNoTick;   // the tick of the checkpoint that ends the run
  Nanos next_at_ = kNever;  // the time of the next one
  mutable std::mutex mutex_;
  std::map<NodeId, std::unique_ptr<detail::NodeSaver>> savers_;
  std::uint64_t n_whole_ = 0;
  Tick last_ = -1;
  detail::Background background_;  // the last: its jobs use the others
};

// Has simulate() or execute() save the run; the caller keeps the result until that has returned. Null
// if options.folder is "". The second is collective over the nodes of `host`; both throw Error as
// prepare_checkpoints().
[[nodiscard]] std::unique_ptr<Checkpoints> add_checkpoints(SimulationOptions& simulation,
                                                           const CheckpointOptions& options);
[[nodiscard]] std::unique_ptr<Checkpoints> add_checkpoints(ExecutionOptions& execution,
                                                           const CheckpointOptions& options,
                                                           core::NodeHost& host);

}  // namespace rubato::tick

#pragma once
// Outputs: what a run leaves on the disk: CSV, VTK and PNG of the last state or of every n-th tick,
// for every model, in the simulator and on a real job.
//
//   OutputOptions output;
//   output.declare(parameters);                        --output DIR, --format csv,png, --every N
//   SimulationOptions options; ..                      or ExecutionOptions
//   const auto outputs = add_outputs(options, output); before simulate(); or (options, output,
//   host) const RunResult result = simulate(problem, policy, ticks, options); for (const
//   std::string& file : outputs->files()) ..
//
// Files of the last state are DIR/NAME.csv, .vti (grids), .vtp or .pvtp (points) and .png; those of
// tick t are DIR/NAME-0000000t.csv and so on, with DIR/NAME.pvd for ParaView to open them all: in the
// folder of a run that it resumes, with the ticks that had been written before its own.
// They are equal, byte for byte, for every policy, node count and core count (but for .pvtp, which
// names a piece for each node). Each appears whole, by a rename, as soon as all nodes have written
// their part of its tick, in a job of several processes too (detail/work_folder.hpp); no node ever
// holds the state of others. What ends the run takes nothing away from the ticks that were whole.
//
// A value that is not a number ends the run with its cell or tuple and the tick.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rubato/tick/app.hpp"
#include "rubato/tick/output/detail/frame.hpp"
#include "rubato/tick/output/detail/work_folder.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::tick {

struct OutputOptions {
  std::string folder;          // "": nothing is written
  std::string formats;         // of csv, vtk and png; "": csv, and png where it is possible
  std::int64_t every = 0;      // 0: the last state only
  std::string name = "state";  // of the files: the model's

  // Adds the three parameters to those of a model; this outlives them.
  void declare(Parameters& parameters);
  // Throws Error (usage) for an unknown format or a negative interval.
  void validate() const;
};

class Outputs {
 public:
  // What of the job this process is.
  struct Process {
    std::uint32_t n_nodes = 1;  // of the job
    std::uint32_t n_local = 1;  // of them here
    bool first = true;          // it has node 0
    std::uint64_t job_id = 0;   // equal on all nodes, different between jobs
    // Of the folder and those that it is in, the last so many are new: what is empty of them at the
    // end goes. n_new_folders(), before any process of the job makes them.
    std::uint32_t n_new_folders = 0;
  };
  // Folders at the end of a path that are not there.
  [[nodiscard]] static std::uint32_t n_new_folders(const std::string& path);
  // Removes what jobs that are dead have left half written in `folder`; those that live keep theirs.
  static void remove_dead(const std::string& folder) noexcept;

  // Makes the folder, and removes what jobs that were killed have left in it. Throws Error if that
  // is impossible, or as validate().
  Outputs(OutputOptions options, Process process);
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  // Takes back the ticks that are not whole, and folders that nothing has been written to.
  ~Outputs();

  // Before the run of a node; `run` outlives this or close(). Throws Error (usage) if the model
  // cannot be written in a wanted format, naming those that it can.
  void attach(NodeId node, NodeRun& run);
  // When the node goes on as another NodeRun after an epoch; that one outlives this then, and the one
  // before it its own steps.
  void reattach(NodeId node, NodeRun& run);
  // After it.
  void finish(NodeId node, NodeRun& run);
  // When all nodes of the job have finished; on every process. Needed if there are several.
  void close();

  // The files that are there now, as paths; on the first process, and of several after close().
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  // A tick under way. Its key is the tick, or -1 for the last state.
  struct Entry {
    std::string folder;
    std::unique_ptr<detail::Frame> frame;
    std::map<NodeId, std::uint32_t> regions_left;
    std::uint32_t nodes_left = 0;
  };
  struct Node {
    std::unique_ptr<OutputSource> source;
    std::uint32_t n_own = 0;
  };

  [[nodiscard]] bool on() const noexcept { return !options_.folder.empty(); }
  [[nodiscard]] detail::FrameFormats formats_of(const OutputSchema& schema) const;
  [[nodiscard]] bool is_alone() const noexcept { return process_.n_local == process_.n_nodes; }
  [[nodiscard]] detail::FrameOptions frame_options(Tick key, Tick t) const;
  [[nodiscard]] std::string stem(Tick key) const;
  // REQUIRES: the lock.
  Entry& entry(Tick key, Tick t);
  void follow(NodeId node, NodeRun& run, std::unique_ptr<OutputSource> source);
  void take_region(NodeId node, const Node& mine, RegionId region, Tick t);
  void take_all(NodeId node, Tick key, Tick t);
  void node_done(NodeId node, Tick key);
  void commit(const Entry& tick, Tick key);
  void write_series();
  void find_earlier(Tick begin);

  // Takes new folders back if they are empty, so it goes after the work folder, which is in them.
  struct NewFolders {
    ~NewFolders();
    std::string path;
    std::uint32_t n = 0;
  };

  OutputOptions options_;
  Process process_;
  NewFolders new_folders_;
  std::unique_ptr<detail::WorkFolder> work_;  // null if nothing is written
  detail::FrameFormats formats_;
  // The same of all nodes; frames refer to it, and outlive the sources of a segment.
  std::optional<OutputSchema> schema_;
  mutable std::mutex mutex_;
  std::map<NodeId, std::shared_ptr<const Node>> nodes_;  // of this process, as they are now
  std::map<Tick, Entry> entries_;
  std::vector<Tick> keys_;  // of ticks that are whole; of several processes, of those done here
  std::string vtk_extension_;
  std::string earlier_;  // of the series: ticks before that of a checkpoint that the run began with
  Tick last_ = 0;
};

// Has simulate() or execute() write `output`; the caller keeps the result until that has returned.
// The second is collective over the nodes of `host` and throws the same Error on all of them.
[[nodiscard]] std::unique_ptr<Outputs> add_outputs(SimulationOptions& options,
                                                   const OutputOptions& output);
[[nodiscard]] std::unique_ptr<Outputs> add_outputs(ExecutionOptions& options,
                                                   const OutputOptions& output,
                                                   core::NodeHost& host);

}  // namespace rubato::tick

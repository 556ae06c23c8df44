#pragma once
// RunRecord: the folder of a run while it runs (`run --record`). It appears when there is something to
// run, says "running", and says in the end how that went; each file appears whole.
//
//   RunRecord record(file, place);                     file: all that is known before it runs
//   record.begin(host, output, checkpoint);            collective; node 0 writes
//   record.end(code, error); or record.finish(figures, report);

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "rubato/core/node_host.hpp"
#include "rubato/tick/checkpoint/checkpoints.hpp"
#include "rubato/tick/output/outputs.hpp"
#include "rubato/tools/record/run_folder.hpp"

namespace rubato::tools {

struct RecordPlace {
  std::string folder;
  // What of the run goes into it.
  bool has_output = false;
  bool has_checkpoints = false;
  bool may_go_on = false;         // what is recorded there already is a start of this run
  bool is_started_again = false;  // it is if it has this run's id of a job too
};

class RunRecord {
 public:
  RunRecord(RunFile file, RecordPlace place);
  RunRecord(const RunRecord&) = delete;
  RunRecord& operator=(const RunRecord&) = delete;
  // Without end() or finish() the run has failed.
  ~RunRecord();

  // Collective over the nodes of `host`; null: this process is all of the run. Takes the folder of
  // node 0 everywhere and puts it into the options. Throws Error on all nodes: the folder cannot be
  // written, or holds another run.
  void begin(core::NodeHost* host, tick::OutputOptions& output,
             tick::CheckpointOptions& checkpoint);

  // Of all nodes, 0: as the model cuts itself. Before begin().
  void set_pieces(std::uint32_t n_pieces) noexcept { file_.n_pieces = n_pieces; }

  // Whether begin() has begun it here, which is so on node 0 alone. The others do nothing below.
  [[nodiscard]] bool is_open() const noexcept { return is_open_; }
  [[nodiscard]] const std::string& folder() const noexcept { return place_.folder; }

  // The run is done: `figures` is a line of JSON. Throws Error if it cannot be written.
  void finish(const std::string& figures, const std::string& report);
  // It has ended with that code. After a usage error nothing has run, and a new folder goes again.
  // Throws Error as finish().
  void end(ExitCode code, const std::string& error);

 private:
  void open();
  void watch();
  void stop_watching();
  void close(RunStatus status, ExitCode code, const std::string& error);
  void remove();

  RunFile file_;
  RecordPlace place_;
  RunLock lock_;
  bool is_open_ = false;
  std::uint32_t n_new_folders_ = 0;  // at the end of the path
  // Writes at once that a signal has come: a process in a long step is ended before its run is.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool watches_ = false;
  std::thread watcher_;
};

}  // namespace rubato::tools

#pragma once
// The folder of a recorded run, and what can be seen of it from outside while it runs and later.
//
//   DIR/run.json       RunFile: configuration, versions, hosts, how it ended
//   DIR/figures.json   what `run --json` prints; of a run that is done
//   DIR/report.txt     what people see at its end
//   DIR/output         files of --format and --every
//   DIR/checkpoints    of --checkpoint-every
//   DIR/.lock          held by node 0 while the run is on
//
// A killed process says nothing: its run.json has the status "running", and nobody holds the lock.

#include <optional>
#include <string>
#include <vector>

#include "rubato/tools/record/run_file.hpp"

namespace rubato::tools {

[[nodiscard]] std::string run_file_path(const std::string& folder);
[[nodiscard]] std::string figures_path(const std::string& folder);
[[nodiscard]] std::string report_path(const std::string& folder);
[[nodiscard]] std::string output_path(const std::string& folder);
[[nodiscard]] std::string checkpoints_path(const std::string& folder);

// Where runs go that people give no folder for.
inline constexpr const char* kRunsFolder = "runs";
// runs/MODEL-ID.
[[nodiscard]] std::string default_run_folder(const std::string& model, const std::string& id);
// A name that no other run has, by which people find it: "20261121-231500-3fa9c1".
[[nodiscard]] std::string new_run_id();

// Held from the start of a run to its end, and gone with its process, however that ends.
class RunLock {
 public:
  RunLock() = default;
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  ~RunLock() { release(); }

  // False if another process holds that of this folder. Throws Error if there can be no file. A file
  // system without locks is as if nobody else were there.
  [[nodiscard]] bool try_hold(const std::string& folder);
  void release() noexcept;

  // Whether a process holds it. Where that cannot be known, true.
  [[nodiscard]] static bool is_held(const std::string& folder) noexcept;

 private:
  std::string path_;
  int fd_ = -1;
};

struct RecordedRun {
  std::string folder;
  RunFile file;  // with the status lost if the process is gone
  std::optional<RunFigures> figures{};
  std::string figures_json{};  // "" without figures
  std::string report{};        // the same
};

[[nodiscard]] bool is_run_folder(const std::string& folder);
// Throws Error that names what is missing or wrong.
[[nodiscard]] RecordedRun read_run(const std::string& folder);
// Writes DIR/run.json; it appears whole. Throws Error.
void write_run_file(const std::string& folder, const RunFile& run);

// Those in `folder`, by the time at which they began; what cannot be read is left out and said in
// `problems`, a line each. Throws Error if there is no such folder.
[[nodiscard]] std::vector<RecordedRun> list_runs(const std::string& folder,
                                                 std::vector<std::string>& problems);

// The newest whole checkpoint of the run, or "". It may have been written by any of its starts.
[[nodiscard]] std::string last_checkpoint(const RunFile& run);

// Of a job that is dead, by who has seen it die: writes how that was where node 0 could not, or did not
// know: a node that was lost ends the others by a signal. Leaves alone what is done or saved, and what
// another process runs in. Never throws.
void close_run(const std::string& folder, ExitCode code, const std::string& error) noexcept;

}  // namespace rubato::tools

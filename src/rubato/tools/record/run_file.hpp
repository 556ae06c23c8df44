#pragma once
// RunFile: what DIR/run.json says of a run that is recorded there: all that it was started with, where
// it runs, and how it has ended. One struct, written and read here, so that what is shown later is
// what was written. docs/formats.md has the fields. Pure functions of texts; run_folder.hpp has the
// files.

#include <cstdint>
#include <string>
#include <vector>

#include "rubato/base/error.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tools {

inline constexpr int kRunFileFormat = 1;

// What has become of a run.
enum class RunStatus {
  running,
  done,
  failed,
  interrupted,   // SIGINT, SIGTERM, SIGHUP
  checkpointed,  // a signal had it saved: it can be resumed
  lost,          // its process is gone and has not said why
};
[[nodiscard]] const char* to_string(RunStatus status) noexcept;
[[nodiscard]] RunStatus status_of(ExitCode code) noexcept;

struct RecordedParameter {
  std::string name;
  std::string text;             // as the run had it
  bool is_set = false;          // otherwise it is the default
  std::uint64_t file_hash = 0;  // of the file that the text names; 0: it names none

  bool operator==(const RecordedParameter&) const = default;
};

struct RecordedBuild {
  std::string version;
  std::string commit;
  std::string build_type;
  std::string compiler;
  std::vector<std::string> instruction_sets;  // that the compiler was allowed
  std::uint64_t hash = 0;                     // of the executable

  bool operator==(const RecordedBuild&) const = default;
};

// A machine, and what of the job it has.
struct RecordedHost {
  std::string name;
  std::string system;  // "Linux 6.1.0"
  std::string processor;
  std::uint32_t n_processors = 0;  // that are online
  std::uint64_t memory_bytes = 0;
  std::vector<std::uint32_t> nodes{};  // of a simulation none: they are virtual

  bool operator==(const RecordedHost&) const = default;
};

// How one start of the run has gone. A run that goes on in its own folder has several.
struct RunStart {
  std::string began;           // utc_now()
  std::string ended;           // "" while it runs, and of a lost one
  std::string checkpoint;      // that it began with; "": at tick 0
  tick::Tick begin = 0;        // the tick of that
  tick::Tick branch_tick = 0;  // Manifest::branch_tick of the run
  RunStatus status = RunStatus::running;
  int exit_code = 0;
  std::string error;  // what has ended it, or ""

  bool operator==(const RunStart&) const = default;
};

struct RunFile {
  std::string model;
  std::uint32_t model_version = 0;
  std::vector<RecordedParameter> parameters;
  std::string policy;    // its longest text form, or the name of a system (tick/sharing.hpp)
  tick::Tick ticks = 0;  // that were wanted
  tick::Tick epoch = 0;
  std::uint32_t n_pieces = 0;  // 0: the model is cut by its part()
  // How the work is shared anew at epochs; "default": as the model can, "": not known, of before.
  std::string balance;
  std::uint64_t seed = 0;
  std::uint64_t net_seed = 0;
  std::string profile;
  bool is_simulated = false;
  bool is_paced = false;
  double slowdown = 1;
  std::string slow_nodes;  // that have one of their own, "4@0,3@7", or ""
  std::uint32_t n_nodes = 0;
  std::uint32_t n_cores = 0;         // of each
  std::vector<std::string> command;  // of node 0
  std::string folder;                // that it was called in
  std::string output;                // folders, or ""
  std::string checkpoints;
  std::string trace;  // file, or ""
  // Of the launcher that starts it again when a node is lost; the same in all of its starts. "": none.
  std::string job;
  RecordedBuild build;
  std::string mpi;  // with its version; "": none
  std::vector<RecordedHost> hosts;
  RunStart start;                 // the last
  std::vector<RunStart> earlier;  // the first one first

  bool operator==(const RunFile&) const = default;
};

// An object of JSON in one line.
[[nodiscard]] std::string to_json(const RunFile& run);
// Throws Error that names `path` and the field: no JSON, another format, a field that is missing or of
// another kind.
[[nodiscard]] RunFile parse_run_file(const std::string& text, const std::string& path);

// What of DIR/figures.json, the line that `run --json` prints, is shown in lists and comparisons.
struct NodeShare {
  std::uint32_t node = 0;
  std::string host;
  double waiting = 0;  // of its cores' time
};
struct RunFigures {
  tick::Tick begin = 0;
  tick::Tick ticks = 0;  // at which it ended
  bool stopped = false;
  double wall_s = 0;
  double ticks_per_second = 0;
  double waiting_share = 0;
  std::string checksum;
  std::uint64_t n_messages = 0;
  std::uint64_t n_bytes = 0;
  std::int64_t n_epochs = 0;
  std::int64_t bytes_moved = 0;
  std::vector<NodeShare> nodes{};
};
// Throws Error as parse_run_file() does.
[[nodiscard]] RunFigures parse_figures(const std::string& text, const std::string& path);

}  // namespace rubato::tools

#pragma once
// The guard: a small process around each node of a launched job, the same for every MPI. It starts
// the program, waits, and says on standard error how the node ended, in a line that only `rubato
// launch` reads. MPIs report a lost process in different words, without its rank or its host, or
// not at all.
//
// A guard ends with its launcher, its program ends with the guard: nothing survives a killed
// mpirun.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::tools {

// How a node ended, if not well.
struct NodeEnd {
  int node = -1;  // rank; -1 if no launcher has said it
  std::string host;
  int exit_code = 0;
  int signal = 0;  // that killed it, or 0
};

// Runs `program` under guard and returns the code to exit with: the program's own, or 128 + signal.
// SIGTERM, SIGINT and SIGHUP are passed on as SIGTERM; a program that lives on is killed after
// kGraceMs. SIGUSR1 is passed on as it is. REQUIRES: a process with one thread.
[[nodiscard]] int run_guarded(const std::vector<std::string>& program);

inline constexpr int kGraceMs = 1000;

// The guard's line, and back. The line may be glued to another one: it is found anywhere in `text`.
[[nodiscard]] std::string to_report(const NodeEnd& end);
[[nodiscard]] std::optional<NodeEnd> parse_report(std::string_view text);

// "node 2 (host-3)", "a node (host-3)" if its rank is unknown.
[[nodiscard]] std::string describe(const NodeEnd& end);

// Whether this process is a node that `rubato launch` or `rubato lab` has started.
[[nodiscard]] bool is_guarded_node() noexcept;

// A line for people that several nodes may say alike, each before it knows of the others: marked
// for the launcher, which shows it once (output_filter.hpp), if this process is a guarded node that
// writes to the launcher; otherwise as it is.
inline constexpr std::string_view kOnceMark = "rubato-once:";
[[nodiscard]] std::string say_once(const std::string& line);

// A folder of output, said by a guarded node when it begins to write there: what nodes that are
// killed leave half done in it, the launcher removes when all of the job has ended. "" if this
// process is no guarded node.
[[nodiscard]] std::string output_report(const std::string& folder);
[[nodiscard]] std::optional<std::string> parse_output_report(std::string_view line);

// The folder of a recorded run, said by a guarded node when it has begun there: how a job has ended that
// was killed, or was told to end, its launcher writes there (record/run_folder.hpp). As output_report().
[[nodiscard]] std::string record_report(const std::string& folder);
[[nodiscard]] std::optional<std::string> parse_record_report(std::string_view line);

// The folder of a journal, said by a guarded node when its run begins to write there, and the command
// that goes on with it, up to the folder. As output_report().
struct JournalReport {
  std::string folder;
  std::string command;
};
[[nodiscard]] std::string journal_report(const std::string& folder, const std::string& command);
[[nodiscard]] std::optional<JournalReport> parse_journal_report(std::string_view line);

// Said by a guarded node that SIGUSR1 has save its run and end with ExitCode::checkpointed: the first
// SIGTERM to the launcher becomes that. "" if this process is no guarded node.
[[nodiscard]] std::string saves_report();
[[nodiscard]] bool is_saves_report(std::string_view line);

}  // namespace rubato::tools

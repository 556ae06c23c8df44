#include "rubato/tools/launch/guard.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/base/time.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::tools {
namespace {

constexpr std::string_view kMark = "rubato-guard:";
constexpr std::string_view kOutput = " output ";
constexpr std::string_view kRecord = " record ";
constexpr std::string_view kJournal = " journal ";
const std::string kBehindFolder = "\t";
constexpr std::string_view kSaves = " saves";
constexpr const char* kGuarded = "RUBATO_GUARDED";  // in the environment of a node
constexpr int kCannotRun = 127;                     // as shells have it

// The rank that the launcher has put into the environment.
int rank_of_environment() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return -1;
}

// Whether this process is a guarded node whose words go through its launcher.
bool writes_to_launcher() {
  struct stat info {};
  return is_guarded_node() && fstat(STDERR_FILENO, &info) == 0 &&
         (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

[[noreturn]] void become(const std::vector<std::string>& program, pid_t guard,
                         const sigset_t& mask) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A group of its own, so that what the program has started can be ended with it.
  setpgid(0, 0);
  if (getppid() != guard) _exit(kCannotRun);  // the guard died before the line above
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execute(program);
  const std::string message =
      "rubato: cannot run " + program[0] + ": " + std::strerror(errno) + "\n";
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, message.data(), message.size());
  _exit(kCannotRun);
}

// Waits for the child, passing signals on; returns its wait status. `told` becomes true if the job
// was asked to end from outside, so that the child's death is no news.
int wait_for(pid_t child, int signals, bool& told) {
  Nanos deadline = kNever;
  while (true) {
    pollfd event = {.fd = signals, .events = POLLIN, .revents = 0};
    const Nanos left = deadline == kNever ? 0 : (deadline - steady_now()) / kMillisecond;
    const int timeout = deadline == kNever ? -1 : static_cast<int>(std::max<Nanos>(0, left));
    if (poll(&event, 1, timeout) == 0) {
      kill(-child, SIGKILL);
      deadline = kNever;
    }
    signalfd_siginfo info{};
    while (read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGCHLD) continue;
      if (info.ssi_signo == SIGUSR1) {
        kill(child, SIGUSR1);
        continue;
      }
      if (!told) deadline = steady_now() + kGraceMs * kMillisecond;
      told = true;
      kill(-child, SIGTERM);
    }
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return status;
  }
}

std::string folder_report(std::string_view what, const std::string& folder) {
  if (folder.empty() || !writes_to_launcher()) return "";
  return std::string(kMark) + std::string(what) + std::filesystem::absolute(folder).string() + "\n";
}

std::optional<std::string> parse_folder_report(std::string_view what, std::string_view line) {
  const std::string mark = std::string(kMark) + std::string(what);
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return std::string(line.substr(at + mark.size()));
}

}  // namespace

int run_guarded(const std::vector<std::string>& program) {
  RUBATO_REQUIRE(!program.empty());
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  setenv(kGuarded, "1", 1);
  sigset_t set;
  sigset_t old;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1})
    sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, &old);
  const int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  const pid_t guard = getpid();
  const pid_t child = fork();
  if (signals < 0 || child < 0) {
    throw Error(std::string("cannot start a process: ") + std::strerror(errno), ExitCode::failed);
  }
  if (child == 0) become(program, guard, old);
  setpgid(child, child);
  bool told = false;
  const int status = wait_for(child, signals, told);
  // What a failed program leaves behind would hold the job's output open, and a launcher waits for
  // it.
  if (status != 0) kill(-child, SIGKILL);
  const int code = exit_code_of(status);
  if (code != 0 && !told) {
    const NodeEnd end = {.node = rank_of_environment(),
                         .host = host_name(),
                         .exit_code = WIFEXITED(status) ? code : 0,
                         .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    const std::string line = to_report(end) + "\n";  // one write: lines of nodes do not mix
    [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, line.data(), line.size());
  }
  return code;
}

bool is_guarded_node() noexcept {
  return std::getenv(kGuarded) != nullptr;
}

std::string say_once(const std::string& line) {
  return writes_to_launcher() ? std::string(kOnceMark) + line : line;
}

std::string output_report(const std::string& folder) {
  return folder_report(kOutput, folder);
}

std::string record_report(const std::string& folder) {
  return folder_report(kRecord, folder);
}

std::string journal_report(const std::string& folder, const std::string& command) {
  std::string line = folder_report(kJournal, folder);
  if (!line.empty()) line.insert(line.size() - 1, kBehindFolder + command);
  return line;
}

std::optional<JournalReport> parse_journal_report(std::string_view line) {
  const auto found = parse_folder_report(kJournal, line);
  const std::size_t at = found ? found->find(kBehindFolder) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  return JournalReport{found->substr(0, at), found->substr(at + kBehindFolder.size())};
}

std::string saves_report() {
  return writes_to_launcher() ? std::string(kMark) + std::string(kSaves) + "\n" : "";
}

bool is_saves_report(std::string_view line) {
  return line.find(std::string(kMark) + std::string(kSaves)) != std::string_view::npos;
}

std::optional<std::string> parse_output_report(std::string_view line) {
  return parse_folder_report(kOutput, line);
}

std::optional<std::string> parse_record_report(std::string_view line) {
  return parse_folder_report(kRecord, line);
}

std::string to_report(const NodeEnd& end) {
  return std::string(kMark) + " node " + std::to_string(end.node) + " exit " +
         std::to_string(end.exit_code) + " signal " + std::to_string(end.signal) + " host " +
         end.host;
}

std::optional<NodeEnd> parse_report(std::string_view text) {
  const std::size_t at = text.find(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string report(text.substr(at + kMark.size()));
  NodeEnd end;
  char host[256] = {};
  if (std::sscanf(report.c_str(), " node %d exit %d signal %d host %255s", &end.node,
                  &end.exit_code, &end.signal, host) != 4) {
    return std::nullopt;
  }
  end.host = host;
  return end;
}

std::string describe(const NodeEnd& end) {
  const std::string node = end.node < 0 ? "a node" : "node " + std::to_string(end.node);
  return node + " (" + end.host + ")";
}

}  // namespace rubato::tools

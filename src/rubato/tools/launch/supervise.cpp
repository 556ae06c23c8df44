#include "rubato/tools/launch/supervise.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/base/time.hpp"
#include "rubato/tick/output/outputs.hpp"
#include "rubato/tools/flow/go_on.hpp"
#include "rubato/tools/launch/output_filter.hpp"
#include "rubato/tools/process.hpp"
#include "rubato/tools/record/run_folder.hpp"
#include "rubato/tools/terminal.hpp"

namespace rubato::tools {
namespace {

// A launcher that has not ended its nodes by then is killed, and its guards end them.
constexpr Nanos kLauncherGrace = 1200 * kMillisecond;
// After the first node has failed, a launcher may take that long to notice, before it is told.
// Telling one that has noticed makes Open MPI complain, so it is longer than its own limits.
constexpr Nanos kNoticeGrace = 4000 * kMillisecond;
// How long processes of the job may outlive their launcher; how often killed guards are looked for.
constexpr Nanos kOrphanGrace = 300 * kMillisecond;
constexpr int kIdleMs = 50;  // an unfinished line is shown after that long

// False if the text is lost.
[[nodiscard]] bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EAGAIN) {
      pollfd room = {.fd = fd, .events = POLLOUT, .revents = 0};
      poll(&room, 1, kIdleMs);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// One stream of the launcher on its way to ours.
struct Stream {
  int from = -1;  // -1 at its end
  int to = -1;
  OutputFilter filter;
  bool lossy = false;  // something could not be written; the job goes on, and fails at its end

  void show(std::string_view text) { lossy |= !write_all(to, text); }
  void pump() {
    char buffer[1 << 16];
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n > 0) {
      show(filter.feed({buffer, static_cast<std::size_t>(n)}));
    } else if (n == 0 || errno != EINTR) {
      show(filter.flush());
      close(from);
      from = -1;
    }
  }
};

sigset_t heeded_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1})
    sigaddset(&set, signal);
  return set;
}

class Supervisor {
 public:
  explicit Supervisor(const std::vector<std::string>& words) {
    const sigset_t set = heeded_signals();
    signals_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    int out[2];
    int err[2];
    // Orphans of the job become our children, so that we see when the last one is gone.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (signals_ < 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) fail("start");
    child_ = fork();
    if (child_ < 0) fail("start");
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      // A group of its own: the terminal's Ctrl-C comes to us alone, and is passed on once.
      setpgid(0, 0);
      // Outside the terminal's own group a launcher that reads it would be stopped for ever.
      if (is_terminal(STDIN_FILENO)) dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      sigprocmask(SIG_UNBLOCK, &set, nullptr);
      execute(words);
      _exit(127);
    }
    setpgid(child_, child_);
    close(out[1]);
    close(err[1]);
    streams_ = {Stream{out[0], STDOUT_FILENO, {}, false}, Stream{err[0], STDERR_FILENO, {}, false}};
  }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor() { close(signals_); }

  // The launcher's exit code. Nothing of the job is alive on this machine when it returns, and what
  // killed nodes have left half written is gone.
  int wait() {
    while (!all_ended_ || streams_[0].from >= 0 || streams_[1].from >= 0) {
      step();
      if (!ended_ || steady_now() - ended_at_ < kOrphanGrace) continue;
      kill_orphans();
      // A process that has left the job's family may hold a stream open: it is not waited for.
      if (all_ended_ && steady_now() - ended_at_ > 2 * kOrphanGrace) break;
    }
    for (Stream& stream : streams_) {
      stream.show(stream.filter.flush());
      for (const std::string& folder : stream.filter.outputs())
        tick::Outputs::remove_dead(folder);
    }
    return exit_code_of(status_);
  }

  // To people.
  static void say(const std::string& text) { static_cast<void>(write_all(STDERR_FILENO, text)); }
  [[nodiscard]] int received() const noexcept { return received_; }
  [[nodiscard]] bool told_to_end() const noexcept { return received_ != 0 || asked_to_save_; }
  // Some of the job's data did not get through to our standard output.
  // It was asked to have checkpoints taken, by nodes that do so, and has passed that on.
  [[nodiscard]] bool has_passed_ask() const noexcept { return has_passed_ask_; }
  [[nodiscard]] bool lost_data() const noexcept { return streams_[0].lossy; }
  // Folders that runs of the job are recorded in.
  [[nodiscard]] std::set<std::string> records() const {
    std::set<std::string> all = streams_[0].filter.records();
    const auto& more = streams_[1].filter.records();
    all.insert(more.begin(), more.end());
    return all;
  }
  [[nodiscard]] const std::vector<JournalReport>& journals() const noexcept {
    return streams_[1].filter.journals();
  }
  [[nodiscard]] std::vector<NodeEnd> ends() const {
    std::vector<NodeEnd> all = streams_[0].filter.ends();
    const auto& more = streams_[1].filter.ends();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw Error(std::string("cannot ") + what + " the launcher: " + std::strerror(errno),
                ExitCode::failed);
  }

  void step() {
    std::array<pollfd, 3> events = {pollfd{signals_, POLLIN, 0},
                                    pollfd{streams_[0].from, POLLIN, 0},
                                    pollfd{streams_[1].from, POLLIN, 0}};
    const int n_ready = poll(events.data(), events.size(), kIdleMs);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i].from < 0) continue;
      if ((events[i + 1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) streams_[i].pump();
      if (n_ready == 0) streams_[i].show(streams_[i].filter.flush());
    }
    take_signals();
    if (asked_to_save_ && !has_passed_ask_ && nodes_save()) {
      // Both launchers pass it on to the guards.
      has_passed_ask_ = true;
      kill(child_, SIGUSR1);
    }
    end_in_time(steady_now());
    end_orphans_of_guards(steady_now());
  }

  // A guard that was killed no longer ends what its node has started, which holds the streams of the
  // launcher open: MPICH's waits for their end, and does not see before that a node was lost.
  void end_orphans_of_guards(Nanos now) {
    if (ended_ || now - looked_at_ < kOrphanGrace) return;
    looked_at_ = now;
    const std::vector<pid_t> children = children_of("self");
    const bool has_orphans =
        std::ranges::any_of(children, [this](pid_t each) { return each != child_; });
    if (!has_orphans) return;
    const Guards guards = guards_of(child_);
    if (guards.was_killed || !guards.is_any) kill_orphans();
  }

  [[nodiscard]] static std::vector<pid_t> children_of(const std::string& process) {
    std::vector<pid_t> all;
    std::error_code ignored;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + process + "/task", ignored)) {
      std::ifstream children(task.path() / "children");
      for (pid_t pid = 0; children >> pid;)
        all.push_back(pid);
    }
    return all;
  }

  struct Guards {
    bool is_any = false;      // some live
    bool was_killed = false;  // one by a signal, and the launcher has not reaped it
  };
  // Below that process.
  [[nodiscard]] static Guards guards_of(pid_t pid) {
    Guards all;
    for (const pid_t each : children_of(std::to_string(pid))) {
      const std::string folder = "/proc/" + std::to_string(each);
      std::ifstream file(folder + "/stat");
      std::string text;
      std::getline(file, text);
      // Behind the name, which may have spaces: the state first; the status of wait() last.
      const std::size_t at = text.rfind(") ");
      if (at != std::string::npos && text.compare(at + 2, 1, "Z") == 0) {
        all.was_killed |= WIFSIGNALED(std::atoi(text.c_str() + text.rfind(' ') + 1));
        continue;
      }
      std::error_code ignored;
      all.is_any |= std::filesystem::read_symlink(folder + "/exe", ignored) == own_path();
      const Guards below = guards_of(each);
      all.is_any |= below.is_any;
      all.was_killed |= below.was_killed;
    }
    return all;
  }

  [[nodiscard]] bool nodes_save() const {
    return streams_[0].filter.saves() || streams_[1].filter.saves();
  }

  // Ends the launcher if a node has failed or we were told to end, gently first.
  void end_in_time(Nanos now) {
    if (ended_) return;
    if (failed_at_ != kNever || told_at_ != kNever) {
      for (Stream& stream : streams_)
        stream.filter.ignore_launcher(child_);
    }
    if (failed_at_ == kNever &&
        !(streams_[0].filter.ends().empty() && streams_[1].filter.ends().empty())) {
      failed_at_ = now;
    }
    if (told_at_ == kNever && failed_at_ != kNever && now - failed_at_ > kNoticeGrace) {
      kill(-child_, SIGTERM);
      told_at_ = now;
    }
    if (told_at_ != kNever && now - told_at_ > kLauncherGrace) kill(-child_, SIGKILL);
  }

  void take_signals() {
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGCHLD) continue;
      const bool is_hangup = info.ssi_signo == SIGHUP;
      // The shell says it, and the kernel.
      if (is_hangup && std::exchange(has_hung_up_, true)) continue;
      const bool is_end = is_hangup || info.ssi_signo == SIGTERM;
      if (info.ssi_signo == SIGUSR1 || (is_end && nodes_save() && !asked_to_save_)) {
        asked_to_save_ = true;
        continue;
      }
      if (received_ == 0) {
        received_ = static_cast<int>(info.ssi_signo);
        told_at_ = steady_now();
        streams_[1].show(std::string(is_terminal(STDERR_FILENO) ? "\n" : "") +
                         "rubato: " + (received_ == SIGINT ? "interrupted" : "terminated") +
                         ", ending all nodes\n");
      }
      kill(-child_, SIGTERM);
    }
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid != child_) continue;
      ended_ = true;
      ended_at_ = steady_now();
      status_ = status;
    }
    all_ended_ = pid < 0 && errno == ECHILD;
  }

  // What has lost its parents; not the launcher.
  void kill_orphans() const {
    for (const pid_t pid : children_of("self")) {
      if (pid != child_ || ended_) kill(pid, SIGKILL);
    }
  }

  pid_t child_ = -1;
  const HeldSignals held_;
  int signals_ = -1;
  bool asked_to_save_ = false;
  bool has_passed_ask_ = false;
  bool has_hung_up_ = false;
  std::array<Stream, 2> streams_;
  int status_ = 0;
  bool ended_ = false;      // the launcher
  bool all_ended_ = false;  // all that it has started here
  Nanos ended_at_ = 0;
  Nanos looked_at_ = 0;       // for killed guards
  int received_ = 0;          // the first signal that asked us to end
  Nanos failed_at_ = kNever;  // when a node was first seen to have failed
  Nanos told_at_ = kNever;    // when the launcher was first told to end
};

// A broken invariant ends by abort() after its message: the run has failed, no node was lost.
bool is_lost(const NodeEnd& end) {
  return end.signal != 0 && end.signal != SIGABRT;
}

// The job's exit code, or an Error that says why there is none.
int judge(const Supervisor& supervisor, int code) {
  if (supervisor.received() == SIGINT) return static_cast<int>(ExitCode::interrupted);
  if (supervisor.received() != 0) return static_cast<int>(ExitCode::terminated);
  const std::vector<NodeEnd> ends = supervisor.ends();
  // A lost node makes others fail: it comes first, whatever was reported first.
  for (const NodeEnd& end : ends) {
    if (!is_lost(end)) continue;
    throw Error(describe(end) + " was lost: killed by signal " + std::to_string(end.signal) + " (" +
                    strsignal(end.signal) + ")",
                ExitCode::node_lost);
  }
  for (const NodeEnd& end : ends) {
    if (end.signal == SIGABRT) {
      throw Error(describe(end) + " has aborted: its message stands above", ExitCode::failed);
    }
    if (end.exit_code != 0) return end.exit_code;
  }
  // It was asked to save when all nodes had ended, and no longer passed that on.
  if (supervisor.has_passed_ask() && code == 128 + SIGUSR1) return 0;
  // A guard was killed: Open MPI adds 128 to the signal, Hydra of MPICH gives it as it is. A program's
  // own code 9 is said by its guard.
  if (code > 128 || code == SIGKILL) {
    throw Error("a node was lost: the launcher ended with exit code " + std::to_string(code) +
                    " and no node said why",
                ExitCode::node_lost);
  }
  if (code == 0 && supervisor.lost_data()) {
    throw Error("writing to standard output failed: is the disk full?", ExitCode::failed);
  }
  return code;
}

// The nodes are gone.
void say_how_to_go_on(const Supervisor& supervisor, const std::string& launch) {
  for (const JournalReport& journal : supervisor.journals()) {
    try {
      Supervisor::say(how_to_go_on(journal.folder, launch + journal.command));
    } catch (const Error&) {
      // It is on another machine, or nothing was written.
    }
  }
}

}  // namespace

HeldSignals::HeldSignals() {
  const sigset_t set = heeded_signals();
  sigprocmask(SIG_BLOCK, &set, &old_);
}

HeldSignals::~HeldSignals() {
  sigprocmask(SIG_SETMASK, &old_, nullptr);
}

JobEnd supervise(const std::vector<std::string>& words, const std::string& launch,
                 bool starts_again) {
  RUBATO_REQUIRE(!words.empty());
  Supervisor supervisor(words);
  const int launcher_code = supervisor.wait();
  JobEnd end;
  end.told_to_end = supervisor.told_to_end();
  try {
    end.code = judge(supervisor, launcher_code);
  } catch (const Error& error) {
    end.code = static_cast<int>(error.code());
    end.error = error.what();
  }
  for (const std::string& folder : supervisor.records())
    close_run(folder, static_cast<ExitCode>(end.code), end.error);
  const bool lost_for_good = end.lost_a_node() && (!starts_again || end.told_to_end);
  if (supervisor.received() != 0 || lost_for_good) say_how_to_go_on(supervisor, launch);
  return end;
}

}  // namespace rubato::tools

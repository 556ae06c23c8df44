#include "rubato/flow/program/detail/watch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/flow/program/detail/process_tree.hpp"

namespace rubato::flow::program_detail {
namespace {

// How often a wait looks again at what cannot be waited for: the rest of a group, and the program
// itself on a system without pidfd_open.
constexpr Nanos kGroupLook = 10 * kMillisecond;
constexpr Nanos kProgramLook = 2 * kMillisecond;
constexpr Nanos kEnoughLook = 10 * kMillisecond;
// After SIGKILL: a process in the kernel's hands (a dead file server) may outlive any patience.
constexpr Nanos kKillPatience = 5 * kSecond;

// Runs, is asked to end, is killed; the leader may end at any time.
class Watcher {
 public:
  Watcher(Child& child, const WatchPlan& plan) : child_(child), plan_(plan), strays_(child.pid) {}

  Watched run() {
    while (!is_over()) {
      wait();
      act();
    }
    // What the program left behind. Its own number is not free before it is reaped, so the group is
    // the right one; a fork that is under way sees the signal and fails.
    ::kill(-child_.pid, SIGKILL);
    // What is in the pipe by now, and no more: somebody else may still write to it.
    for (std::size_t n = 0; n < kPipeReads && read_errors(); ++n) {
    }
    result_.known = ::wait4(child_.pid, &result_.status, 0, &result_.usage) == child_.pid;
    result_.last_errors = last_lines(errors_, kLastErrorsBytes);
    return std::move(result_);
  }

 private:
  enum class Phase { running, asked, killed };
  static constexpr std::size_t kReadBytes = 4096;
  static constexpr std::size_t kPipeReads = 32;

  [[nodiscard]] bool is_over() const {
    if (!leader_ended_) return false;
    if (phase_ == Phase::running) return true;
    const bool all_ended = !group_lives(child_.pid) && !strays_.live();
    return all_ended || (phase_ == Phase::killed && plan_.clock() >= given_up_at_);
  }

  [[nodiscard]] Nanos patience() const {
    Nanos patience = kNever;
    if (phase_ == Phase::running && plan_.deadline != kNever) {
      patience = std::max<Nanos>(0, plan_.deadline - plan_.clock());
    }
    if (phase_ == Phase::running && plan_.has_enough) patience = std::min(patience, kEnoughLook);
    // Not the whole grace at once: a second kill_all() may make it shorter.
    if (phase_ == Phase::asked || leader_ended_) patience = kGroupLook;
    if (!leader_ended_ && !child_.end.open()) patience = std::min(patience, kProgramLook);
    return patience;
  }

  void wait() {
    std::array<pollfd, 3> events{};
    // Negative descriptors are passed over.
    events[0] = {leader_ended_ ? -1 : child_.end.get(), POLLIN, 0};
    events[1] = {child_.errors.get(), POLLIN, 0};
    events[2] = {phase_ == Phase::running ? plan_.stop_fd : -1, POLLIN, 0};
    const Nanos left = patience();
    timespec time{};
    time.tv_sec = left / kSecond;
    time.tv_nsec = left % kSecond;
    if (::ppoll(events.data(), events.size(), left == kNever ? nullptr : &time, nullptr) < 0) {
      return;  // a signal: everything is looked at again
    }
    if (events[1].revents != 0) read_errors();
    stop_seen_ = stop_seen_ || events[2].revents != 0;
    if (events[0].revents != 0) leader_ended_ = true;
    if (!leader_ended_ && !child_.end.open()) leader_ended_ = has_ended();
  }

  [[nodiscard]] bool has_ended() const {
    siginfo_t info{};
    const int got =
        ::waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOHANG | WNOWAIT);
    return got != 0 || info.si_pid == child_.pid;
  }

  void act() {
    if (phase_ == Phase::running && leader_ended_) return;  // an end beats a time-out
    if (phase_ == Phase::running) {
      const bool late = plan_.deadline != kNever && plan_.clock() >= plan_.deadline;
      if (!stop_seen_ && !late) {
        // It is given no time, in which it would go on.
        result_.had_enough = plan_.has_enough && plan_.has_enough();
        return result_.had_enough ? kill() : void();
      }
      result_.stopped = stop_seen_;
      result_.timed_out = !stop_seen_;
      ask();
    }
    if (phase_ == Phase::asked && plan_.clock() - asked_at_ >= plan_.grace->load()) {
      kill();
    }
  }

  void kill() {
    strays_.look();
    ::kill(-child_.pid, SIGKILL);
    strays_.send(SIGKILL);
    phase_ = Phase::killed;
    given_up_at_ = plan_.clock() + kKillPatience;
  }

  void ask() {
    strays_.look();
    // A program that was stopped could not hear.
    for (const int signal : {SIGTERM, SIGCONT}) {
      ::kill(-child_.pid, signal);
      strays_.send(signal);
    }
    phase_ = Phase::asked;
    asked_at_ = plan_.clock();
  }

  // One piece of the pipe; false if there is none now.
  bool read_errors() {
    if (!child_.errors.open()) return false;
    std::array<char, kReadBytes> bytes{};
    const ssize_t n = ::read(child_.errors.get(), bytes.data(), bytes.size());
    if (n < 0) return false;
    if (n == 0) {
      child_.errors.close();
      return false;
    }
    const auto n_bytes = static_cast<std::size_t>(n);
    errors_.append(bytes.data(), n_bytes);
    // One byte more than is kept shows whether the first line is whole.
    if (errors_.size() > kLastErrorsBytes + 1) {
      errors_.erase(0, errors_.size() - kLastErrorsBytes - 1);
    }
    // The node's own errors may go nowhere; that is no concern of the program.
    if (plan_.errors_passed_on && ::write(STDERR_FILENO, bytes.data(), n_bytes) < 0) return true;
    return true;
  }

  Child& child_;
  WatchPlan plan_;
  Strays strays_;
  Watched result_;
  Phase phase_ = Phase::running;
  Nanos asked_at_ = 0;
  Nanos given_up_at_ = kNever;
  bool leader_ended_ = false;
  bool stop_seen_ = false;
  std::string errors_;
};

}  // namespace

Watched watch(Child& child, const WatchPlan& plan) {
  return Watcher(child, plan).run();
}

std::string last_lines(const std::string& text, std::size_t n_bytes) {
  std::string end = text;
  if (end.size() > n_bytes) {
    const bool cut = end[end.size() - n_bytes - 1] != '\n';
    end.erase(0, end.size() - n_bytes);
    const std::size_t line = cut ? end.find('\n') : std::string::npos;
    if (line != std::string::npos && line + 1 < end.size()) end.erase(0, line + 1);
  }
  while (!end.empty() && end.back() == '\n')
    end.pop_back();
  return end;
}

}  // namespace rubato::flow::program_detail

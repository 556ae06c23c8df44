#include "rubato/flow/program/program.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <optional>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/flow/program/detail/spawn.hpp"
#include "rubato/flow/program/detail/warden.hpp"
#include "rubato/flow/program/detail/watch.hpp"

namespace rubato::flow {
namespace {

constexpr int kNoAnswer = 124;  // what timeout(1) says
constexpr int kUnusable = 126;
constexpr int kSignalled = 128;
constexpr std::size_t kShownBytes = 200;
constexpr Nanos kLongPause = kSecond * 24 * 3600;  // a longer one is as good as for ever

// The words as a shell would take them, cut where a reader has had enough.
std::string shown(const ProgramCall& call) {
  constexpr const char* kSpecial = " \t\n\"'\\$&|;<>()*?[]{}#~`!";
  std::string text;
  for (const std::string& word : call.words) {
    if (!text.empty()) text += ' ';
    const bool plain = !word.empty() && word.find_first_of(kSpecial) == std::string::npos;
    text += plain ? word : "'" + word + "'";
  }
  if (text.size() > kShownBytes) {
    text.resize(kShownBytes);
    // Not within a character.
    while ((static_cast<unsigned char>(text.back()) & 0x80U) != 0)
      text.pop_back();
    text += "...";
  }
  return text;
}

std::string seconds(Nanos duration) {
  std::string text = std::to_string(duration / kMillisecond);
  text.insert(0, text.size() < 4 ? 4 - text.size() : 0, '0');
  return text.insert(text.size() - 3, ".") + " s";
}

std::string name_of_signal(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

Nanos nanos(const timeval& time) {
  return Nanos{time.tv_sec} * kSecond + Nanos{time.tv_usec} * kMicrosecond;
}

// How it ended, after the name of the program; "" if it ended well.
std::string fate_of(const program_detail::Watched& watched, const ProgramCall& call, Nanos grace) {
  if (!watched.known) return "ended, but its exit code was taken by another part of the node";
  std::string fate;
  if (WIFSIGNALED(watched.status)) {
    fate = "was ended by " + name_of_signal(WTERMSIG(watched.status));
    if (WCOREDUMP(watched.status)) fate += " (core dumped)";
    const bool by_us = watched.timed_out || watched.stopped || watched.had_enough;
    if (WTERMSIG(watched.status) == SIGKILL && !by_us) {
      fate += ", which this node did not send: it may be for want of memory";
    } else if (WTERMSIG(watched.status) == SIGKILL && !watched.had_enough) {
      fate += ", since it did not end within " + seconds(grace) + " after SIGTERM";
    }
  } else if (WEXITSTATUS(watched.status) != 0 || watched.timed_out || watched.stopped) {
    fate = "ended with code " + std::to_string(WEXITSTATUS(watched.status));
  }
  if (watched.timed_out) fate += ": its time of " + seconds(call.timeout) + " was over";
  if (watched.stopped) fate += ": the run was stopped";
  return fate;
}

int code_of(const program_detail::Watched& watched) {
  if (!watched.known) return kUnusable;
  if (WIFSIGNALED(watched.status)) return kSignalled + WTERMSIG(watched.status);
  const int code = WEXITSTATUS(watched.status);
  if (code != 0) return code;
  if (watched.stopped) return kSignalled + SIGTERM;
  return watched.timed_out ? kNoAnswer : 0;
}

ProgramEnd end_of(const program_detail::Watched& watched, const ProgramCall& call, Nanos grace) {
  ProgramEnd end;
  end.code = code_of(watched);
  end.started = true;
  end.timed_out = watched.timed_out;
  end.stopped = watched.stopped;
  end.had_enough = watched.had_enough;
  end.last_errors = watched.last_errors;
  end.processor = nanos(watched.usage.ru_utime) + nanos(watched.usage.ru_stime);
  end.resident_bytes_max = std::int64_t{watched.usage.ru_maxrss} * 1024;
  const std::string fate = fate_of(watched, call, grace);
  if (!fate.empty()) end.problem = shown(call) + " " + fate;
  if (!fate.empty() && !end.last_errors.empty()) {
    end.problem += "; the last lines of its errors:\n" + end.last_errors;
  }
  return end;
}

ProgramEnd stopped_before(const ProgramCall& call) {
  ProgramEnd end;
  end.code = kSignalled + SIGTERM;
  end.stopped = true;
  end.problem = shown(call) + " was not begun: the run was stopped";
  return end;
}

std::uint32_t default_at_once(const program_detail::NodeState& node) {
  // A machine with more processors than the set holds leaves it empty.
  const int known = CPU_COUNT(&node.processors);
  const auto online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return 2 * static_cast<std::uint32_t>(std::max(1, known > 0 ? known : online));
}

}  // namespace

// One of the n_at_once, held for the time of a program. Also counts the thread as inside.
class Launcher::Slot {
 public:
  explicit Slot(Launcher& launcher) : launcher_(launcher) {
    std::unique_lock lock(launcher_.mutex_);
    ++launcher_.n_inside_;
    launcher_.slot_free_.wait(lock,
                              [this] { return launcher_.stopping_ || !launcher_.places_.empty(); });
    if (launcher_.stopping_) return;
    place_ = launcher_.places_.back();
    launcher_.places_.pop_back();
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() {
    // Notified under the lock: after it, the launcher may be gone.
    const std::lock_guard lock(launcher_.mutex_);
    if (place_) launcher_.places_.push_back(*place_);
    launcher_.slot_free_.notify_one();
    if (--launcher_.n_inside_ == 0) launcher_.left_.notify_all();
  }

  // None: the run was stopped first.
  [[nodiscard]] std::optional<std::uint32_t> place() const noexcept { return place_; }

 private:
  Launcher& launcher_;
  std::optional<std::uint32_t> place_;
};

Launcher::Launcher(LauncherOptions options)
    : options_(std::move(options)),
      node_(std::make_unique<const program_detail::NodeState>(options_.processors)),
      grace_(options_.grace) {
  RUBATO_REQUIRE(options_.grace >= 0 && options_.clock != nullptr, options_.grace);
  struct sigaction child {};
  ::sigaction(SIGCHLD, nullptr, &child);
  RUBATO_REQUIRE(child.sa_handler != SIG_IGN && "ends of programs are lost if SIGCHLD is ignored");
  if (options_.n_at_once == 0) options_.n_at_once = default_at_once(*node_);
  warden_ = std::make_unique<program_detail::Warden>(options_.n_at_once);
  places_.resize(options_.n_at_once);
  std::iota(places_.begin(), places_.end(), 0U);
  options_.n_start_tries = std::max(options_.n_start_tries, 1U);
}

Launcher::~Launcher() {
  kill_all();
}

ProgramEnd Launcher::run(const ProgramCall& call) {
  const Slot slot(*this);
  return slot.place() ? run_in_slot(call, *slot.place()) : stopped_before(call);
}

ProgramEnd Launcher::run_in_slot(const ProgramCall& call, std::uint32_t place) {
  const Nanos begin = options_.clock();
  ProgramEnd end;
  try {
    std::optional<program_detail::Child> child = start(call);
    if (!child.has_value()) return stopped_before(call);
    warden_->note(place, child->pid);
    const Nanos started = options_.clock();
    program_detail::WatchPlan plan;
    // Timeouts near kNever would wrap around.
    plan.deadline = call.timeout < kNever - started ? started + call.timeout : kNever;
    plan.stop_fd = node_->stop.get();
    plan.grace = &grace_;
    plan.errors_passed_on = options_.errors_passed_on;
    plan.clock = options_.clock;
    plan.has_enough = call.has_enough;
    const program_detail::Watched watched = program_detail::watch(*child, plan);
    warden_->note(place, 0);
    end = end_of(watched, call, grace_.load());
  } catch (const program_detail::StartError& error) {
    end.code = error.exit_code();
    end.problem = shown(call) + " was not begun: " + error.what();
  }
  end.wall = options_.clock() - begin;
  return end;
}

// Nothing if the run was stopped first.
std::optional<program_detail::Child> Launcher::start(const ProgramCall& call) {
  program_detail::check_call(call);
  Nanos next = kMillisecond;
  Nanos waited = 0;
  for (std::uint32_t n_tries = 1;; ++n_tries, next *= 2) {
    try {
      return program_detail::spawn(*node_, call);
    } catch (const program_detail::StartError& error) {
      if (!error.passing()) throw;
      if (n_tries >= options_.n_start_tries) {
        throw program_detail::StartError(std::string(error.what()) +
                                             " (tries: " + std::to_string(n_tries) + " within " +
                                             seconds(waited) + ")",
                                         error.exit_code(), true);
      }
    }
    if (!pause(next)) return std::nullopt;
    waited += next;
  }
}

void Launcher::kill_all(Nanos grace) {
  RUBATO_REQUIRE(grace >= 0, grace);
  std::unique_lock lock(mutex_);
  grace_.store(stopping_ ? std::min(grace, grace_.load()) : grace);
  stopping_ = true;
  const std::uint64_t one = 1;
  // Level-triggered: every watcher sees it, also those that only begin to watch. The watchers send
  // the signals, since they alone know that the number is still their program's.
  const ssize_t n = ::write(node_->stop.get(), &one, sizeof one);
  RUBATO_ASSERT(n == static_cast<ssize_t>(sizeof one), n);
  slot_free_.notify_all();
  stopped_.notify_all();
  left_.wait(lock, [this] { return n_inside_ == 0; });
}

bool Launcher::pause(Nanos duration) {
  const std::chrono::nanoseconds time(std::min(duration, kLongPause));
  std::unique_lock lock(mutex_);
  ++n_inside_;
  const bool stopped = stopped_.wait_for(lock, time, [this] { return stopping_; });
  if (--n_inside_ == 0) left_.notify_all();
  return !stopped;
}

}  // namespace rubato::flow

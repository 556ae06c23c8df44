#include "rubato/tools/progress.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <utility>

#include <fmt/format.h>

namespace rubato::tools {
namespace {

constexpr Nanos kQuiet = 2 * kSecond;
constexpr Nanos kTerminalInterval = 200 * kMillisecond;
constexpr Nanos kLogInterval = 10 * kSecond;
// Of looks at the clock, by the thread of ProgressClock.
constexpr auto kLook = std::chrono::milliseconds(200);

}  // namespace

Progress::Progress(std::ostream& err, bool is_terminal, std::string title, Nanos begin, Nanos every)
    : err_(err),
      is_terminal_(is_terminal),
      title_(std::move(title)),
      begin_(begin),
      every_(every != kUsual ? every
             : is_terminal   ? kTerminalInterval
                             : kLogInterval),
      next_(begin + (every == kUsual && is_terminal ? kQuiet : every_)) {}

Progress::~Progress() {
  clear();
}

void Progress::clear() {
  if (is_terminal_ && !line_.empty()) err_ << "\r\033[K" << std::flush;
}

void Progress::draw() {
  if (is_terminal_ && !line_.empty()) err_ << "\r\033[K" << line_ << std::flush;
}

void Progress::update(Nanos now, double part, std::string_view note, Nanos left) {
  if (now < next_) return;
  next_ = now + every_;
  std::string line = title_ + ": ";
  if (part == kUnknown) {
    line += describe_span(now - begin_) + " so far";
  } else {
    part = std::clamp(part, 0.0, 1.0);
    line += fmt::format("{:.0f} %", part * 100);
  }
  if (!note.empty()) line += fmt::format(", {}", note);
  // Below a thousandth the guess would be wild.
  if (left == kByPart && part > 1e-3) {
    left = static_cast<Nanos>(static_cast<double>(now - begin_) * (1 - part) / part);
  }
  if (left != kByPart) line += ", " + describe_span(left) + " left";
  line_ = std::move(line);
  draw();
  if (!is_terminal_) err_ << "rubato: " << line_ << '\n' << std::flush;
}

ProgressClock::ProgressClock(std::ostream& err, bool is_terminal, std::string title, Nanos begin)
    : progress_(err, is_terminal, std::move(title), begin), thread_([this] { watch(); }) {}

ProgressClock::~ProgressClock() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  end_.notify_one();
  thread_.join();
}

void ProgressClock::at(double part, std::string note) {
  const std::lock_guard lock(mutex_);
  part_ = part;
  note_ = std::move(note);
  progress_.update(steady_now(), part_, note_);
}

void ProgressClock::watch() {
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, kLook, [this] { return ended_; }))
    progress_.update(steady_now(), part_, note_);
}

std::string describe_span(Nanos span) {
  const Nanos seconds = (std::max<Nanos>(0, span) + kSecond / 2) / kSecond;
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
}

}  // namespace rubato::tools

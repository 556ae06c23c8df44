#include "rubato/flow/program/retries.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/error.hpp"

namespace rubato::flow {
namespace {

constexpr std::size_t kReasonsMax = 16;

// Why tries `first` to `last` failed.
struct Reason {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::string text;
};

// The reasons in order. Of too many, those in the middle go: the first shows what began it, the
// last what it came to.
class Reasons {
 public:
  void add(std::uint32_t n_try, std::string text) {
    if (!reasons_.empty() && reasons_.back().text == text) {
      reasons_.back().last = n_try;
      return;
    }
    reasons_.push_back({n_try, n_try, std::move(text)});
    if (reasons_.size() <= kReasonsMax) return;
    reasons_.erase(reasons_.begin() + kReasonsMax / 2);
    left_out_ = true;
  }

  // REQUIRES: one at least.
  [[nodiscard]] std::string told() const {
    const std::uint32_t n_tries = reasons_.back().last;
    if (n_tries == 1) return reasons_.back().text;
    std::string all = "failed " + std::to_string(n_tries) + " times:";
    for (std::size_t i = 0; i < reasons_.size(); ++i) {
      const Reason& reason = reasons_[i];
      if (left_out_ && i == kReasonsMax / 2) all += "\n  ...";
      all.append("\n  try ").append(std::to_string(reason.first));
      if (reason.last != reason.first) all.append(" to ").append(std::to_string(reason.last));
      all += ": ";
      // The lines of a program's errors stay below their try.
      for (const char c : reason.text) {
        all += c;
        if (c == '\n') all += "    ";
      }
    }
    return all;
  }

 private:
  std::vector<Reason> reasons_;
  bool left_out_ = false;
};

}  // namespace

bool may_be_tried_again(const ProgramEnd& end, const RetryPolicy& policy) {
  return end.started && may_be_tried_elsewhere(end, policy);
}

bool may_be_tried_elsewhere(const ProgramEnd& end, const RetryPolicy& policy) {
  return !end.stopped && !end.had_enough && (!end.timed_out || policy.after_timeout);
}

std::string text_of_tries(const std::vector<std::string>& problems) {
  RUBATO_REQUIRE(!problems.empty());
  Reasons reasons;
  for (std::size_t i = 0; i < problems.size(); ++i)
    reasons.add(static_cast<std::uint32_t>(i + 1), problems[i]);
  return reasons.told();
}

Nanos pause_after(const RetryPolicy& policy, std::uint32_t n_failed) {
  RUBATO_REQUIRE(n_failed > 0 && policy.growth >= 1 && policy.pause >= 0, n_failed, policy.growth,
                 policy.pause);
  auto pause = static_cast<double>(policy.pause);
  const auto longest = static_cast<double>(policy.pause_max);
  // Stops at the longest, so that a thousand failures cost no thousand steps to infinity.
  for (std::uint32_t i = 1; i < n_failed && pause < longest && policy.growth > 1; ++i)
    pause *= policy.growth;
  return pause < longest ? static_cast<Nanos>(pause) : policy.pause_max;
}

ProgramEnd with_retries(Launcher& launcher, const RetryPolicy& policy, const Try& once) {
  Reasons reasons;
  for (std::uint32_t n_failed = 0;; ++n_failed) {
    ProgramEnd end = once(n_failed);
    end.n_tries = n_failed + 1;
    if (end.well()) return end;
    reasons.add(end.n_tries, end.problem);
    bool again = end.n_tries < policy.n_tries && may_be_tried_again(end, policy);
    if (again && !launcher.pause(pause_after(policy, end.n_tries))) {
      again = false;
      end.stopped = true;
    }
    if (again) continue;
    end.problem = reasons.told();
    if (end.stopped && end.n_tries < policy.n_tries) end.problem += " (no more tries: stopped)";
    return end;
  }
}

}  // namespace rubato::flow

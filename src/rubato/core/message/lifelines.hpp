#pragma once
// Lifelines: of who keeps tasks that may run elsewhere, those of other nodes whom it asks for some, and
// those who ask it.
//
// It asks each of them once, and again when that has given something: when it has nothing to do, and
// before, when it has less left than is run in a while. For the pooled tasks of a core, and for the
// ready rules of a type of work of a node.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rubato/core/job_shape.hpp"
#include "rubato/core/message/pace.hpp"
#include "rubato/core/message/round_trip.hpp"

namespace rubato::core {

class Lifelines {
 public:
  enum class Asked : std::uint8_t { not_yet, ahead, now };
  // Of another core, for tasks.
  struct Question {
    CoreId who;
    Nanos asked;           // by its clock
    std::uint64_t n_left;  // tasks that it had
    Nanos heard;           // by the clock of this core
  };

  std::vector<Question> beggars;  // that have nothing to do
  std::vector<Question> askers;   // that will have nothing soon
  Pace pace;
  RoundTrip round_trip;

  void add(CoreId core) {
    cores_.push_back(core);
    asked_.push_back(Asked::not_yet);
  }
  // That this one asks.
  [[nodiscard]] const std::vector<CoreId>& cores() const noexcept { return cores_; }

  // Behind so many tasks that have begun here, and so many that have come without being asked for: those
  // that come while others run are a stream that will go on. It asks twice as long ahead as it takes until
  // there is an answer: then what it gets is there in time if not the first one has some, but the next;
  // `ask_ahead` at most.
  void begin_turn(Nanos now, std::uint64_t n_begun, std::uint64_t n_came,
                  Nanos ask_ahead) noexcept {
    pace.begin_turn(now, n_begun, n_came);
    if (cores_.empty()) return;
    n_ahead_ = pace.n_in(std::min(ask_ahead, 2 * round_trip.time()));
  }
  // With no more tasks left than these it asks; with 0, when there are none.
  [[nodiscard]] std::uint64_t n_ahead() const noexcept { return n_ahead_; }

  // Those that were not asked like that since they gave something: ask(core) for each.
  template <class F>
  void ask(Asked how, F ask) {
    for (std::size_t i = 0; i < cores_.size(); ++i) {
      if (asked_[i] >= how) continue;
      asked_[i] = how;
      ask(cores_[i]);
    }
  }
  void note_given(CoreId by) noexcept {
    const auto found = std::ranges::find(cores_, by);
    if (found != cores_.end())
      asked_[static_cast<std::size_t>(found - cores_.begin())] = Asked::not_yet;
  }

  // Who asks may have been given something meanwhile, and have asked again.
  void note_question(const Question& question, bool is_ahead) {
    const auto is_of = [who = question.who](const Question& other) { return other.who == who; };
    std::erase_if(askers, is_of);
    if (std::ranges::any_of(beggars, is_of)) return;
    (is_ahead ? askers : beggars).push_back(question);
  }
  // Of what this one has more than who asks, that gets one part in so many: it has asked others as well. Of
  // halves of them all it would get far more than they keep, and tasks would go to and fro; an equal part
  // for each spreads what one core has made too slowly.
  [[nodiscard]] std::size_t n_shares() const noexcept {
    return std::max<std::size_t>(2, cores_.size() / 3 + 1);
  }
  // Whether one of those that will have nothing soon has so many fewer than `n` that it gets a part; it is
  // askers.back() then, the one with the fewest. Of tiny tasks a difference that is run in no time is none.
  [[nodiscard]] bool has_asker_below(std::uint64_t n) noexcept {
    const std::uint64_t n_least = std::max<std::uint64_t>(n_shares(), n_ahead_ / 4);
    if (askers.empty() || n <= n_least) return false;
    const auto neediest = std::ranges::min_element(askers, {}, &Question::n_left);
    std::iter_swap(neediest, askers.end() - 1);
    return askers.back().n_left + n_least <= n;
  }

 private:
  std::vector<CoreId> cores_;
  std::vector<Asked> asked_;  // [cores]: since they gave something
  std::uint64_t n_ahead_ = 0;
};

}  // namespace rubato::core

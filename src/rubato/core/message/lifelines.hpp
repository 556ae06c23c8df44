#pragma once
// Lifelines: of a core, those of other nodes that it asks for pooled tasks, and those that ask it.
//
// It asks each of them once, and again when that has given something: when it has nothing to do, and
// before, when it has less left than it runs in a while.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rubato/core/job_shape.hpp"
#include "rubato/core/message/pace.hpp"
#include "rubato/core/message/round_trip.hpp"

namespace rubato::core::detail {

struct Lifelines {
  enum class Asked : std::uint8_t { not_yet, ahead, now };
  // Of another core, for pooled tasks.
  struct Question {
    CoreId who;
    Nanos asked;           // by its clock
    std::uint64_t n_left;  // tasks that it had
    Nanos heard;           // by the clock of this core
  };

  std::vector<CoreId> cores;      // that this one asks
  std::vector<Asked> asked;       // [cores]: since they gave something
  std::vector<Question> beggars;  // that have nothing to do
  std::vector<Question> askers;   // that will have nothing soon
  Pace pace;
  RoundTrip round_trip;
  std::uint64_t n_ahead = 0;  // with no more tasks left than these it asks

  void add(CoreId core) {
    cores.push_back(core);
    asked.push_back(Asked::not_yet);
  }
  // Behind so many pooled tasks of this core, of which so many came in messages: those that come while it
  // runs others are a stream that will go on. It asks twice as long ahead as it takes until there is an
  // answer: then what it gets is there in time if not the first one has some, but the next.
  void begin_turn(Nanos now, std::uint64_t n_run, std::uint64_t n_came, Nanos ask_ahead) noexcept {
    if (cores.empty()) return;
    pace.begin_turn(now, static_cast<std::int64_t>(n_run - n_came));
    n_ahead = pace.n_in(std::min(ask_ahead, 2 * round_trip.time()));
  }
  // It may have been given something meanwhile, and have asked again.
  void note_question(const Question& question, bool is_ahead) {
    const auto is_of = [who = question.who](const Question& other) { return other.who == who; };
    std::erase_if(askers, is_of);
    if (std::ranges::any_of(beggars, is_of)) return;
    (is_ahead ? askers : beggars).push_back(question);
  }
  // Whether one of those that will have nothing soon has fewer tasks than that; it is askers.back() then,
  // the one with the fewest.
  [[nodiscard]] bool has_asker_below(std::uint64_t n) noexcept {
    if (askers.empty()) return false;
    const auto neediest = std::ranges::min_element(askers, {}, &Question::n_left);
    std::iter_swap(neediest, askers.end() - 1);
    return askers.back().n_left < n;
  }
  void note_given(CoreId by) noexcept {
    const auto found = std::ranges::find(cores, by);
    if (found != cores.end())
      asked[static_cast<std::size_t>(found - cores.begin())] = Asked::not_yet;
  }
};

}  // namespace rubato::core::detail

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

namespace rubato::core::detail {

struct Lifelines {
  enum class Asked : std::uint8_t { not_yet, ahead, now };

  std::vector<CoreId> cores;    // that this one asks
  std::vector<Asked> asked;     // [cores]: since they gave something
  std::vector<CoreId> beggars;  // that have nothing to do, and have asked
  std::vector<CoreId> askers;   // that will have nothing soon
  Pace pace;
  std::uint64_t n_ahead = 0;  // with no more tasks left than these it asks

  void add(CoreId core) {
    cores.push_back(core);
    asked.push_back(Asked::not_yet);
  }
  // Behind so many pooled tasks of this core, which asks when it has less than that time's.
  void begin_turn(Nanos now, std::uint64_t n_run, Nanos ask_ahead) noexcept {
    if (cores.empty()) return;
    pace.begin_turn(now, n_run);
    n_ahead = pace.n_in(ask_ahead);
  }
  // It may have been given something meanwhile, and have asked again.
  void note_question(CoreId who, bool is_ahead) {
    const auto is_in = [who](const std::vector<CoreId>& all) {
      return std::ranges::find(all, who) != all.end();
    };
    if (is_in(beggars)) return;
    if (!is_ahead) {
      std::erase(askers, who);
      beggars.push_back(who);
    } else if (!is_in(askers)) {
      askers.push_back(who);
    }
  }
  void note_given(CoreId by) noexcept {
    const auto found = std::ranges::find(cores, by);
    if (found != cores.end())
      asked[static_cast<std::size_t>(found - cores.begin())] = Asked::not_yet;
  }
};

}  // namespace rubato::core::detail

#pragma once
// Who owns what in a run, and how that changes; and the names of whole settings of it with a policy.
//
//   name         policy     pieces, and how they move     source
//   oritick      bulk       stay where they are           OriTick  [AsyTick 5]
//   comtick      bulk       persistence, at epochs        ComTick
//   asytick      pieces(8)  stay where they are           AsyTick
//   asytick-plb  pieces(8)  persistence, at epochs        AsyTick-PLB
// All four step the same pieces by the same kernel, and the state of each tick is the same.

#include <cstdint>
#include <string_view>

#include "rubato/tick/balance/balance.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick {

inline constexpr std::uint32_t kDefaultPieces = 1024;
inline constexpr Tick kDefaultEpoch = 50;

struct SharingOptions {
  std::uint32_t n_pieces = 0;  // about how many the model is cut into, of all nodes; 0: by part()
  Tick epoch = 0;              // ticks from one sharing anew to the next; 0: never
  Balance balance = Balance::repartition;  // how, if there are epochs
  BalanceOptions persistence;

  // Whether it can change who owns what.
  [[nodiscard]] bool moves() const noexcept { return epoch > 0 && balance != Balance::none; }
};

struct System {
  Policy policy;
  SharingOptions sharing;

  // One of the names above, or what Policy::parse() takes, with work that stays where it is. Throws
  // Error (usage) as that.
  [[nodiscard]] static System parse(std::string_view text);
};

}  // namespace rubato::tick

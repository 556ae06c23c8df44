#pragma once
// Who owns what in a run, and how that changes; and the names of whole settings of it with a policy.
//
//   name          policy     pieces, and how they move     source
//   oritick       bulk       stay where they are           OriTick  [AsyTick 5]
//   comtick       bulk       persistence, at epochs        ComTick
//   asytick       pieces(8)  stay where they are           AsyTick
//   asytick-plb   pieces(8)  persistence, at epochs        AsyTick-PLB
//   asytick-lend  the same, and nodes with nothing to do run steps for others     dataflow_lending.cpp
//   auto          what is forecast to be fastest, at epochs; begins with local    tune/tuner.hpp
// The first five step the same pieces by the same kernel, and the state of each tick is the same.
// How many pieces: kGoodPieces, unless somebody says a number; of the first five they stay as many.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/tick/balance/balance.hpp"
#include "rubato/tick/lending.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick {

// As a number of pieces: as many as suit the model and the workers (n_good_pieces() in run.hpp),
// which all nodes find alike.
inline constexpr std::uint32_t kGoodPieces = UINT32_MAX;
inline constexpr Tick kDefaultEpoch = 50;

struct SharingOptions {
  // About how many the model is cut into, of all nodes; 0: by part().
  std::uint32_t n_pieces = 0;
  Tick epoch = 0;                          // ticks from one sharing anew to the next; 0: never
  Balance balance = Balance::repartition;  // how, if there are epochs
  // Nobody has asked for this balance: where the model cannot be cut again, pieces are moved by what
  // they cost, if there are some; policy auto cuts again what can be. Otherwise a balance that the
  // model does not have is an Error.
  bool balance_is_default = true;
  BalanceOptions persistence;
  // Where pieces move by persistence and nobody has said how many there are, they may become smaller and
  // larger at epochs (balance/piece_size.hpp).
  bool sizes_pieces = true;
  LendingOptions lending{};  // of policy pieces
  // Policy auto: at epochs the policy may change, and pieces are moved if that should be faster. A
  // model without pieces is then cut by part().
  bool tune = false;
  // Of policy auto: what it chooses from, none of them bulk; the run's policy is added in front.
  // Empty: tuned_policies() in tune/tuner.hpp.
  std::vector<Policy> candidates{};
  // Of pieces that move by persistence: of how many grains each may be (balance/grains.hpp); first what the
  // run begins with, when there are n_pieces. Empty: chosen if n_pieces is, else 1.
  std::vector<std::uint32_t> grains_of_piece{};
  // For tests: which candidate of policy auto, or else of those numbers of grains, is chosen at an epoch, in
  // place of what is forecast or was measured; any number, the same on all nodes.
  std::function<std::size_t(Tick)> chooses{};

  // Whether it can change who owns what.
  [[nodiscard]] bool moves() const noexcept { return epoch > 0 && balance != Balance::none; }
};

struct System {
  Policy policy;
  SharingOptions sharing;

  // One of the names above, or what Policy::parse() takes, with work that stays where it is. Throws
  // Error (usage) as that, which knows these names too.
  [[nodiscard]] static System parse(std::string_view text);
};
// Those names: of the four systems, then auto.
[[nodiscard]] const std::vector<std::string>& system_names();

}  // namespace rubato::tick

#pragma once
// PieceSize: of how many grains (grains.hpp) a piece should be where pieces move by their cost and nobody
// has said how many there are (SharingOptions::sizes_pieces). No node can have less than its costliest
// piece: pieces become smaller where that holds ticks up, and larger again once it does not, since of more
// pieces messages are more and smaller and borders longer. Pure: every node comes to the same from the
// same costs.

#include <cstdint>
#include <span>
#include <vector>

#include "rubato/tick/balance/persistence.hpp"

namespace rubato::tick {

// A cost of smaller pieces is thought to lie evenly in those of now. Where most of it lies in one place, smaller
// ones gain less: told by the first that were tried, it is expected of others, too. A crowd moves on, so some
// of that is forgotten each time.
class Crowding {
 public:
  // How much more than was promised is expected still: `kept` of it from one time to the next.
  explicit Crowding(double kept) noexcept : kept_(kept) {}
  // Before anything is expected: what the costliest piece has cost since the last one.
  void learn(double costliest) noexcept;
  // Of a piece of a size below that of now, which would cost `cost` if all lay evenly.
  [[nodiscard]] double expected(double cost, double costliest_now) const noexcept;
  // Pieces become smaller; the costliest would cost so much then if all lay evenly.
  void promise(double costliest) noexcept { promised_ = costliest; }

 private:
  double kept_;
  double promised_ = 0;  // 0: nothing is to be learned
  double times_ = 1;     // as much as was promised, at least 1
};

class PieceSize {
 public:
  struct Options {
    // Of how many grains a piece may be; the first is what a run begins with, and none is larger.
    std::vector<std::uint32_t> choices{1};
    std::uint32_t n_nodes = 1;
    std::uint32_t n_cores = 1;  // of each
    BalanceOptions balance{};
  };

  explicit PieceSize(Options options);

  // At an epoch: the number of grains of a piece from then on. `costs` is what each piece, of `now` grains, has
  // cost, `owners` who has it. REQUIRES: as many of both; `now` is one of the choices.
  [[nodiscard]] std::uint32_t choose(std::span<const double> costs, std::span<const NodeId> owners,
                                     std::uint32_t n_grains, std::uint32_t now);

 private:
  struct Time {
    double shared = 0;     // of the node that has most, on all of its cores
    double costliest = 0;  // of any piece, which one core has to step
  };
  [[nodiscard]] Time time_of(std::span<const double> grains, std::span<const NodeId> owners,
                             std::uint32_t now, std::uint32_t then) const;

  Options options_;
  Crowding crowding_;
};

}  // namespace rubato::tick

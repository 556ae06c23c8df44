#pragma once
// Tuner: what policy `auto` decides, and why. At an epoch all nodes know what all have measured
// (tune/meter.hpp); each forecasts every candidate from the same bytes (tune/forecast.hpp) and
// so comes to the same choice.
//
// A forecast is corrected by what the same candidate took when it ran, the more of its ticks there
// were. Another one is chosen only if it should be kSwitchGain better; of those that are about as
// good the first in the list. The longer a choice lasts the rarer it is looked at again; and epochs
// are as far apart as reports and decisions take to travel unnoticed.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "rubato/tick/balance/piece_size.hpp"
#include "rubato/tick/tune/forecast.hpp"
#include "rubato/tick/tune/meter.hpp"

namespace rubato::tick {

// The policies that auto chooses from, simple ones first. Not bulk: it waits for all that local
// waits for, and for more.
[[nodiscard]] std::vector<Policy> tuned_policies();

struct TunerOptions {
  std::vector<Policy> candidates;  // the first one is what the run begins with
  bool balances = false;           // work may be shared anew at epochs, too
  Tick every = 50;                 // epochs are its multiples
  // For tests: as in SharingOptions. Each multiple of `every` is then an epoch.
  std::function<std::size_t(Tick)> chooses{};
  // Of how many grains a piece may be (balance/grains.hpp), and how many there are: the first one is what
  // the run begins with. Of a cut without pieces, and where their number is given, one entry.
  std::vector<std::uint32_t> grains_of_piece{1};
  std::uint32_t n_grains = 0;
  bool cuts_again = false;  // what is balanced is cut anew, and not of pieces
};

// A candidate, and what a tick of it should take, ns; 0 if that cannot be told.
struct Expected {
  Policy policy;
  bool balanced = false;
  std::uint32_t n_pieces = 0;  // of all nodes; 0: the cut is not of pieces
  double tick_time = 0;
};

// What was chosen at an epoch.
struct Choice {
  Tick tick = 0;
  Policy policy;
  bool balanced = false;       // work is shared anew at each epoch from then on
  std::uint32_t n_pieces = 0;  // of all nodes; 0: the cut is not of pieces
  double tick_time = 0;        // ns that a tick should take
  double before = 0;           // what it should take if nothing changed
  double first = 0;            // and under the first candidate; 0 if that cannot be told
  // Why: what was measured.
  double step = 0;       // ns of a node's own work in a tick, the mean of all nodes
  double imbalance = 0;  // of that, max / mean - 1
  PieceSpread pieces{};  // of all nodes
  double late = 0;       // ns; of 100 messages one is later
  std::vector<Expected> candidates{};
};

class Tuner {
 public:
  explicit Tuner(TunerOptions options);

  struct Decision {
    Policy policy;
    bool balanced = false;
    std::uint32_t grains_of_piece = 1;
    Tick next = 0;  // epoch
  };
  // Whether a forecast is made at this epoch: only then reports are needed.
  [[nodiscard]] bool forecasts_at(Tick epoch) const noexcept { return epoch >= next_forecast_; }
  // REQUIRES: forecasts_at(epoch), one report of each node. `indivisible_of`: as in ForecastInput, of
  // options.grains_of_piece; empty if there is one.
  Decision decide(Tick epoch, std::vector<NodeReport> reports,
                  std::vector<std::vector<double>> indivisible_of = {});
  // Of an epoch without a forecast.
  [[nodiscard]] Decision stay(Tick epoch) const;

  [[nodiscard]] const Policy& policy() const noexcept { return candidates_[current_].policy; }
  [[nodiscard]] bool balanced() const noexcept { return candidates_[current_].balanced; }
  // Ticks between a report and the epoch after it are half of this.
  [[nodiscard]] Tick distance() const noexcept { return distance_; }
  // What reports need to know of shapes.
  [[nodiscard]] ShapeLimits shape_limits() const;
  [[nodiscard]] const std::vector<std::uint32_t>& grains_of_piece() const noexcept {
    return options_.grains_of_piece;
  }
  // Those that changed something, and the first.
  [[nodiscard]] const std::vector<Choice>& choices() const noexcept { return choices_; }
  // Virtual time that the last decision takes, ns.
  [[nodiscard]] Nanos cost() const noexcept { return cost_; }

 private:
  struct Candidate {
    Policy policy;
    bool balanced = false;
    std::size_t pieces = 0;  // in options_.grains_of_piece
    double ratio = 0;        // measured over forecast time, summed over `ticks`
    double ticks = 0;
    double forecast = 0;  // latest, ns a tick; 0: it cannot be
    double expected = 0;  // corrected
    // Of a balanced one: the share of a tick that sharing anew was to leave of it, when it was forecast last
    // without; 0: nothing is known.
    double promise = 0;
  };
  [[nodiscard]] double correction_of(const Candidate& candidate) const noexcept;
  [[nodiscard]] std::size_t n_unbalanced() const noexcept {
    return options_.candidates.size() * options_.grains_of_piece.size();
  }
  [[nodiscard]] bool has_cut_of_now(const Candidate& candidate) const noexcept {
    return candidate.balanced == balanced() && candidate.pieces == candidates_[current_].pieces;
  }
  [[nodiscard]] Sharing sharing_of(const Candidate& candidate,
                                   std::size_t pieces_now) const noexcept;
  [[nodiscard]] std::uint32_t n_pieces_of(const Candidate& candidate) const noexcept;
  [[nodiscard]] std::optional<Forecast> first_cut(const ForecastInput& now) const;
  void forecast(Tick epoch, const Forecast& forecast, const std::optional<Forecast>& first,
                std::span<const NodeReport> reports);
  void look_first(const Forecast& forecast, const std::optional<Forecast>& first);
  static void learn(Candidate& now, std::span<const NodeReport> reports);
  [[nodiscard]] double promise_of(const Candidate& candidate) const noexcept;
  void learn_sharing(Tick epoch);
  void learn_replica_cost(Forecast& forecast, std::span<const NodeReport> reports);
  void learn_crowding(std::vector<std::vector<double>>& indivisible_of);
  [[nodiscard]] std::size_t best() const;
  void note_choice(Tick epoch, const Forecast& forecast, std::size_t before);
  void set_distance(const Forecast& forecast, std::size_t n_nodes);

  TunerOptions options_;
  std::vector<Candidate> candidates_;
  std::size_t current_ = 0;
  Tick next_forecast_ = 0;
  Tick backoff_;
  Tick distance_;  // between epochs, at least
  std::vector<Choice> choices_;
  Nanos cost_ = 0;
  double replica_cost_ = 0;  // ForecastInput; 0: nothing is known
  Crowding crowding_;
  double worse_ = 1;   // what sharing anew has left of a tick over what it was to leave; at least 1
  Tick worse_at_ = 0;  // the epoch for which that holds
  // As they were measured last before work was shared anew: where a candidate without that would go
  // back to.
  Policy first_policy_;
  std::size_t first_pieces_ = 0;
  std::vector<TickCosts> first_loads_;
  std::vector<NodeShape> first_shapes_;
  std::vector<std::vector<double>> first_indivisible_of_;
};

}  // namespace rubato::tick

#pragma once
// Forecast: how long a tick would take under a policy, by arithmetic on arrival times alone: a
// max-plus model of all nodes of a job, from what was measured of them.
//
// A node steps what lies inside first if its neighbours' rounds are late, up to `depth` ticks ahead;
// then replicas, if it has some; then it waits. A round leaves when the border is stepped, or, at
// depth 0, all of it. Work that is shared anew becomes as even as the costliest piece lets it, and one
// core has a piece for all of its step. Pieces of another number of grains (balance/grains.hpp) cost what
// their grains do; they wait for other nodes as wholes, and make work as even as they are small. Policy
// pieces is taken for schedule of the same depth. Each
// candidate sees the same delays, so that their differences are not those of the draws.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "rubato/tick/policy.hpp"
#include "rubato/tick/tune/delays.hpp"
#include "rubato/tick/tune/node_shape.hpp"

namespace rubato::tick {

// What steps of pieces cost, or of the regions that a node cuts its part into: ns of one core a tick.
struct PieceSpread {
  double n = 0;
  double sum = 0;
  double squares = 0;
  double largest = 0;

  void add(double cost) noexcept {
    n += 1;
    sum += cost;
    squares += cost * cost;
    largest = std::max(largest, cost);
  }
  void add(const PieceSpread& other) noexcept {
    n += other.n;
    sum += other.sum;
    squares += other.squares;
    largest = std::max(largest, other.largest);
  }
  [[nodiscard]] double mean() const noexcept { return n > 0 ? sum / n : 0; }
  // The standard deviation over the mean; 0 if nothing was measured.
  [[nodiscard]] double deviation() const noexcept {
    return sum > 0 ? std::sqrt(std::max(0.0, squares / n - mean() * mean())) / mean() : 0;
  }
};

// What a node has measured.
struct TickCosts {
  double step =
      0;  // ns that its cores take for a tick of its own work, together, over their number
  PieceSpread pieces{};  // of its own
  // What the costliest is expected to take once they have moved; 0 where work is cut anew instead.
  double indivisible = 0;
  // ns that messages take of its cores in a tick, over their number: however short they are, and what
  // grows with what is in them.
  double message = 0;
  double packing = 0;
  double replicas = 0;  // ns of its replicas' steps in a tick, over their number
};

// A way that messages come by.
struct LinkDelays {
  NodeId from = 0;
  NodeId to = 0;
  Delays delays;
};

struct ForecastInput {
  Policy policy;                   // under which the loads were measured
  std::vector<TickCosts> loads;    // [nodes]
  std::vector<NodeShape> shapes;   // [nodes]
  std::vector<LinkDelays> delays;  // of any links, each once
  // [NodeShape::inside_of][nodes] TickCosts::indivisible of pieces of so many grains.
  std::vector<std::vector<double>> indivisible_of{};
  bool balanced = false;  // work was shared anew before this was measured, and is at each epoch
  // What a unit of size costs as a replica, over what it costs its owner: replicas are stepped in smaller
  // parts, some of which turn out not to be needed.
  double replica_cost = 1;
};

// How work is shared, other than now.
struct Sharing {
  bool anew = false;  // made as even as pieces let it
  // Pieces of another number of grains: its place in NodeShape::inside_of; or as they are.
  std::size_t pieces = kAsTheyAre;
  static constexpr std::size_t kAsTheyAre = SIZE_MAX;
};

// What a forecast says of a policy, ns a tick in the long run.
struct TickForecast {
  double time = 0;
  double replicas = 0;  // of it, the replicas of a node, the mean of all
};

class Forecast {
 public:
  // Draws all delays. About `n_draws` of them: large jobs are looked at for fewer ticks.
  explicit Forecast(const ForecastInput& input, std::size_t n_draws = 15'000);

  // Whether enough is known of the shapes.
  [[nodiscard]] bool can(const Policy& policy) const noexcept;
  // Looks at `most` ticks, or at ticks(). REQUIRES: can(policy), and no barrier.
  [[nodiscard]] TickForecast tick(const Policy& policy, const Sharing& sharing,
                                  Tick most = kNoTick) const;
  [[nodiscard]] double tick_time(const Policy& policy, const Sharing& sharing,
                                 Tick most = kNoTick) const {
    return tick(policy, sharing, most).time;
  }

  // As in ForecastInput, from now on.
  void set_replica_cost(double cost) noexcept { replica_cost_ = cost; }

  [[nodiscard]] Tick ticks() const noexcept { return ticks_; }
  // Draws, and messages of candidates, so far: what a forecast takes grows as they do.
  [[nodiscard]] std::size_t n_steps() const noexcept { return n_steps_; }
  // Of all messages, what a share of (1 - late) is not later than, ns.
  [[nodiscard]] double delay_quantile(double share) const;
  [[nodiscard]] double mean_step() const noexcept { return mean_step_; }
  [[nodiscard]] double most_step() const noexcept { return most_step_; }
  // Of all nodes.
  [[nodiscard]] const PieceSpread& pieces() const noexcept { return pieces_; }

 private:
  struct Link {
    NodeId from = 0;
    NodeId to = 0;
    const LinkShape* shape = nullptr;
    std::vector<float> delays;  // [ticks], of the round of each
  };
  class Run;

  void draw_delays(const ForecastInput& input);
  [[nodiscard]] double step_of(NodeId node, const Sharing& sharing) const;
  [[nodiscard]] double evened(NodeId node, std::size_t pieces) const;

  Policy policy_;
  double replica_cost_;
  std::vector<TickCosts> loads_;
  std::vector<NodeShape> shapes_;
  std::vector<std::vector<double>> indivisible_of_;
  bool balanced_;
  std::vector<Link> links_;  // by `to`
  Tick ticks_ = 0;
  double mean_step_ = 0;
  double most_step_ = 0;
  double indivisible_ = 0;  // the most of all nodes
  PieceSpread pieces_;
  mutable std::size_t n_steps_ = 0;
};

}  // namespace rubato::tick

#pragma once
// Forecast: how long a tick would take under a policy, by arithmetic on arrival times alone: a
// max-plus model of all nodes of a job, from what was measured of them.
//
// A node steps what lies inside first if its neighbours' rounds are late, up to `depth` ticks ahead;
// then replicas, if it has some; then it waits. A round leaves when the border is stepped, or, at
// depth 0, all of it. Policy pieces is taken for schedule of the same depth. Each candidate sees
// the same delays, so that their differences are not those of the draws.

#include <cstdint>
#include <span>
#include <vector>

#include "rubato/tick/policy.hpp"
#include "rubato/tick/tune/delays.hpp"
#include "rubato/tick/tune/node_shape.hpp"

namespace rubato::tick {

// What a node has measured.
struct TickCosts {
  double step =
      0;  // ns that its cores take for a tick of its own work, together, over their number
  double largest = 0;  // of that, the costliest piece, by one core
  // ns that messages take of its cores in a tick, over their number: however short they are, and what
  // grows with what is in them.
  double message = 0;
  double packing = 0;
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
};

class Forecast {
 public:
  // Draws all delays. About `n_draws` of them: large jobs are looked at for fewer ticks.
  explicit Forecast(const ForecastInput& input, std::size_t n_draws = 15'000);

  // Whether enough is known of the shapes.
  [[nodiscard]] bool can(const Policy& policy) const noexcept;
  // Nanoseconds a tick, in the long run; if `balanced`, after it was shared anew. Looks at `most`
  // ticks, or at ticks(). REQUIRES: can(policy), and no barrier.
  [[nodiscard]] double tick_time(const Policy& policy, bool balanced, Tick most = kNoTick) const;

  [[nodiscard]] Tick ticks() const noexcept { return ticks_; }
  // Draws, and messages of candidates, so far: what a forecast takes grows as they do.
  [[nodiscard]] std::size_t n_steps() const noexcept { return n_steps_; }
  // Of all messages, what a share of (1 - late) is not later than, ns.
  [[nodiscard]] double delay_quantile(double share) const;
  [[nodiscard]] double mean_step() const noexcept { return mean_step_; }
  [[nodiscard]] double most_step() const noexcept { return most_step_; }

 private:
  struct Link {
    NodeId from = 0;
    NodeId to = 0;
    const LinkShape* shape = nullptr;
    std::vector<float> delays;  // [ticks], of the round of each
  };
  class Run;

  void draw_delays(const ForecastInput& input);

  Policy policy_;
  std::vector<TickCosts> loads_;
  std::vector<NodeShape> shapes_;
  std::vector<Link> links_;  // by `to`
  Tick ticks_ = 0;
  double mean_step_ = 0;
  double most_step_ = 0;
  mutable std::size_t n_steps_ = 0;
};

}  // namespace rubato::tick

#pragma once
// SkewObserver: how unevenly the work of each tick lies on the nodes of a run, and what of it later
// ticks make up for [AsyTick 5, equations 2 and 3, figure 8]. On real nodes each one observes itself;
// observations of all are put together by pack() and add().

#include <array>
#include <cstdint>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/core/observer.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick {

using net::NodeId;

struct SkewFigures {
  // [ticks from the first on] max / mean - 1 over nodes: of the time of steps to the next tick, and
  // of packing and taking what others need of it.
  std::vector<double> computation;    // lambda_L
  std::vector<double> communication;  // lambda_C
  Tick begin = 0;
  double mean_computation = 0;  // over ticks, weighted by their time: what barriers would wait for
  double mean_communication = 0;
  // Of the time of steps, what ran ahead of inputs that were missing.
  double asynchronous_share = 0;
  // At the end of the steps of tick `skewed`, the one with the largest lambda_L times its time: which
  // share of the steps of each of the five ticks after it was done. Only where units were kept.
  Tick skewed = 0;
  std::array<double, 5> completion{};
};

class SkewObserver final : public core::Observer {
 public:
  struct Options {
    std::uint32_t n_nodes = 1;
    std::uint32_t n_cores = 1;  // of each
    Tick begin = 0;
    bool keeps_units = false;  // 16 bytes for each step
  };

  // Of all nodes of a simulation, or of one node of a job. `next`, if any, sees all that this does.
  explicit SkewObserver(const Options& options, core::Observer* next = nullptr);

  void on_work(NodeId node, std::uint32_t core, const core::Work& work, Nanos begin,
               Nanos end) noexcept override;
  void on_sent(NodeId node, NodeId peer, std::size_t n_bytes, Nanos when) noexcept override;
  void on_taken(NodeId node, NodeId peer, std::size_t n_bytes, Nanos when) noexcept override;

  // After the run. The time that node `node` took for the steps from tick t.
  [[nodiscard]] Nanos time(NodeId node, Tick t) const;
  // What of it was seen here, and what was seen elsewhere.
  [[nodiscard]] Bytes pack() const;
  void add(ByteView packed);
  [[nodiscard]] SkewFigures figures() const;

 private:
  struct Times {
    Nanos steps = 0;
    Nanos ahead = 0;
    Nanos moves = 0;  // packing and taking
  };
  struct Unit {
    Tick tick = 0;
    Nanos end = 0;
  };
  struct alignas(64) Core {
    std::vector<Times> ticks;  // from Options::begin on
    std::vector<Unit> units;
  };

  [[nodiscard]] std::vector<std::vector<Times>> by_node() const;
  void find_completion(SkewFigures& figures) const;

  const Options options_;
  core::Observer* const next_;
  std::vector<Core> cores_;  // [nodes][cores]
};

}  // namespace rubato::tick

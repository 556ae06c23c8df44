#pragma once
// SkewObserver: how unevenly the work of each tick lies on the nodes of a run, and what of it later
// ticks make up for [AsyTick 5, equations 2 and 3, figure 8]. On real nodes each one observes itself;
// observations of all are put together by pack() and add(). Times of steps and of messages are taken by
// the tick that they start from; a wavefront of several ticks (Plan::skew) counts for its first, and
// a message with fragments of several (policy pieces) for that of the first fragment.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/core/observer.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick {

using net::NodeId;

// How unevenly one kind of work lay on the nodes: max / mean - 1 over nodes, 0 if all have alike.
struct Imbalance {
  std::vector<double> by_tick;  // [SkewFigures::n_ticks] from the first on
  double mean = 0;              // weighted by the time of each tick: what barriers would wait for
  Tick worst = 0;               // the tick that adds most to the mean
  double at_worst = 0;
};

struct SkewFigures {
  Tick begin = 0;
  std::size_t n_ticks = 0;  // from `begin` on, with a step in the last of them
  // Of the time of steps to the next tick: lambda_L, equation 2. Its worst tick is one that has five
  // after it, if there is such a tick.
  Imbalance computation;
  // Of the time of messages: lambda_C, equation 3. That of a node is what its cores take to pack and to
  // take what steps from a tick need of others, and how long the latest of that was on its way; on real
  // nodes, whose clocks differ, how much longer than the quickest of late of its link.
  Imbalance communication;
  // Of the time of steps, what ran ahead of inputs that were missing.
  double asynchronous_share = 0;
  // What the same steps take if no core ever waits, and if each tick ends for all with its slowest
  // node, whose cores share its steps; and what the run took, from the first of them to the last end.
  double even_s = 0;
  double barriers_s = 0;
  double span_s = 0;
  // At the end of the last step of tick completion_tick: which share of the steps of each of the
  // five ticks after it was done (fewer where the run ends before). Empty if units of them
  // were not kept, or not brought together. The tick is computation.worst, or the worst of those of
  // which they were kept.
  Tick completion_tick = 0;
  std::vector<double> completion;

  // Skew absorbed: of the time that barriers would add to an even share, what the run did not take
  // more; below 0 if it took longer than with barriers that cost nothing. Nothing if all nodes have
  // alike. Differs from [AsyTick figure 9], which holds the run against one of comtick: here it is
  // held against its own loads, and all that it lost otherwise (to messages, to single pieces that
  // are dear) counts as not absorbed.
  [[nodiscard]] std::optional<double> absorbed() const;
  // Whether clocks of nodes tell what of a tick was done at a moment: those of two of them, each
  // measured against a third to within `clock_error` and adrift since the run began, leave no more than
  // a tenth of a tick in doubt. 0: one clock for all.
  [[nodiscard]] bool tells_ticks(Nanos clock_error) const;
};

class SkewObserver final : public core::ChainedObserver {
 public:
  // What is kept: 32 bytes a core and tick, and a node and tick where all is put together. Of
  // later ticks nothing is.
  static constexpr Tick kTicksMax = Tick{1} << 18;
  static constexpr std::uint64_t kNodeTicksMax = std::uint64_t{1} << 22;
  // And 16 bytes a unit; completion is told after one of the ticks with all units.
  static constexpr std::size_t kUnitsMax = std::size_t{1} << 22;
  // Of each core of a node that observes itself.
  static constexpr std::size_t kUnitsOfCoreMax = std::size_t{1} << 16;

  struct Options {
    std::uint32_t n_nodes = 1;
    std::uint32_t n_cores = 1;  // of each, at most
    Tick begin = 0;
    bool keeps_units = false;
    NodeId first_node = 0;                // the nodes are those from this one on
    std::size_t n_units_max = kUnitsMax;  // of all nodes
    Tick n_ticks_max = 0;                 // 0: ticks_max(n_nodes)
  };

  // How many ticks of a run of that many nodes are kept.
  [[nodiscard]] static Tick ticks_max(std::uint32_t n_nodes) noexcept;

  // Of all nodes of a simulation, or of one node of a job with `n_nodes` 1. `next`, if any, sees all
  // that this does and outlives it. REQUIRES: n_nodes > 0 and n_cores > 0.
  explicit SkewObserver(const Options& options, core::Observer* next = nullptr);

  void on_work(NodeId node, std::uint32_t core, const core::Work& work, Nanos begin,
               Nanos end) noexcept override;

  // After the run. The time that node `node` took for the steps from tick t; 0 if it is not kept.
  [[nodiscard]] Nanos time(NodeId node, Tick t) const;
  // What of the run was seen here but its units, whose times are those of one clock; and what was
  // seen elsewhere. add() throws Error if the bytes are cut or name a node that is not one of these.
  [[nodiscard]] Bytes pack() const;
  void add(ByteView packed);
  // The units that tell of the completion after a tick; and those that were seen elsewhere, by a
  // clock that is so far ahead. The tick is that of figures() of what all nodes have packed.
  [[nodiscard]] Bytes pack_units(Tick completion_tick) const;
  void add_units(ByteView packed, Nanos ahead);
  [[nodiscard]] SkewFigures figures() const;

 private:
  struct Times {
    Nanos steps = 0;
    Nanos ahead = 0;
    Nanos moves = 0;  // packing and taking
    Nanos late = 0;   // of the latest that was taken
    void add(const Times& other);
  };
  struct Unit {
    Tick tick = 0;
    Nanos end = 0;
  };
  struct alignas(64) Core {
    std::vector<Times> ticks;  // from Options::begin on
    std::vector<Unit> units;
    Tick lost = kNoTick;  // the first with a unit that there was no room for
    Nanos first = 0;      // begin of its first step, if it has one
    Nanos last = 0;       // end of its last one
    bool steps = false;
  };
  // Of a node, as pack() has it.
  struct Seen {
    std::uint64_t n_cores = 0;  // that had steps
    Nanos span = 0;             // from the first step to the last
    Tick lost = kNoTick;        // the first with a unit that was not kept
  };
  using NodeTimes = std::vector<std::vector<Times>>;  // [nodes][ticks]

  [[nodiscard]] NodeTimes by_node() const;
  // Of the nodes from row `first` up to `last`, as one clock had it.
  [[nodiscard]] Seen seen_here(std::size_t first, std::size_t last) const;
  void hold_against_barriers(const NodeTimes& nodes, SkewFigures& figures) const;
  [[nodiscard]] Tick first_lost() const;
  [[nodiscard]] std::size_t n_candidates(std::size_t n_ticks) const;
  [[nodiscard]] std::vector<double> completion(const SkewFigures& figures) const;

  const Options options_;
  const Tick ticks_max_;
  std::vector<Core> cores_;      // [nodes][cores]
  std::vector<Seen> elsewhere_;  // [nodes] from add()
};

}  // namespace rubato::tick

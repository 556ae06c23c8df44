#pragma once
// Plan: the dataflow of one node without its types: regions, who reads whom, who sends to whom.
//
// With Q the node's own query and L0 = Q, Lj = (W_D o R_D)^j(Q) outwards, L-j = (R_X o W_X)^j(Q)
// inwards [Ticks 5.2, 5.3], the regions of a node are
//   layer -j (j >= 0)   own: the ring L-j \ L-(j+1), the innermost L-D whole; models that know
//                       their geometry cut rings into tiles
//   layer 1..m          replicas: (Lj \ Lj-1) n Q_owner, stepped here only when a message is late
//                       or the tick has no round
//   layer m + 1         halo: what layer m reads; never stepped, only received
// Region B is an input of region A if stepping B can yield what A reads: B meets W_D(R_D(A)).
// Unit (A, t), the step of A from t to t + 1, may run when every input has its output for tick t.

#include <cstdint>
#include <span>
#include <vector>

#include "rubato/net/fabric.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick {

using net::NodeId;
using RegionId = std::uint32_t;

inline constexpr std::uint32_t kNoNeighbour = UINT32_MAX;
// Most ticks that a wavefront works through while the cells are in the cache.
inline constexpr Tick kSkew = 12;

struct Region {
  int layer = 0;                           // <= 0 own, 1..m replica, m + 1 halo
  std::uint32_t neighbour = kNoNeighbour;  // index of its owner in Plan::neighbours
  std::uint32_t depth =
      0;  // of an own region: steps to a region that a neighbour waits for, at most d

  [[nodiscard]] bool own() const noexcept { return neighbour == kNoNeighbour; }
};

// Lists of regions, one for each region, end to end.
class RegionLists {
 public:
  void append(std::span<const RegionId> list) {
    items_.insert(items_.end(), list.begin(), list.end());
    ends_.push_back(static_cast<std::uint32_t>(items_.size()));
  }
  [[nodiscard]] std::span<const RegionId> operator[](std::size_t i) const noexcept {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::span(items_).subspan(begin, ends_[i] - begin);
  }
  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return items_.capacity() * sizeof(RegionId) + ends_.capacity() * sizeof(std::uint32_t);
  }

 private:
  std::vector<RegionId> items_;
  std::vector<std::uint32_t> ends_;
};

struct Neighbour {
  NodeId node = 0;
  bool sends_here = false;        // its query meets (W_D o R_D)^(m+1)(Q)
  bool receives = false;          // Q meets (W_D o R_D)^(m+1)(its query)
  std::vector<RegionId> sources;  // own regions that a round to it is packed from
  std::vector<RegionId> regions;  // its replica and halo regions here
  // Policy pieces: what each of its sources, in its own order, fills of those regions.
  RegionLists pieces;
};

struct Plan {
  NodeId self = 0;
  std::uint32_t n_nodes = 1;
  Policy policy;
  std::uint32_t n_own = 0;      // regions [0, n_own) are own
  std::vector<Region> regions;  // own first
  RegionLists inputs;           // [regions]: for units; empty for halo regions
  RegionLists readers;          // [regions]: the reverse of inputs
  std::vector<Neighbour> neighbours;
  // Ticks that inner regions are worked through before the next ones, as a skewed wavefront: tiles
  // then stay in the cache from tick to tick. 1: tick by tick.
  Tick skew = 1;
  // Of a node alone whose tiles are cut for that: ticks [skew * n, skew * (n + 1)) are a block. A core takes
  // what is ready of one block before what is of the next, and no region begins block n before all are
  // through n - 2.
  bool in_blocks = false;
  // Diagonals of the wavefront that run in one go, across which the store may step part by part
  // (Store::step_all): where what one diagonal leaves in the cache is gone before the next comes to it.
  std::uint32_t n_abreast = 1;

  // Ticks between the oldest version that anybody may still read and the newest that may be made.
  // Own regions run at most m ticks beyond the oldest late round and then ahead() more; a round may
  // lie k further. What is later waits. Policy pieces has its last round no further back than one
  // tick, and makes do with one version less.
  [[nodiscard]] Tick window() const noexcept {
    return policy.replica_layers + policy.period + ahead() + (policy.pieces ? 4 : 5);
  }
  // How far own regions may run ahead of the last tick that is complete. Without neighbours nobody
  // waits for a network, and the order of units is free to follow the cache.
  [[nodiscard]] Tick ahead() const noexcept {
    if (in_blocks) return 2 * skew - 1;  // at most: Dataflow::own_limit()
    return neighbours.empty() ? kSkew : policy.depth;
  }
  [[nodiscard]] Tick block_end(Tick t) const noexcept { return t - t % skew + skew; }
  // Units of one diagonal that run in one go: with neighbours an eighth of a tick at most, for which
  // a message may have to wait.
  [[nodiscard]] Tick chain_most() const noexcept {
    return neighbours.empty() ? kSkew : 1 + static_cast<Tick>(n_own / 8);
  }

  // What it takes of memory, itself included.
  [[nodiscard]] std::size_t bytes() const noexcept;

  // Builds `readers` from `inputs`.
  void link_readers();
  // Sets the depth of own regions from `sources`, once these and the inputs are known.
  void set_depths();
};

}  // namespace rubato::tick

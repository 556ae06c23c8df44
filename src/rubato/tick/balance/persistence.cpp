#include "rubato/tick/balance/persistence.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rubato/base/error.hpp"

namespace rubato::tick {
namespace {

using PieceId = std::uint32_t;

class Balancer {
 public:
  Balancer(std::span<const double> costs, std::span<const NodeId> owners, std::uint32_t n_nodes,
           const BalanceOptions& options)
      : costs_(costs), owners_(owners.begin(), owners.end()), loads_(n_nodes, 0) {
    for (std::size_t piece = 0; piece < costs.size(); ++piece) {
      RUBATO_REQUIRE(owners[piece] < n_nodes, piece, owners[piece], n_nodes);
      RUBATO_REQUIRE(costs[piece] >= 0 && std::isfinite(costs[piece]), piece, costs[piece]);
      loads_[owners[piece]] += costs[piece];
    }
    const double sum = std::accumulate(loads_.begin(), loads_.end(), 0.0);
    mean_ = sum / static_cast<double>(n_nodes);
    most_ = mean_ * options.tolerance;
  }

  std::vector<NodeId> run(std::uint32_t fan_out) {
    std::vector<std::vector<PieceId>> given = give();
    const auto n = static_cast<std::uint32_t>(loads_.size());
    // Groups of fan_out, fan_out^2 .. nodes, the last one of all.
    for (std::uint64_t width = fan_out;; width *= fan_out) {
      std::vector<std::vector<PieceId>> up;
      for (std::uint64_t first = 0; first < n; first += width) {
        std::vector<PieceId> pool;
        for (std::size_t i = 0; i < fan_out && up.size() * fan_out + i < given.size(); ++i) {
          const auto& list = given[up.size() * fan_out + i];
          pool.insert(pool.end(), list.begin(), list.end());
        }
        const auto last = static_cast<NodeId>(std::min<std::uint64_t>(first + width, n));
        up.push_back(take(std::move(pool), static_cast<NodeId>(first), last));
      }
      given = std::move(up);
      if (width >= n) break;
    }
    // What no node could take within the tolerance goes to those that have least.
    for (const PieceId piece : given.front())
      assign(piece, least(0, n));
    return std::move(owners_);
  }

 private:
  [[nodiscard]] bool dearer(PieceId a, PieceId b) const noexcept {
    return costs_[a] != costs_[b] ? costs_[a] > costs_[b] : a < b;
  }
  [[nodiscard]] NodeId least(NodeId first, NodeId last) const noexcept {
    return static_cast<NodeId>(std::min_element(loads_.begin() + first, loads_.begin() + last) -
                               loads_.begin());
  }
  void assign(PieceId piece, NodeId to) {
    owners_[piece] = to;
    loads_[to] += costs_[piece];
  }

  // Of each node with too much, the pieces that it is to lose: the dearest ones that leave it with the
  // mean or more, so that they are few.
  [[nodiscard]] std::vector<std::vector<PieceId>> give() {
    std::vector<std::vector<PieceId>> of_node(loads_.size());
    for (PieceId piece = 0; piece < costs_.size(); ++piece)
      of_node[owners_[piece]].push_back(piece);
    for (NodeId node = 0; node < loads_.size(); ++node) {
      std::vector<PieceId> given;
      std::vector<PieceId>& own = of_node[node];
      std::ranges::sort(own, [this](PieceId a, PieceId b) { return dearer(a, b); });
      for (const PieceId piece : own) {
        if (loads_[node] <= most_) break;
        if (costs_[piece] == 0 || loads_[node] - costs_[piece] < mean_) continue;
        loads_[node] -= costs_[piece];
        given.push_back(piece);
      }
      own = std::move(given);
    }
    return of_node;
  }

  // The load that all of these nodes have, but those with more, if they share `cost` evenly.
  [[nodiscard]] double level(NodeId first, NodeId last, double cost) const {
    std::vector<double> loads(loads_.begin() + first, loads_.begin() + last);
    std::ranges::sort(loads);
    double sum = cost;
    for (std::size_t n = 1; n <= loads.size(); ++n) {
      sum += loads[n - 1];
      const double even = sum / static_cast<double>(n);
      if (n == loads.size() || even <= loads[n]) return even;
    }
    return 0;
  }

  // Gives the nodes from first up to last what they can take; returns the rest. Pieces of neighbouring
  // numbers lie together, and go together: whoever begins to take goes on until it has its share. A
  // piece alone among those of other nodes has neighbours on all sides that must wait for each other.
  [[nodiscard]] std::vector<PieceId> take(std::vector<PieceId> pool, NodeId first, NodeId last) {
    std::ranges::sort(pool);
    double cost = 0;
    for (const PieceId piece : pool)
      cost += costs_[piece];
    const double share = std::min(level(first, last, cost), most_);
    std::vector<PieceId> rest;
    NodeId to = least(first, last);
    for (const PieceId piece : pool) {
      if (loads_[to] + costs_[piece] / 2 > share) to = least(first, last);
      if (loads_[to] + costs_[piece] <= most_) {
        assign(piece, to);
      } else {
        rest.push_back(piece);
      }
    }
    return rest;
  }

  std::span<const double> costs_;
  std::vector<NodeId> owners_;
  std::vector<double> loads_;  // [n_nodes] of the pieces that a node has and keeps
  double mean_ = 0;
  double most_ = 0;
};

}  // namespace

std::vector<NodeId> balance_by_persistence(std::span<const double> costs,
                                           std::span<const NodeId> owners, std::uint32_t n_nodes,
                                           const BalanceOptions& options) {
  RUBATO_REQUIRE(costs.size() == owners.size(), costs.size(), owners.size());
  RUBATO_REQUIRE(n_nodes > 0 && options.tolerance >= 1 && options.fan_out >= 2, n_nodes,
                 options.fan_out);
  return Balancer(costs, owners, n_nodes, options).run(options.fan_out);
}

double imbalance(std::span<const double> loads) noexcept {
  if (loads.empty()) return 0;
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  if (sum <= 0) return 0;
  return *std::ranges::max_element(loads) * static_cast<double>(loads.size()) / sum - 1;
}

}  // namespace rubato::tick

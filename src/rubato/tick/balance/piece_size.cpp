#include "rubato/tick/balance/piece_size.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "rubato/base/error.hpp"
#include "rubato/tick/balance/grains.hpp"

namespace rubato::tick {
namespace {

// Of what was learned of crowds, from one epoch to the next: a fifth of it is forgotten after 14 of them,
// which is when smaller pieces are tried again where all that one costs lies in a grain.
constexpr double kCrowdingKept = 63.0 / 64;
// Smaller pieces are taken if a tick should then be this share shorter, and the largest of those that are so
// near to the best. What more messages and longer borders take is not known.
constexpr double kWorth = 0.2;
// Larger ones than now that cost no more than this.
constexpr double kNoLoss = 0.02;

}  // namespace

void Crowding::learn(double costliest) noexcept {
  times_ = 1 + (times_ - 1) * kept_;
  if (promised_ > 0) times_ = std::max(times_, costliest / promised_);
  promised_ = 0;
}

double Crowding::expected(double cost, double costliest_now) const noexcept {
  return std::min(cost * times_, costliest_now);
}

PieceSize::PieceSize(Options options) : options_(std::move(options)), crowding_(kCrowdingKept) {
  RUBATO_REQUIRE(!options_.choices.empty() && options_.n_cores > 0, options_.n_nodes,
                 options_.n_cores);
  const std::uint32_t first = options_.choices.front();
  std::erase_if(options_.choices, [&](std::uint32_t n) { return n > first; });
  std::ranges::sort(options_.choices, std::greater<>());
}

PieceSize::Time PieceSize::time_of(std::span<const double> grains, std::span<const NodeId> owners,
                                   std::uint32_t now, std::uint32_t then) const {
  const std::vector<double> costs = costs_of_pieces(grains, then);
  const std::vector<NodeId> after =
      balance_by_persistence(costs, owners_of_pieces(grains, owners, now, then, options_.n_nodes),
                             options_.n_nodes, options_.balance);
  std::vector<double> loads(options_.n_nodes);
  Time time;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    loads[after[i]] += costs[i];
    time.costliest = std::max(time.costliest, costs[i]);
  }
  time.shared = *std::ranges::max_element(loads) / options_.n_cores;
  return time;
}

std::uint32_t PieceSize::choose(std::span<const double> costs, std::span<const NodeId> owners,
                                std::uint32_t n_grains, std::uint32_t now) {
  const std::vector<double> grains = costs_of_grains(costs, n_grains, now);
  const Time present = time_of(grains, owners, now, now);
  crowding_.learn(present.costliest);
  const double limit = std::max(present.shared, present.costliest);
  // Less than an even share nobody can have.
  const double even = std::accumulate(costs.begin(), costs.end(), 0.0) /
                      (static_cast<double>(options_.n_nodes) * options_.n_cores);
  const bool is_largest = now == options_.choices.front();
  if (is_largest && even >= (1 - kWorth) * limit) return now;
  std::vector<std::pair<std::uint32_t, double>> smaller;  // the largest first
  double least = limit;
  for (const std::uint32_t n : options_.choices) {
    if (n == now) continue;
    const Time time = time_of(grains, owners, now, n);
    if (n > now && std::max(time.shared, time.costliest) <= (1 + kNoLoss) * limit) return n;
    if (n > now) continue;
    const double costliest = crowding_.expected(time.costliest, present.costliest);
    smaller.emplace_back(n, std::max(time.shared, costliest));
    least = std::min(least, smaller.back().second);
  }
  if (least >= limit || least > (1 - kWorth) * limit) return now;
  const auto best = std::ranges::find_if(
      smaller, [&](const auto& each) { return (1 - kWorth) * each.second <= least; });
  crowding_.promise(time_of(grains, owners, now, best->first).costliest);
  return best->first;
}

}  // namespace rubato::tick

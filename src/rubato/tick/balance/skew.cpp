#include "rubato/tick/balance/skew.hpp"

#include <algorithm>

#include "rubato/tick/balance/persistence.hpp"
#include "rubato/tick/dataflow.hpp"

namespace rubato::tick {

SkewObserver::SkewObserver(const Options& options, core::Observer* next)
    : options_(options),
      next_(next),
      cores_(static_cast<std::size_t>(options.n_nodes) * options.n_cores) {}

void SkewObserver::on_work(NodeId node, std::uint32_t core, const core::Work& work, Nanos begin,
                           Nanos end) noexcept {
  if (next_ != nullptr) next_->on_work(node, core, work, begin, end);
  const bool moves = work.kind == pack_round || work.kind == unpack_round;
  const bool steps = work.kind == step_own || work.kind == interact_own;
  if (!moves && !steps) return;
  // What is packed at tick t is for the steps from t.
  if (work.tick < options_.begin) return;
  Core& mine = cores_[static_cast<std::size_t>(node) * options_.n_cores + core];
  const auto at = static_cast<std::size_t>(work.tick - options_.begin);
  if (at >= mine.ticks.size()) mine.ticks.resize(at + 1);
  Times& times = mine.ticks[at];
  if (moves) {
    times.moves += end - begin;
    return;
  }
  times.steps += end - begin;
  if (work.kind == interact_own) times.ahead += end - begin;
  if (work.kind == step_own && options_.keeps_units) mine.units.push_back({work.tick, end});
}

void SkewObserver::on_sent(NodeId node, NodeId peer, std::size_t n_bytes, Nanos when) noexcept {
  if (next_ != nullptr) next_->on_sent(node, peer, n_bytes, when);
}

void SkewObserver::on_taken(NodeId node, NodeId peer, std::size_t n_bytes, Nanos when) noexcept {
  if (next_ != nullptr) next_->on_taken(node, peer, n_bytes, when);
}

std::vector<std::vector<SkewObserver::Times>> SkewObserver::by_node() const {
  std::vector<std::vector<Times>> nodes(options_.n_nodes);
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    std::vector<Times>& node = nodes[i / options_.n_cores];
    node.resize(std::max(node.size(), cores_[i].ticks.size()));
    for (std::size_t t = 0; t < cores_[i].ticks.size(); ++t) {
      node[t].steps += cores_[i].ticks[t].steps;
      node[t].ahead += cores_[i].ticks[t].ahead;
      node[t].moves += cores_[i].ticks[t].moves;
    }
  }
  return nodes;
}

Nanos SkewObserver::time(NodeId node, Tick t) const {
  Nanos sum = 0;
  const auto at = static_cast<std::size_t>(t - options_.begin);
  for (std::uint32_t core = 0; core < options_.n_cores; ++core) {
    const Core& each = cores_[static_cast<std::size_t>(node) * options_.n_cores + core];
    if (at < each.ticks.size()) sum += each.ticks[at].steps;
  }
  return sum;
}

Bytes SkewObserver::pack() const {
  Writer out;
  const auto nodes = by_node();
  for (const auto& node : nodes)
    out.put_vector(node);
  return out.take();
}

// A node's observations, one after the other, for the cores of nodes that saw nothing here.
void SkewObserver::add(ByteView packed) {
  Reader in(packed);
  for (NodeId node = 0; !in.at_end(); ++node) {
    std::vector<Times> ticks = in.get_vector<Times>();
    Core& first = cores_.at(static_cast<std::size_t>(node) * options_.n_cores);
    if (ticks.size() > first.ticks.size()) first.ticks.resize(ticks.size());
    for (std::size_t t = 0; t < ticks.size(); ++t) {
      first.ticks[t].steps += ticks[t].steps;
      first.ticks[t].ahead += ticks[t].ahead;
      first.ticks[t].moves += ticks[t].moves;
    }
  }
}

SkewFigures SkewObserver::figures() const {
  const auto nodes = by_node();
  SkewFigures figures;
  figures.begin = options_.begin;
  std::size_t n_ticks = 0;
  for (const auto& node : nodes)
    n_ticks = std::max(n_ticks, node.size());
  double ahead = 0;
  double steps = 0;
  double moves = 0;
  double worst = -1;
  std::vector<double> l(nodes.size());
  std::vector<double> c(nodes.size());
  for (std::size_t t = 0; t < n_ticks; ++t) {
    double sum_l = 0;
    double sum_c = 0;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      const Times times = t < nodes[node].size() ? nodes[node][t] : Times{};
      sum_l += l[node] = static_cast<double>(times.steps);
      sum_c += c[node] = static_cast<double>(times.moves);
      ahead += static_cast<double>(times.ahead);
    }
    figures.computation.push_back(imbalance(l));
    figures.communication.push_back(imbalance(c));
    steps += sum_l;
    moves += sum_c;
    figures.mean_computation += figures.computation.back() * sum_l;
    figures.mean_communication += figures.communication.back() * sum_c;
    // Of those that have five after them.
    const double weight = figures.computation.back() * sum_l;
    if (t + figures.completion.size() < n_ticks && weight > worst) {
      worst = weight;
      figures.skewed = options_.begin + static_cast<Tick>(t);
    }
  }
  if (steps > 0) {
    figures.asynchronous_share = ahead / steps;
    figures.mean_computation /= steps;
  }
  if (moves > 0) figures.mean_communication /= moves;
  if (options_.keeps_units) find_completion(figures);
  return figures;
}

void SkewObserver::find_completion(SkewFigures& figures) const {
  Nanos end = 0;
  for (const Core& core : cores_) {
    for (const Unit& unit : core.units)
      if (unit.tick == figures.skewed) end = std::max(end, unit.end);
  }
  std::array<std::int64_t, 5> all{};
  std::array<std::int64_t, 5> done{};
  for (const Core& core : cores_) {
    for (const Unit& unit : core.units) {
      const Tick after = unit.tick - figures.skewed - 1;
      if (after < 0 || after >= static_cast<Tick>(all.size())) continue;
      ++all[static_cast<std::size_t>(after)];
      done[static_cast<std::size_t>(after)] += unit.end <= end ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    figures.completion[i] =
        all[i] > 0 ? static_cast<double>(done[i]) / static_cast<double>(all[i]) : 0;
  }
}

}  // namespace rubato::tick

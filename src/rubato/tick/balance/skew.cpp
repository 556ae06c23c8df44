#include "rubato/tick/balance/skew.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "rubato/base/error.hpp"
#include "rubato/tick/balance/persistence.hpp"
#include "rubato/tick/dataflow.hpp"

namespace rubato::tick {
namespace {

constexpr Tick kAfter = 5;  // ticks whose completion [AsyTick figure 8] shows

}  // namespace

Tick SkewObserver::ticks_max(std::uint32_t n_nodes) noexcept {
  return std::min(kTicksMax,
                  static_cast<Tick>(std::max<std::uint64_t>(kNodeTicksMax / n_nodes, 1)));
}

SkewObserver::SkewObserver(const Options& options, core::Observer* next)
    : ChainedObserver(next),
      options_(options),
      ticks_max_(options.n_ticks_max > 0 ? options.n_ticks_max
                                         : ticks_max(std::max(options.n_nodes, 1U))),
      cores_(static_cast<std::size_t>(options.n_nodes) * options.n_cores),
      elsewhere_(options.n_nodes) {
  RUBATO_REQUIRE(options.n_nodes > 0 && options.n_cores > 0, options.n_nodes, options.n_cores);
}

void SkewObserver::on_work(NodeId node, std::uint32_t core, const core::Work& work, Nanos begin,
                           Nanos end) noexcept {
  ChainedObserver::on_work(node, core, work, begin, end);
  const bool moves = work.kind == pack_round || work.kind == unpack_round;
  const bool steps = work.kind == step_own || work.kind == interact_own || work.kind == step_lent;
  if (!moves && !steps) return;
  // What is packed at tick t is for the steps from t.
  const Tick after = work.tick - options_.begin;
  if (after < 0 || after >= ticks_max_) return;
  RUBATO_ASSERT(node - options_.first_node < options_.n_nodes && core < options_.n_cores, node,
                core);
  const std::size_t row = node - options_.first_node;
  Core& mine = cores_[row * options_.n_cores + core];
  const auto at = static_cast<std::size_t>(after);
  if (at >= mine.ticks.size()) mine.ticks.resize(at + 1);
  Times& times = mine.ticks[at];
  if (moves) {
    times.moves += end - begin;
    times.late = std::max(times.late, work.late);
    return;
  }
  times.steps += end - begin;
  mine.first = mine.steps ? std::min(mine.first, begin) : begin;
  mine.last = mine.steps ? std::max(mine.last, end) : end;
  mine.steps = true;
  if (work.kind == interact_own) times.ahead += end - begin;
  if (work.kind != step_own || !options_.keeps_units) return;
  if (mine.units.size() < options_.n_units_max / cores_.size()) {
    mine.units.push_back({work.tick, end});
  } else {
    mine.lost = std::min(mine.lost, work.tick);
  }
}

// On another core, or elsewhere.
void SkewObserver::Times::add(const Times& other) {
  steps += other.steps;
  ahead += other.ahead;
  moves += other.moves;
  late = std::max(late, other.late);
}

SkewObserver::NodeTimes SkewObserver::by_node() const {
  NodeTimes nodes(options_.n_nodes);
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    std::vector<Times>& node = nodes[i / options_.n_cores];
    node.resize(std::max(node.size(), cores_[i].ticks.size()));
    for (std::size_t t = 0; t < cores_[i].ticks.size(); ++t)
      node[t].add(cores_[i].ticks[t]);
  }
  return nodes;
}

Nanos SkewObserver::time(NodeId node, Tick t) const {
  RUBATO_REQUIRE(node - options_.first_node < options_.n_nodes, node, options_.n_nodes);
  if (t < options_.begin) return 0;
  Nanos sum = 0;
  const auto at = static_cast<std::size_t>(t - options_.begin);
  const std::size_t first = std::size_t{node - options_.first_node} * options_.n_cores;
  for (std::size_t core = first; core < first + options_.n_cores; ++core)
    if (at < cores_[core].ticks.size()) sum += cores_[core].ticks[at].steps;
  return sum;
}

Bytes SkewObserver::pack() const {
  Writer out;
  const NodeTimes nodes = by_node();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    out.put(options_.first_node + static_cast<NodeId>(i));
    out.put(seen_here(i, i + 1));
    out.put_vector(nodes[i]);
  }
  return out.take();
}

// To the first core of each node: figures() have those of nodes alone.
void SkewObserver::add(ByteView packed) {
  Reader in(packed);
  while (!in.at_end()) {
    const auto node = in.get<NodeId>();
    if (node - options_.first_node >= options_.n_nodes) {
      throw Error("observations of a run: expected nodes from " +
                  std::to_string(options_.first_node) + ", " + std::to_string(options_.n_nodes) +
                  " of them, found node " + std::to_string(node));
    }
    Seen& seen = elsewhere_[node - options_.first_node];
    const auto more = in.get<Seen>();
    seen.n_cores += more.n_cores;
    seen.span = std::max(seen.span, more.span);
    seen.lost = std::min(seen.lost, more.lost);
    std::vector<Times> ticks = in.get_vector<Times>();
    if (ticks.size() > static_cast<std::size_t>(ticks_max_))
      ticks.resize(static_cast<std::size_t>(ticks_max_));
    Core& first = cores_[std::size_t{node - options_.first_node} * options_.n_cores];
    if (ticks.size() > first.ticks.size()) first.ticks.resize(ticks.size());
    for (std::size_t t = 0; t < ticks.size(); ++t)
      first.ticks[t].add(ticks[t]);
  }
}

Bytes SkewObserver::pack_units(Tick completion_tick) const {
  std::vector<Unit> units;
  for (const Core& core : cores_) {
    std::ranges::copy_if(core.units, std::back_inserter(units), [&](const Unit& unit) {
      return unit.tick >= completion_tick && unit.tick <= completion_tick + kAfter;
    });
  }
  Writer out;
  out.put_vector(units);
  return out.take();
}

void SkewObserver::add_units(ByteView packed, Nanos ahead) {
  for (const Unit& unit : Reader(packed).get_vector<Unit>())
    cores_.front().units.push_back({unit.tick, unit.end - ahead});
}

SkewFigures SkewObserver::figures() const {
  const NodeTimes nodes = by_node();
  SkewFigures figures;
  figures.begin = options_.begin;
  double ahead = 0;
  double steps = 0;
  for (const auto& node : nodes) {
    for (std::size_t t = 0; t < node.size(); ++t) {
      // What has been sent ahead of an end that came sooner is for no step.
      if (node[t].steps > 0) figures.n_ticks = std::max(figures.n_ticks, t + 1);
      ahead += static_cast<double>(node[t].ahead);
      steps += static_cast<double>(node[t].steps);
    }
  }
  if (steps > 0) figures.asynchronous_share = ahead / steps;
  // By tick, then weighted by its time.
  const auto of_steps = [](const Times& times) { return times.steps; };
  const auto of_messages = [](const Times& times) { return times.moves + times.late; };
  const auto imbalance_of = [&](const auto& what, std::size_t n_candidates) {
    Imbalance of;
    of.worst = options_.begin;
    double all = 0;
    double most = -1;
    std::vector<double> loads(nodes.size());
    for (std::size_t t = 0; t < figures.n_ticks; ++t) {
      double sum = 0;
      for (std::size_t node = 0; node < nodes.size(); ++node) {
        loads[node] = t < nodes[node].size() ? static_cast<double>(what(nodes[node][t])) : 0;
        sum += loads[node];
      }
      of.by_tick.push_back(imbalance(loads));
      const double lost = of.by_tick.back() * sum;
      of.mean += lost;
      all += sum;
      if (t >= n_candidates || lost <= most) continue;
      most = lost;
      of.worst = options_.begin + static_cast<Tick>(t);
      of.at_worst = of.by_tick.back();
    }
    if (all > 0) of.mean /= all;
    return of;
  };
  const std::size_t n_before_last =
      figures.n_ticks > kAfter ? figures.n_ticks - kAfter : figures.n_ticks;
  figures.computation = imbalance_of(of_steps, n_before_last);
  figures.completion_tick = figures.computation.worst;
  if (const std::size_t n = n_candidates(figures.n_ticks); n < n_before_last)
    figures.completion_tick = imbalance_of(of_steps, n).worst;
  figures.communication = imbalance_of(of_messages, figures.n_ticks);
  hold_against_barriers(nodes, figures);
  if (options_.keeps_units) figures.completion = completion(figures);
  return figures;
}

SkewObserver::Seen SkewObserver::seen_here(std::size_t first, std::size_t last) const {
  Seen seen;
  Nanos begin = 0;
  Nanos end = 0;
  for (std::size_t i = first * options_.n_cores; i < last * options_.n_cores; ++i) {
    const Core& core = cores_[i];
    seen.lost = std::min(seen.lost, core.lost);
    if (!core.steps) continue;
    begin = seen.n_cores == 0 ? core.first : std::min(begin, core.first);
    end = std::max(end, core.last);
    ++seen.n_cores;
  }
  seen.span = seen.n_cores == 0 ? 0 : end - begin;
  return seen;
}

void SkewObserver::hold_against_barriers(const NodeTimes& nodes, SkewFigures& figures) const {
  Nanos span = seen_here(0, nodes.size()).span;
  std::vector<double> n_cores(nodes.size());
  double n_all = 0;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    span = std::max(span, elsewhere_[node].span);
    const std::uint64_t n = seen_here(node, node + 1).n_cores + elsewhere_[node].n_cores;
    n_cores[node] = static_cast<double>(std::max<std::uint64_t>(n, 1));
    n_all += n_cores[node];
  }
  double even = 0;
  double barriers = 0;
  for (std::size_t t = 0; t < figures.n_ticks; ++t) {
    double slowest = 0;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (t >= nodes[node].size()) continue;
      const auto steps = static_cast<double>(nodes[node][t].steps);
      even += steps / n_all;
      slowest = std::max(slowest, steps / n_cores[node]);
    }
    barriers += slowest;
  }
  constexpr double kSecond = 1e-9;
  figures.even_s = even * kSecond;
  figures.barriers_s = barriers * kSecond;
  figures.span_s = static_cast<double>(span) * kSecond;
}

bool SkewFigures::tells_ticks(Nanos clock_error) const {
  if (clock_error == 0) return true;
  constexpr double kOfATick = 0.1;
  constexpr double kDrift = 20e-6;
  const double span = span_s * 1e9;
  return 2 * (static_cast<double>(clock_error) + kDrift * span) * static_cast<double>(n_ticks) <=
         kOfATick * span;
}

std::optional<double> SkewFigures::absorbed() const {
  // Less than that is no skew: what is left of sums that are rounded.
  constexpr double kLeast = 1e-6;
  if (barriers_s - even_s <= kLeast * barriers_s) return std::nullopt;
  return (barriers_s - span_s) / (barriers_s - even_s);
}

// The first tick with a unit that is not kept.
Tick SkewObserver::first_lost() const {
  Tick first = seen_here(0, options_.n_nodes).lost;
  for (const Seen& seen : elsewhere_)
    first = std::min(first, seen.lost);
  return first;
}

// The worst tick is one of the first so many: of those with kAfter ticks after it and no lost unit in
// them, or of all where there is none.
std::size_t SkewObserver::n_candidates(std::size_t n_ticks) const {
  const Tick lost = first_lost();
  const Tick whole =
      std::min(static_cast<Tick>(n_ticks), lost == kNoTick ? kNoTick : lost - options_.begin);
  return whole > kAfter ? static_cast<std::size_t>(whole - kAfter) : n_ticks;
}

std::vector<double> SkewObserver::completion(const SkewFigures& figures) const {
  const Tick worst = figures.completion_tick;
  std::optional<Nanos> end;
  for (const Core& core : cores_) {
    for (const Unit& unit : core.units)
      if (unit.tick == worst) end = std::max(end.value_or(unit.end), unit.end);
  }
  const Tick n_after =
      std::min(kAfter, options_.begin + static_cast<Tick>(figures.n_ticks) - worst - 1);
  if (!end || n_after <= 0 || first_lost() <= worst + n_after) return {};
  std::vector<std::int64_t> all(static_cast<std::size_t>(n_after));
  std::vector<std::int64_t> done(all.size());
  for (const Core& core : cores_) {
    for (const Unit& unit : core.units) {
      const Tick after = unit.tick - worst - 1;
      if (after < 0 || after >= n_after) continue;
      ++all[static_cast<std::size_t>(after)];
      done[static_cast<std::size_t>(after)] += unit.end <= *end ? 1 : 0;
    }
  }
  std::vector<double> shares;
  for (std::size_t i = 0; i < all.size(); ++i) {
    shares.push_back(all[i] > 0 ? static_cast<double>(done[i]) / static_cast<double>(all[i]) : 0);
  }
  return shares;
}

}  // namespace rubato::tick

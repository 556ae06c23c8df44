#include "rubato/tick/tune/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"

namespace rubato::tick {
namespace {

// So many samples of all links tell as much of one link as one of its own.
constexpr double kPooled = 200;
constexpr Tick kLeastTicks = 40;
constexpr Tick kMostTicks = 400;

// What all links have seen, to be drawn from as one: values that are equally likely.
class Pool {
 public:
  explicit Pool(std::span<const LinkDelays> links) {
    double n = 0;
    for (const LinkDelays& link : links)
      n += static_cast<double>(link.delays.n);
    if (n == 0) return;
    values_.reserve(kValues);
    double passed = 0;
    for (const LinkDelays& link : links) {
      double begin = 0;
      for (std::size_t i = 0; i < Delays::kStrata.size(); ++i) {
        passed += static_cast<double>(link.delays.n) * (Delays::kStrata[i] - begin);
        begin = Delays::kStrata[i];
        while (values_.size() < kValues &&
               (static_cast<double>(values_.size()) + 0.5) * n < passed * kValues)
          values_.push_back(link.delays.above[i]);
      }
    }
  }
  // For one link, of which `own` is known or, if null, nothing: its own samples the more often the
  // more there are of them. Both numbers are uniform in [0, 1).
  [[nodiscard]] double draw_for(const Delays* own, double which, double unit) const {
    const double n = own == nullptr ? 0 : static_cast<double>(own->n);
    if (which * (n + kPooled) < n) return own->draw(unit);
    if (values_.empty()) return 0;
    return values_[static_cast<std::size_t>(unit * static_cast<double>(values_.size()))];
  }

 private:
  static constexpr std::size_t kValues = 1 << 14;
  std::vector<float> values_;
};

// The least delay of each link: half of there and back; where only one way was seen, the mean of
// those that have both.
class LeastDelays {
 public:
  explicit LeastDelays(std::span<const LinkDelays> links) {
    for (const LinkDelays& link : links) {
      if (link.delays.n > 0) least_[{link.from, link.to}] = link.delays.least;
    }
    double sum = 0;
    std::size_t n = 0;
    for (const auto& [way, least] : least_) {
      const auto back = least_.find({way.second, way.first});
      if (back == least_.end()) continue;
      sum += std::max(0.0, (least + back->second) / 2);
      ++n;
    }
    if (n > 0) mean_ = sum / static_cast<double>(n);
  }
  [[nodiscard]] double of(NodeId from, NodeId to) const {
    const auto there = least_.find({from, to});
    const auto back = least_.find({to, from});
    if (there == least_.end() || back == least_.end()) return mean_;
    return std::max(0.0, (there->second + back->second) / 2);
  }

 private:
  std::map<std::pair<NodeId, NodeId>, double> least_;
  double mean_ = 0;
};

double unit_of(std::uint32_t word) {
  return static_cast<double>(word) * 0x1.0p-32;
}

double sum_of_layers(const LinkShape& link, int n) {
  const auto most = std::min(link.layers.size(), static_cast<std::size_t>(std::max(n, 0)));
  return std::accumulate(link.layers.begin(),
                         link.layers.begin() + static_cast<std::ptrdiff_t>(most), 0.0);
}

}  // namespace

// The clocks of all nodes under one policy.
class Forecast::Run {
 public:
  Run(const Forecast& forecast, const Policy& policy, const Sharing& sharing)
      : all_(forecast), policy_(policy), nodes_(forecast.shapes_.size()) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const NodeShape& shape = all_.shapes_[i];
      Node& node = nodes_[i];
      node.shape = &shape;
      node.inside = sharing.pieces < shape.inside_of.size() ? &shape.inside_of[sharing.pieces]
                                                            : &shape.inside;
      node.step = all_.step_of(static_cast<NodeId>(i), sharing);
      node.of_size = shape.size > 0 ? node.step / shape.size : 0;
      node.outside.push_back(0);
      for (Tick j = 1; j <= std::ssize(*node.inside); ++j)
        node.outside.push_back(node.outside.back() + node.step - inside(node, j));
    }
    for (const Link& link : all_.links_) {
      // Some are met only further out than this policy reads.
      const bool sizes = all_.shapes_[link.to].layers > 0;
      if (sizes && sum_of_layers(*link.shape, policy.replica_layers + 1) == 0) continue;
      nodes_[link.to].in.push_back(ways_.size());
      ways_.push_back({.link = &link,
                       .of_size = replica_of_size(link) * all_.replica_cost_,
                       .layers = {0.0},
                       .arrivals = {0.0}});
      for (const double layer : link.shape->layers)
        ways_.back().layers.push_back(ways_.back().layers.back() + layer);
    }
    set_ways();
    set_message_times();
  }

  // Of so many ticks, the first quarter not counted.
  TickForecast tick(Tick n_ticks) {
    const Tick begin = n_ticks / 4;
    std::vector<double> at_begin(nodes_.size());
    for (Tick t = 0; t < n_ticks; ++t) {
      if (t == begin) {
        for (std::size_t i = 0; i < nodes_.size(); ++i)
          at_begin[i] = nodes_[i].time;
        replicas_ = 0;
      }
      for (Node& node : nodes_)
        step(node, t);
      if ((t + 1) % policy_.period == 0) send(t + 1);
    }
    double longest = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      longest = std::max(longest, nodes_[i].time - at_begin[i]);
    const auto n = static_cast<double>(n_ticks - begin);
    return {longest / n, replicas_ / n / static_cast<double>(nodes_.size())};
  }
  [[nodiscard]] std::size_t n_ways() const noexcept { return ways_.size(); }

 private:
  struct Node {
    double step = 0;     // ns of a tick
    double of_size = 0;  // ns of a unit of size
    double message = 0;  // ns of a round, all links together
    double time = 0;
    double left = 0;              // when all but the sides that wait is stepped
    std::vector<std::size_t> in;  // ways
    std::vector<double> outside;  // [n] of n ticks ahead, what cannot be stepped, ns
    const NodeShape* shape = nullptr;
    const std::vector<double>* inside = nullptr;  // of the shape
  };
  struct Way {
    const Link* link = nullptr;
    double of_size = 0;               // ns of a unit of size of its layers
    std::vector<double> layers;       // [n] sum of so many
    double share = 0;                 // of what its target needs from others
    std::size_t back = kNone;         // the way from its target to its source
    std::vector<double> arrivals;     // [rounds], that of tick 0 first
    std::size_t taken = 0;            // the last that had come when its node looked
    double debt = 0;                  // ns of work that waits for it
    double ready = 0;                 // when its target has stepped what reads it
    double side = 0;                  // and all that its source reads
    std::vector<std::size_t> with{};  // ways by which the source is kept waiting, too
  };
  static constexpr std::size_t kNone = SIZE_MAX;

  // ns of a unit of size of a link's layers. Where parts cost what they hold, that is what their own nodes have
  // measured: work that is shared anew lies as densely as before.
  [[nodiscard]] double replica_of_size(const Link& link) const {
    const NodeShape& from = all_.shapes_[link.from];
    if (!from.is_uneven) return nodes_[link.to].of_size;
    return from.size > 0 ? all_.loads_[link.from].step / from.size : 0;
  }

  void set_message_times() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      double measured = 0;
      double wanted = 0;
      for (const LinkShape& link : all_.shapes_[i].links) {
        measured += sum_of_layers(link, all_.policy_.replica_layers + 1);
        wanted += sum_of_layers(link, policy_.replica_layers + 1);
      }
      const double more = measured > 0 ? wanted / measured : 1;
      const TickCosts& load = all_.loads_[i];
      nodes_[i].message = (load.message + load.packing * more) * all_.policy_.period;
    }
  }

  // Each way's part of its node's border, and the way back.
  void set_ways() {
    std::map<std::pair<NodeId, NodeId>, std::size_t> numbers;
    for (std::size_t i = 0; i < ways_.size(); ++i)
      numbers[{ways_[i].link->from, ways_[i].link->to}] = i;
    for (Way& way : ways_) {
      const auto back = numbers.find({way.link->to, way.link->from});
      if (back != numbers.end()) way.back = back->second;
    }
    for (const Node& node : nodes_) {
      double sum = 0;
      for (const std::size_t i : node.in)
        sum += ways_[i].link->shape->layers.front();
      for (const std::size_t i : node.in) {
        for (const std::uint32_t link : ways_[i].link->shape->with) {
          const auto other = numbers.find({node.shape->links[link].node, ways_[i].link->to});
          if (other != numbers.end()) ways_[i].with.push_back(other->second);
        }
        ways_[i].share = sum > 0 ? ways_[i].link->shape->layers.front() / sum
                                 : 1 / static_cast<double>(node.in.size());
      }
    }
  }

  // What may be stepped to j ticks ahead of all that is outside, ns.
  [[nodiscard]] double inside(const Node& node, Tick j) const {
    if (j <= 0) return node.step;
    const auto& sizes = *node.inside;
    return j <= std::ssize(sizes) ? sizes[static_cast<std::size_t>(j - 1)] * node.of_size : 0;
  }

  // What that leaves of so many ticks, ns.
  [[nodiscard]] static double outside(const Node& node, Tick n_ticks) {
    const auto n = static_cast<std::size_t>(n_ticks);
    if (n < node.outside.size()) return node.outside[n];
    return node.outside.back() + static_cast<double>(n + 1 - node.outside.size()) * node.step;
  }

  // Of ticks that a round of `fresh` ticks is late by, so many are bridged by replicas: those since it
  // would have been sent last, and those that the inside cannot be ahead.
  [[nodiscard]] Tick bridged(Tick t, Tick behind) const {
    const Tick late = behind - t % policy_.period;
    const Tick ahead = std::min<Tick>(late, policy_.depth);
    return std::min<Tick>(behind - ahead, policy_.replica_layers);
  }

  void step(Node& node, Tick t) {
    const Tick k = policy_.period;
    const auto fresh = static_cast<std::size_t>(t / k);
    // Without a round of this tick replicas bridge m ticks, and then the inside goes ahead for d.
    const Tick oldest = t - policy_.replica_layers - policy_.depth;
    const auto must = static_cast<std::size_t>(std::max<Tick>(0, (oldest + k - 1) / k));
    const bool ahead = policy_.depth > 0;
    double start = node.time;
    for (const std::size_t i : node.in)
      start =
          std::max(start, ways_[i].arrivals[ahead || policy_.replica_layers > 0 ? must : fresh]);
    const double inner = ahead ? inside(node, 1) : 0;
    double work = node.step;
    for (const std::size_t i : node.in) {
      Way& way = ways_[i];
      while (way.taken < fresh && way.arrivals[way.taken + 1] <= start + inner)
        ++way.taken;
      const Tick behind = t - static_cast<Tick>(way.taken) * k;
      const Tick layers = bridged(t, behind);
      const double again =
          way.layers[std::min(static_cast<std::size_t>(layers), way.layers.size() - 1)] *
          way.of_size;
      work += again;
      replicas_ += again;
      const double blocked = way.share * outside(node, behind - layers);
      work += way.debt - blocked;
      way.debt = blocked;
    }
    // A round comes from as many layers as it is read for.
    node.left = start + work - (ahead ? inside(node, policy_.replica_layers + 1) : 0);
    node.time = start + std::max(work, 0.0);
    if ((t + 1) % k == 0) {
      node.time += node.message;
      node.left = ahead ? std::min(node.left + node.message, node.time) : node.time;
    }
    set_sides(node, t);
  }

  // When what each neighbour reads is stepped to t + 1: when the rest of the border is, and soon after
  // the round that it needs has come.
  void set_sides(const Node& node, Tick t) {
    const Tick k = policy_.period;
    const auto needed =
        static_cast<std::size_t>(std::max<Tick>(0, t - policy_.replica_layers + k - 1) / k);
    const double border = node.step - inside(node, 1);
    for (const std::size_t i : node.in) {
      Way& way = ways_[i];
      way.ready = std::max(node.left, way.arrivals[needed] + way.share * border);
      way.side = std::max(way.side, way.ready);
    }
    for (const std::size_t i : node.in) {
      for (const std::size_t other : ways_[i].with)
        ways_[other].side = std::max(ways_[other].side, ways_[i].ready);
    }
  }

  void send(Tick round) {
    for (Way& way : ways_) {
      const auto t = static_cast<std::size_t>(std::min(round, all_.ticks_ - 1));
      const double sent = way.back != kNone ? ways_[way.back].side : nodes_[way.link->from].time;
      way.arrivals.push_back(std::max(sent + way.link->delays[t], way.arrivals.back()));
    }
  }

  const Forecast& all_;
  const Policy& policy_;
  std::vector<Node> nodes_;
  std::vector<Way> ways_;
  double replicas_ = 0;  // ns of all nodes
};

Forecast::Forecast(const ForecastInput& input, std::size_t n_draws)
    : policy_(input.policy),
      replica_cost_(input.replica_cost),
      loads_(input.loads),
      shapes_(input.shapes),
      indivisible_of_(input.indivisible_of),
      balanced_(input.balanced) {
  RUBATO_REQUIRE(loads_.size() == shapes_.size(), loads_.size(), shapes_.size());
  std::size_t n_links = 0;
  for (const NodeShape& shape : shapes_)
    n_links += shape.links.size();
  ticks_ = std::clamp(static_cast<Tick>(n_draws / std::max<std::size_t>(n_links, 1)), kLeastTicks,
                      kMostTicks);
  for (const TickCosts& load : loads_) {
    mean_step_ += load.step / static_cast<double>(loads_.size());
    most_step_ = std::max(most_step_, load.step);
    indivisible_ = std::max(indivisible_, load.indivisible);
    pieces_.add(load.pieces);
  }
  draw_delays(input);
}

void Forecast::draw_delays(const ForecastInput& input) {
  const Pool pool(input.delays);
  const LeastDelays least(input.delays);
  std::map<std::pair<NodeId, NodeId>, const Delays*> known;
  for (const LinkDelays& link : input.delays)
    known[{link.from, link.to}] = &link.delays;
  for (NodeId to = 0; to < shapes_.size(); ++to) {
    for (const LinkShape& shape : shapes_[to].links) {
      Link link{shape.node, to, &shape, {}};
      const auto found = known.find({shape.node, to});
      const Delays* own = found == known.end() ? nullptr : found->second;
      const double base = least.of(shape.node, to);
      for (Tick t = 0; t < ticks_; ++t) {
        const auto words = random_words(1, links_.size(), static_cast<std::uint64_t>(t));
        const double above = pool.draw_for(own, unit_of(words[0]), unit_of(words[1]));
        link.delays.push_back(static_cast<float>(base + above));
      }
      n_steps_ += link.delays.size();
      links_.push_back(std::move(link));
    }
  }
}

bool Forecast::can(const Policy& policy) const noexcept {
  return std::ranges::all_of(
      shapes_, [&](const NodeShape& shape) { return policy.replica_layers <= shape.layers; });
}

// ns of a node's own work in a tick.
double Forecast::step_of(NodeId node, const Sharing& sharing) const {
  const TickCosts& load = loads_[node];
  if (sharing.pieces >= indivisible_of_.size()) {
    return sharing.anew ? std::max(mean_step_, load.indivisible)
                        : std::max(load.step, load.pieces.largest);
  }
  const double indivisible = indivisible_of_[sharing.pieces][node];
  return std::max(sharing.anew ? mean_step_ : evened(node, sharing.pieces), indivisible);
}

// What is uneven now, though it was shared anew, may be so since pieces are large: then others would leave
// more or less of it, as their costliest ones do above the mean.
double Forecast::evened(NodeId node, std::size_t pieces) const {
  const auto left_by = [&](double costliest) { return std::max(costliest, mean_step_); };
  const double costliest = *std::ranges::max_element(indivisible_of_[pieces]);
  const double most = most_step_ * left_by(costliest) / std::max(left_by(indivisible_), 1.0);
  const double above = most_step_ - mean_step_;
  if (!balanced_ || above <= 0) return loads_[node].step;
  const double share = std::max(0.0, most - mean_step_) / above;
  return mean_step_ + share * (loads_[node].step - mean_step_);
}

TickForecast Forecast::tick(const Policy& policy, const Sharing& sharing, Tick most) const {
  RUBATO_REQUIRE(can(policy) && !policy.barrier, policy.to_string());
  Run run(*this, policy, sharing);
  const Tick n_ticks = std::min(most, ticks_);
  n_steps_ += run.n_ways() * static_cast<std::size_t>(n_ticks);
  return run.tick(n_ticks);
}

double Forecast::delay_quantile(double share) const {
  std::vector<float> all;
  for (const Link& link : links_)
    all.insert(all.end(), link.delays.begin(), link.delays.end());
  if (all.empty()) return 0;
  const auto at =
      std::min(all.size() - 1, static_cast<std::size_t>(share * static_cast<double>(all.size())));
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(at));
  return static_cast<double>(all[at]);
}

}  // namespace rubato::tick

#include "bench/max_plus.hpp"

#include <algorithm>
#include <vector>

#include "rubato/net/latency.hpp"

namespace rubato::bench {
namespace {

class Model {
 public:
  Model(const MaxPlusCase& c, const tick::Policy& policy, const net::Profile& profile,
        std::uint64_t seed)
      : c_(c), policy_(policy), profile_(profile) {
    const auto n = static_cast<std::size_t>(c.side * c.side);
    hosts_.resize(n);
    for (std::size_t host = 0; host < n; ++host) {
      hosts_[host].ahead.assign(static_cast<std::size_t>(std::max(1, policy.depth)), 0.0);
      for (std::size_t to = 0; to < n; ++to) {
        if (!near(host, to)) continue;
        links_.push_back({host,
                          to,
                          net::LinkSampler(profile, seed, static_cast<net::NodeId>(host),
                                           static_cast<net::NodeId>(to)),
                          {0.0}});
      }
    }
  }

  double run() {
    for (int t = 0; t < c_.ticks; ++t) {
      for (std::size_t host = 0; host < hosts_.size(); ++host)
        step(host, t);
      if ((t + 1) % policy_.period == 0) send();
    }
    double last = 0;
    for (const Host& host : hosts_)
      last = std::max(last, host.time);
    return c_.ticks * 1e9 / last;
  }

 private:
  struct Host {
    double time = 0;            // ns
    std::vector<double> ahead;  // cells done of the ticks to come
  };
  struct Link {
    std::size_t from;
    std::size_t to;
    net::LinkSampler sampler;
    std::vector<double> arrivals;  // [rounds], that of tick 0 first
  };

  [[nodiscard]] bool near(std::size_t a, std::size_t b) const {
    const auto side = static_cast<std::size_t>(c_.side);
    const auto dx = static_cast<int>(a % side) - static_cast<int>(b % side);
    const auto dy = static_cast<int>(a / side) - static_cast<int>(b / side);
    if (a == b || std::abs(dx) > 1 || std::abs(dy) > 1) return false;
    return policy_.replica_layers > 0 || dx == 0 || dy == 0;
  }

  void step(std::size_t which, int t) {
    Host& host = hosts_[which];
    const int m = policy_.replica_layers;
    const auto round =
        static_cast<std::size_t>(std::max(0, (t - m + policy_.period - 1) / policy_.period));
    double start = host.time;
    for (const Link& link : links_) {
      if (link.to == which) start = std::max(start, link.arrivals[round]);
    }
    double waiting = start - host.time;
    for (std::size_t layer = 0; layer < host.ahead.size() && policy_.depth > 0 && waiting > 0;
         ++layer) {
      const double side = std::max(0.0, c_.block - 2 * static_cast<double>(layer + 1));
      const double done = std::min(side * side - host.ahead[layer], waiting / c_.ns_per_cell);
      host.ahead[layer] += done;
      waiting -= done * c_.ns_per_cell;
    }
    const double layers =
        m == 0 ? 0 : std::max(0.0, m - t % policy_.period - (m + 1 - policy_.period) / 2.0);
    const double cells = (c_.block + 2 * layers) * (c_.block + 2 * layers) - host.ahead[0];
    host.time = start + cells * c_.ns_per_cell;
    std::shift_left(host.ahead.begin(), host.ahead.end(), 1);
    host.ahead.back() = 0;
  }

  void send() {
    std::vector<net::Egress> wires(hosts_.size(), net::Egress(profile_.rate_mbit));
    for (Link& link : links_) {
      const double layers = policy_.replica_layers + 1;
      const auto side = static_cast<std::size_t>(c_.side);
      const bool corner = link.from % side != link.to % side && link.from / side != link.to / side;
      const auto bytes =
          static_cast<std::size_t>(layers * (corner ? layers : c_.block) * c_.bytes_per_cell);
      const net::OnWire wire =
          wires[link.from].take(static_cast<Nanos>(hosts_[link.from].time), bytes);
      link.arrivals.push_back(static_cast<double>(link.sampler.arrival(wire, bytes)));
    }
  }

  MaxPlusCase c_;
  tick::Policy policy_;
  net::Profile profile_;
  std::vector<Host> hosts_;
  std::vector<Link> links_;
};

}  // namespace

double max_plus_ticks_per_second(const MaxPlusCase& c, const tick::Policy& policy,
                                 const net::Profile& profile, std::uint64_t seed) {
  return Model(c, policy, profile, seed).run();
}

}  // namespace rubato::bench

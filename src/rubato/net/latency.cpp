#include "rubato/net/latency.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "rubato/base/random.hpp"

namespace rubato::net {
namespace {

constexpr std::uint64_t kWeyl = 0x9e3779b97f4a7c15ULL;
// Draws of one delay: always all of them, so that changing one value of a profile moves no other.
constexpr std::uint64_t kWordsPerDelay = 5;
constexpr int kStallRoundsMax = 1000;
// Domains of link_seed().
constexpr std::uint64_t kDelays = 1;
constexpr std::uint64_t kTraceStart = 2;
constexpr std::uint64_t kFirstStall = 10;

// splitmix64 as a pure function of (seed, index).
std::uint64_t word(std::uint64_t seed, std::uint64_t index) noexcept {
  std::uint64_t z = seed + (index + 1) * kWeyl;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// In [0, 1).
double unit(std::uint64_t seed, std::uint64_t index) noexcept {
  return static_cast<double>(word(seed, index) >> 11) * 0x1.0p-53;
}

std::uint64_t link_seed(std::uint64_t seed, std::uint64_t domain, std::uint64_t from,
                        std::uint64_t to) noexcept {
  return hash_words(seed, from << 32 | to, domain);
}

// The inverse of the distribution function that the points describe. Geometric between points:
// spikes spread over decades, and a straight line would put most of its weight on the longest.
double quantile_us(const std::vector<Quantile>& points, double p) noexcept {
  const auto above =
      std::upper_bound(points.begin(), points.end(), p,
                       [](double x, const Quantile& q) { return x < q.probability; });
  if (above == points.begin()) return points.front().delay_us;
  if (above == points.end()) return points.back().delay_us;
  const Quantile& low = *(above - 1);
  const double part = (p - low.probability) / (above->probability - low.probability);
  if (low.delay_us <= 0) return part * above->delay_us;
  return low.delay_us * std::pow(above->delay_us / low.delay_us, part);
}

}  // namespace

OnWire Egress::take(Nanos ready, std::size_t n_bytes) noexcept {
  if (rate_mbit_ <= 0) {
    free_at_ = std::max(free_at_, ready);
    return {ready, ready};
  }
  const Nanos begin = std::max(free_at_, ready);
  free_at_ = begin + static_cast<Nanos>(static_cast<double>(n_bytes) * 8000.0 / rate_mbit_);
  return {begin, free_at_};
}

StallClock::StallClock(std::uint64_t seed, double every_ms, double for_ms) noexcept
    : seed_(seed),
      every_ns_(every_ms * 1e6),
      for_(static_cast<Nanos>(for_ms * 1e6)),
      begin_(next_gap()),
      end_(begin_ + for_) {}

Nanos StallClock::next_gap() noexcept {
  // At least 1 ns, so that push_out() makes progress for every seed.
  return 1 + static_cast<Nanos>(-std::log(1 - unit(seed_, n_gaps_++)) * every_ns_);
}

Nanos StallClock::push_out(Nanos t) noexcept {
  while (t >= end_) {
    begin_ = end_ + next_gap();
    end_ = begin_ + for_;
  }
  return t >= begin_ ? end_ : t;
}

LinkSampler::LinkSampler(const Profile& profile, std::uint64_t seed, NodeId from, NodeId to)
    : profile_(&profile), seed_(link_seed(seed, kDelays, from, to)) {
  if (!profile.trace_us.empty()) {
    trace_offset_ = link_seed(seed, kTraceStart, from, to) % profile.trace_us.size();
  }
  const std::uint32_t from_host = from + 1;
  const std::uint32_t to_host = to + 1;
  std::uint64_t domain = kFirstStall;
  for (const LinkStall& stall : profile.link_stalls) {
    ++domain;
    if (stall.from != 0 && stall.from != from_host) continue;
    if (stall.to != 0 && stall.to != to_host) continue;
    stalls_.emplace_back(link_seed(seed, domain, from, to), stall.every_ms, stall.for_ms);
  }
  for (const HostStall& stall : profile.host_stalls) {
    ++domain;
    // Every link of a host has a copy of its clock with the same seed: the same instants.
    for (const std::uint32_t host : {from_host, to_host}) {
      if (stall.host != 0 && stall.host != host) continue;
      stalls_.emplace_back(link_seed(seed, domain, host, 0), stall.every_ms, stall.for_ms);
    }
  }
}

Nanos LinkSampler::delay(std::uint64_t n, bool has_payload) const noexcept {
  const Profile& p = *profile_;
  const std::uint64_t first = n * kWordsPerDelay;
  double us = p.base_us;
  const double draw = unit(seed_, first + 4);
  switch (p.distribution) {
    case Distribution::none:
      break;
    case Distribution::lognormal: {
      const double u = unit(seed_, first + 2);
      const double v = unit(seed_, first + 3);
      const double normal = std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
      us += std::min(p.cap_us, p.median_us * std::exp(p.sigma * normal));
      break;
    }
    case Distribution::pareto:  // the smallest value is chosen so that the median is median_us
      us += std::min(p.cap_us,
                     p.median_us * std::pow(2.0, -1 / p.alpha) * std::pow(1 - draw, -1 / p.alpha));
      break;
    case Distribution::trace:
      us += p.trace_us[(trace_offset_ + n) % p.trace_us.size()];
      break;
    case Distribution::quantiles:
      us += quantile_us(p.quantiles, draw);
      break;
  }
  if (unit(seed_, first) < p.spike_prob && (has_payload || p.ack_spikes)) {
    us += p.spike_lo_us * std::pow(p.spike_hi_us / p.spike_lo_us, unit(seed_, first + 1));
  }
  return static_cast<Nanos>(us * 1000);
}

Nanos LinkSampler::in_order(Nanos release) noexcept {
  release = std::max(release, last_);
  // A way out of one stall may lead into another; only a time that all accept is outside of all.
  // The bound ends a search among stalls that leave next to no time between them.
  Nanos before = -1;
  for (int round = 0; round < kStallRoundsMax && before != release; ++round) {
    before = release;
    for (StallClock& stall : stalls_)
      release = stall.push_out(release);
  }
  last_ = release;
  return release;
}

Nanos LinkSampler::arrival(OnWire wire, std::size_t n_bytes, bool has_payload) noexcept {
  if (profile_->unit == DelayUnit::time) {
    const auto span = std::max<Nanos>(1, static_cast<Nanos>(profile_->span_us * 1000));
    return in_order(wire.end + delay(static_cast<std::uint64_t>(wire.end / span), has_payload));
  }
  if (profile_->unit == DelayUnit::message) {
    return in_order(wire.end + delay(n_drawn_++, has_payload));
  }
  // The message has arrived with its last packet; each leaves when its part has crossed the wire.
  const std::size_t n_packets =
      std::max<std::size_t>(1, (n_bytes + profile_->packet_bytes - 1) / profile_->packet_bytes);
  const Nanos length = wire.end - wire.begin;
  Nanos release = 0;
  for (std::size_t i = 1; i <= n_packets; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(n_packets);
    const Nanos left = wire.begin + static_cast<Nanos>(static_cast<double>(length) * part);
    release = in_order(left + delay(n_drawn_++, has_payload));
  }
  return release;
}

}  // namespace rubato::net

#include "rubato/net/delay.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace rubato::net {
DelayFabric::DelayFabric(std::unique_ptr<Fabric> inner, DelayOptions options)
    : inner_(std::move(inner)),
      options_(std::move(options)),
      start_(options_.clock()),
      egress_(options_.profile.rate_mbit) {}

DelayFabric::~DelayFabric() {
  Arrival dropped;
  while (!outgoing_.empty()) {
    pump_out(now());
    // The inner fabric may need to receive before it can send.
    while (!outgoing_.empty() && inner_->poll(dropped))
      pump_out(now());
    if (!outgoing_.empty()) nap(20 * kMicrosecond);
  }
}

LinkSampler& DelayFabric::link_from(NodeId from) {
  const Profile& profile = from == node() ? no_delay_ : options_.profile;
  return links_.try_emplace(from, profile, options_.seed, from, node()).first->second;
}

bool DelayFabric::try_send(NodeId to, Bytes& bytes) noexcept {
  if (options_.profile.rate_mbit <= 0) return inner_->try_send(to, bytes);
  const Nanos t = now();
  pump_out(t);
  const std::size_t n_bytes = bytes.size() + kEnvelopeBytes;
  if (!outgoing_.empty() && n_outgoing_bytes_ + n_bytes > options_.bytes_max) return false;
  // To itself there is no wire, but the one queue keeps the order simple: it leaves at once, behind
  // what waits.
  const Nanos when = to == node() ? t : egress_.take(t, bytes.size()).end;
  n_outgoing_bytes_ += n_bytes;
  outgoing_.push_back({to, when, std::exchange(bytes, Bytes())});
  pump_out(t);
  return true;
}

void DelayFabric::pump_out(Nanos t) noexcept {
  while (!outgoing_.empty() && outgoing_.front().when <= t) {
    Outgoing& first = outgoing_.front();
    const std::size_t n_bytes = first.bytes.size() + kEnvelopeBytes;
    if (!inner_->try_send(first.to, first.bytes)) return;
    n_outgoing_bytes_ -= n_bytes;
    outgoing_.pop_front();
  }
}

void DelayFabric::pump_in() noexcept {
  Arrival arrival;
  while ((held_.empty() || n_held_bytes_ < options_.bytes_max) && inner_->poll(arrival)) {
    const Nanos when = link_from(arrival.from).arrival(now(), arrival.bytes.size());
    n_held_bytes_ += arrival.bytes.size() + kEnvelopeBytes;
    held_.push_back({when, n_arrived_++, std::move(arrival)});
    std::push_heap(held_.begin(), held_.end());
    arrival = Arrival();
  }
}

bool DelayFabric::poll(Arrival& arrival) noexcept {
  pump_out(now());
  pump_in();
  if (held_.empty() || held_.front().when > now()) return false;
  std::pop_heap(held_.begin(), held_.end());
  arrival = std::move(held_.back().arrival);
  held_.pop_back();
  n_held_bytes_ -= arrival.bytes.size() + kEnvelopeBytes;
  return true;
}

bool DelayFabric::drained() const noexcept {
  return outgoing_.empty() && inner_->drained();
}

void DelayFabric::abort(int code, const std::string& message) noexcept {
  inner_->abort(code, message);
  std::abort();  // g++ 12 forgets [[noreturn]] on a virtual call
}

}  // namespace rubato::net

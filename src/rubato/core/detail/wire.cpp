#include "rubato/core/detail/wire.hpp"

namespace rubato::core::detail {

std::uint32_t Wire::pump(bool receive) {
  std::uint32_t n_delivered = 0;
  // A thread that found the lock taken relies on its owner, who looks again after letting it go.
  do {
    const std::unique_lock lock(fabric_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return n_delivered;
    send_posted();
    if (receive) n_delivered += deliver_batch();
  } while (posted_.load());
  return n_delivered;
}

std::uint32_t Wire::deliver_batch() {
  std::uint32_t n_delivered = 0;
  net::Arrival arrival;
  while (n_delivered < kBatch && fabric_.poll(arrival)) {
    deliver_(std::move(arrival));
    ++n_delivered;
  }
  const Nanos now = steady_now();
  if (n_delivered < kBatch) last_empty_.store(now, std::memory_order_relaxed);
  if (n_delivered > 0) send_posted();  // the answers
  last_poll_.store(now, std::memory_order_relaxed);
  return n_delivered;
}

void Wire::send_posted() {
  for (auto lane = refused_.begin(); lane != refused_.end();) {
    auto& waiting = lane->second;
    while (!waiting.empty() && fabric_.try_send(lane->first, waiting.front()))
      waiting.pop_front();
    lane = waiting.empty() ? refused_.erase(lane) : std::next(lane);
  }
  if (!posted_.load()) return;
  {
    const std::lock_guard lock(node_mutex_);
    posted_.store(false);
    taken_.swap(outbox_);
  }
  for (auto& [to, bytes] : taken_) {
    const auto lane = refused_.find(to);
    if (lane != refused_.end()) {
      lane->second.push_back(std::move(bytes));
    } else if (!fabric_.try_send(to, bytes)) {
      refused_[to].push_back(std::move(bytes));
    }
  }
  taken_.clear();
}

bool Wire::drained() {
  const std::lock_guard lock(fabric_mutex_);
  return !posted_.load() && refused_.empty() && fabric_.drained();
}

}  // namespace rubato::core::detail

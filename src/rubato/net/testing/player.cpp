#include "rubato/net/testing/player.hpp"

#include <cstring>
#include <utility>

#include "rubato/base/random.hpp"

namespace rubato::net::testing {
namespace {

// A few per pass, so that sending, receiving and other nodes interleave.
constexpr int kPollsPerStep = 16;

std::uint64_t content_key(const Plan& plan, NodeId from, NodeId to, std::uint64_t place) {
  return hash_words(plan.seed, std::uint64_t{from} << 32 | to, place);
}

// The word at `index` of a content: cheap, since large messages have millions.
std::uint64_t content_word(std::uint64_t key, std::uint64_t index) {
  return (key + index) * 0x9e3779b97f4a7c15ULL;
}

Bytes make_content(std::uint64_t key, std::size_t n_bytes) {
  Bytes bytes(n_bytes);
  for (std::size_t i = 0; i < n_bytes; i += 8) {
    const std::uint64_t word = content_word(key, i);
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, n_bytes - i));
  }
  return bytes;
}

bool has_content(const Bytes& bytes, std::uint64_t key) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = content_word(key, i);
    if (std::memcmp(bytes.data() + i, &word, std::min<std::size_t>(8, bytes.size() - i)) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

Plan random_plan(std::uint64_t seed, std::uint32_t n_nodes, std::uint32_t n, std::size_t size_max) {
  return {seed, n_nodes,
          [=](NodeId from) {
            RandomStream random(seed, from);
            std::vector<PlannedMessage> all;
            for (std::uint32_t i = 0; i < n; ++i) {
              const auto to = static_cast<NodeId>(random() % n_nodes);
              // Mostly small ones.
              const std::size_t limit = random() % 8 == 0 ? size_max : size_max / 64;
              all.push_back({to, static_cast<std::size_t>(random() % (limit + 1))});
            }
            return all;
          },
          0};
}

Plan all_to_all_plan(std::uint64_t seed, std::uint32_t n_nodes,
                     const std::vector<std::size_t>& sizes) {
  return {seed, n_nodes,
          [=](NodeId from) {
            std::vector<PlannedMessage> all;
            for (const std::size_t size : sizes) {
              for (std::uint32_t i = 0; i < n_nodes; ++i)
                all.push_back({(from + i) % n_nodes, size});
            }
            return all;
          },
          0};
}

Plan flood_plan(std::uint64_t seed, std::uint32_t n_nodes, std::uint32_t n, std::size_t n_bytes,
                std::uint32_t n_deaf_steps) {
  return {seed, n_nodes,
          [=](NodeId from) {
            return std::vector<PlannedMessage>(from == 0 ? n : 0, {n_nodes - 1, n_bytes});
          },
          n_deaf_steps};
}

void Player::begin(Plan plan) {
  plan_ = std::move(plan);
  n_sent_ = n_bytes_sent_ = 0;
  n_steps_ = 0;
  bytes_at_refusal_ = SIZE_MAX;
  n_sent_to_.assign(plan_.n_nodes, 0);
  expected_.clear();
  for (NodeId from = 0; from < plan_.n_nodes; ++from) {
    const auto all = plan_.messages(from);
    if (from == fabric_.node()) to_send_ = all;
    for (const PlannedMessage& message : all) {
      if (message.to == fabric_.node()) expected_[from].sizes.push_back(message.n_bytes);
    }
  }
  for (std::deque<Arrival> came = std::exchange(early_, {}); !came.empty(); came.pop_front()) {
    check(came.front());
  }
}

void Player::send_some() {
  while (n_sent_ < to_send_.size()) {
    const PlannedMessage& message = to_send_[n_sent_];
    if (!std::exchange(next_is_made_, true)) {
      const auto place = n_sent_to_[message.to]++;
      next_ = make_content(content_key(plan_, fabric_.node(), message.to, place), message.n_bytes);
    }
    if (!fabric_.try_send(message.to, next_)) {
      if (next_.size() != message.n_bytes) fault_ = "a refused message was touched";
      if (bytes_at_refusal_ == SIZE_MAX) bytes_at_refusal_ = n_bytes_sent_;
      return;
    }
    next_is_made_ = false;
    n_bytes_sent_ += message.n_bytes;
    ++n_sent_;
    ++n_moved_;
  }
}

void Player::poll_some() {
  Arrival arrival;
  for (int i = 0; i < kPollsPerStep && fabric_.poll(arrival); ++i)
    check(arrival);
}

void Player::check(const Arrival& arrival) {
  ++n_moved_;
  Expected& expected = expected_[arrival.from];
  if (expected.n_came == expected.sizes.size()) {
    early_.push_back(arrival);  // its sender has gone on to the next plan
    return;
  }
  const std::size_t place = expected.n_came++;
  const std::string what = "message " + std::to_string(place) + " from node " +
                           std::to_string(arrival.from) + " to node " +
                           std::to_string(fabric_.node()) + ": ";
  if (arrival.bytes.size() != expected.sizes[place]) {
    fault_ = what + "expected " + std::to_string(expected.sizes[place]) + " bytes, found " +
             std::to_string(arrival.bytes.size());
  } else if (!has_content(arrival.bytes, content_key(plan_, arrival.from, fabric_.node(), place))) {
    fault_ = what + "has another content";
  }
}

bool Player::all_came() const {
  for (const auto& [from, expected] : expected_) {
    if (expected.n_came != expected.sizes.size()) return false;
  }
  return true;
}

bool Player::step() {
  send_some();
  if (n_steps_++ >= plan_.n_deaf_steps) poll_some();
  return !fault_.empty() || (n_sent_ == to_send_.size() && all_came());
}

std::string play(Player& player, Fabric& fabric, Plan plan, Nanos limit) {
  const Nanos start = steady_now();
  player.begin(std::move(plan));
  std::uint64_t n_moved = 0;
  while (!player.step()) {
    if (steady_now() - start > limit) return "not finished in time";
    if (player.n_moved() == n_moved) nap(50 * kMicrosecond);
    n_moved = player.n_moved();
  }
  while (player.fault().empty() && !fabric.drained()) {
    if (steady_now() - start > limit) return "not drained in time";
    (void)player.step();  // polls, and keeps what is early
    nap(50 * kMicrosecond);
  }
  return player.fault();
}

}  // namespace rubato::net::testing

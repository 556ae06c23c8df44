#pragma once
// ShuffleDriver: runs engines of several virtual nodes without time, in an order drawn from a seed:
// at each turn one random thing that may happen happens (a message arrives, a core takes work, work
// ends). It reaches interleavings that no latency profile would, and repeats them exactly.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/core/engine.hpp"

namespace rubato::tick::testing {

class ShuffleDriver {
 public:
  ShuffleDriver(std::vector<core::Engine*> engines, std::uint32_t n_cores, std::uint64_t seed)
      : engines_(std::move(engines)), n_cores_(n_cores), random_(seed, 5) {
    running_.resize(engines_.size());
    // Some pairs of nodes are slow: their messages are often passed over.
    slow_ = static_cast<std::uint64_t>(random_.between(0, 3));
  }

  // Runs all engines to their end. Throws Error if nothing can happen before that.
  void run() {
    for (std::uint32_t node = 0; node < engines_.size(); ++node) {
      NodePort port(*this, node);
      engines_[node]->start(port);
    }
    while (!all_finished()) {
      if (!turn()) throw Error("deadlock: " + waiting(), ExitCode::failed);
    }
  }

 private:
  struct NodePort final : core::Port {
    NodePort(ShuffleDriver& d, std::uint32_t n) : driver(d), node(n) {}
    void send(core::NodeId to, Bytes bytes) override {
      driver.flying_[{node, to}].push_back(std::move(bytes));
    }
    void wake_at(Nanos) override {}
    [[nodiscard]] Nanos now() const noexcept override { return driver.n_turns_; }
    ShuffleDriver& driver;
    std::uint32_t node;
  };

  [[nodiscard]] bool all_finished() const {
    for (const auto* engine : engines_) {
      if (!engine->finished()) return false;
    }
    return true;
  }

  [[nodiscard]] std::string waiting() const {
    std::string text;
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      text += "node " + std::to_string(i) + " " + engines_[i]->waiting_for() + "; ";
    }
    return text;
  }

  // Does one thing; false if nothing was possible.
  bool turn() {
    ++n_turns_;
    const auto first = static_cast<int>(random_.between(0, 2));
    for (int i = 0; i < 3; ++i) {
      switch ((first + i) % 3) {
        case 0:
          if (deliver(false)) return true;
          break;
        case 1:
          if (take()) return true;
          break;
        default:
          if (end_one()) return true;
      }
    }
    return deliver(true);
  }

  bool deliver(bool insist) {
    if (flying_.empty()) return false;
    auto at = flying_.begin();
    std::advance(at, random_.between(0, static_cast<std::int64_t>(flying_.size()) - 1));
    const bool is_slow = hash_words(at->first.first, at->first.second, 3) % 4 < slow_;
    if (is_slow && !insist && random_.between(0, 30) != 0) return false;
    const auto [from, to] = at->first;
    Bytes bytes = std::move(at->second.front());
    at->second.pop_front();
    if (at->second.empty()) flying_.erase(at);
    NodePort port(*this, to);
    engines_[to]->on_message(port, from, std::move(bytes));
    return true;
  }

  bool take() {
    const auto n = static_cast<std::int64_t>(engines_.size());
    const std::int64_t start = random_.between(0, n - 1);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto node = static_cast<std::size_t>((start + i) % n);
      core::Work work;
      if (running_[node].size() >= n_cores_ || !engines_[node]->next_work(0, work)) continue;
      running_[node].push_back(work);
      return true;
    }
    return false;
  }

  // The work is done when it ends, as late as its guarantees allow.
  bool end_one() {
    const auto n = static_cast<std::int64_t>(engines_.size());
    const std::int64_t start = random_.between(0, n - 1);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto node = static_cast<std::size_t>((start + i) % n);
      auto& running = running_[node];
      if (running.empty()) continue;
      const auto which = random_.between(0, static_cast<std::int64_t>(running.size()) - 1);
      core::Work work = running[static_cast<std::size_t>(which)];
      running.erase(running.begin() + which);
      engines_[node]->run(work, 0);
      // Some nodes are much slower than others, so that balancers have something to do.
      work.took = random_.between(1, 1000) << (hash_words(node, 9) % 4);
      NodePort port(*this, static_cast<std::uint32_t>(node));
      engines_[node]->on_finished(port, work);
      return true;
    }
    return false;
  }

  std::vector<core::Engine*> engines_;
  std::uint32_t n_cores_;
  RandomStream random_;
  std::uint64_t slow_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Bytes>> flying_;
  std::vector<std::vector<core::Work>> running_;
  std::int64_t n_turns_ = 0;
};

}  // namespace rubato::tick::testing

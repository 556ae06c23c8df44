#pragma once
// ReadyQueue: rules that may run, the one of the largest priority first; of equal ones, the oldest.
// Each scope has a queue of its own, so that what ends a scope has run what is in it.
//
// Of one core, whose siblings may pop.

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "rubato/flow/rule/rule.hpp"

namespace rubato::flow {

class ReadyQueue {
 public:
  void push(core::FinishId scope, std::unique_ptr<Rule> rule) {
    const std::lock_guard lock(mutex_);
    Queue& queue = of(scope);
    queue.entries.push_back({rule->options.priority, n_pushed_++, std::move(rule)});
    std::ranges::push_heap(queue.entries, {}, &Entry::order);
  }
  // Of the next one, if there is one.
  [[nodiscard]] std::optional<std::int32_t> best_priority(core::FinishId scope) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(queues_, scope, &Queue::scope);
    if (found == queues_.end()) return {};
    return found->entries.front().priority;
  }
  // Null if none is left.
  [[nodiscard]] std::unique_ptr<Rule> pop_best(core::FinishId scope) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(queues_, scope, &Queue::scope);
    if (found == queues_.end()) return nullptr;
    std::ranges::pop_heap(found->entries, {}, &Entry::order);
    std::unique_ptr<Rule> best = std::move(found->entries.back().rule);
    found->entries.pop_back();
    if (found->entries.empty()) queues_.erase(found);
    return best;
  }

 private:
  struct Entry {
    std::int32_t priority;
    std::uint64_t number;
    std::unique_ptr<Rule> rule;

    [[nodiscard]] std::pair<std::int32_t, std::uint64_t> order() const noexcept {
      return {priority, ~number};
    }
  };
  struct Queue {
    core::FinishId scope;
    std::vector<Entry> entries;  // not empty
  };
  [[nodiscard]] Queue& of(core::FinishId scope) {
    const auto found = std::ranges::find(queues_, scope, &Queue::scope);
    return found != queues_.end() ? *found : queues_.emplace_back(Queue{scope, {}});
  }

  std::mutex mutex_;
  std::vector<Queue> queues_;  // few: one, mostly
  std::uint64_t n_pushed_ = 0;
};

}  // namespace rubato::flow

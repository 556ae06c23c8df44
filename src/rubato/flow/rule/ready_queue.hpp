#pragma once
// ReadyQueue: rules of a core that may run, the one of the largest priority first; of equal ones,
// the oldest.

#include <algorithm>
#include <memory>
#include <vector>

#include "rubato/flow/rule/rule.hpp"

namespace rubato::flow {

class ReadyQueue {
 public:
  void push(std::unique_ptr<Rule> rule) {
    entries_.push_back({rule->options.priority, n_pushed_++, std::move(rule)});
    std::ranges::push_heap(entries_, {}, &Entry::order);
  }
  // REQUIRES: something was pushed and not popped.
  [[nodiscard]] std::unique_ptr<Rule> pop_best() {
    RUBATO_REQUIRE(!entries_.empty());
    std::ranges::pop_heap(entries_, {}, &Entry::order);
    std::unique_ptr<Rule> best = std::move(entries_.back().rule);
    entries_.pop_back();
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

  std::vector<Entry> entries_;
  std::uint64_t n_pushed_ = 0;
};

}  // namespace rubato::flow

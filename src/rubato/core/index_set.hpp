#pragma once
// IndexSet: a sorted set of numbers, kept as arithmetic runs.
//
// Teams name cores and nodes by it: "all 640,000 cores" and "core 0 of every node" take one run
// each, so that no node of a large job holds an entry for every other one. An irregular set costs a
// run for each irregularity, and nothing more is promised.

#include <cstdint>
#include <optional>
#include <vector>

namespace rubato::core {

class IndexSet {
 public:
  struct Run {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t stride = 1;
    std::uint64_t before = 0;  // members in earlier runs

    [[nodiscard]] std::uint64_t last() const noexcept { return first + (count - 1) * stride; }
    bool operator==(const Run&) const = default;
  };

  IndexSet() = default;
  // {0, 1, .., count - 1}.
  [[nodiscard]] static IndexSet range(std::uint64_t count);

  // Adds `value`. REQUIRES: greater than every member.
  void append(std::uint64_t value);
  // Adds first, first + stride, .. REQUIRES: first greater than every member, stride > 0.
  void append_run(std::uint64_t first, std::uint64_t count, std::uint64_t stride);

  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return runs_.empty(); }
  // The member with `rank` smaller ones. REQUIRES: rank < size(). O(log runs).
  [[nodiscard]] std::uint64_t at(std::uint64_t rank) const;
  // How many members are smaller than `value`; it need not be one. O(log runs).
  [[nodiscard]] std::uint64_t n_below(std::uint64_t value) const noexcept;
  // The rank of `value`, or nothing if it is no member.
  [[nodiscard]] std::optional<std::uint64_t> rank_of(std::uint64_t value) const noexcept;

  [[nodiscard]] const std::vector<Run>& runs() const noexcept { return runs_; }

  // {v / divisor : v a member}: the nodes of a set of cores. Runs whose stride divides evenly, and
  // runs without a gap, are not walked. REQUIRES: divisor > 0.
  [[nodiscard]] IndexSet divided_by(std::uint64_t divisor) const;

 private:
  std::vector<Run> runs_;
};

}  // namespace rubato::core

#pragma once
// Records what steps of a model cost on this machine: they are run for real, one after the other, and
// timed; how many tuples, pairs .. each of them has is what the model itself charges for them in
// virtual time. Nanoseconds for each kind follow by least squares over all steps, none below 0.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/app.hpp"
#include "rubato/tools/costs/cost_table.hpp"

namespace rubato::tools {

// Of one step: what was counted, by kind, and nanoseconds that it took.
struct TimedStep {
  std::vector<double> counts;
  double ns = 0;
};

struct FittedCosts {
  std::vector<double> ns;  // [kinds]
  double explained = 0;  // 1 - the sum of what steps took more or less than that, by all they took
};

// The costs, 0 or more, with the least squares of what steps take more or less. A kind that no step
// has costs 0. REQUIRES: all steps have `n_kinds` counts, at most 8.
[[nodiscard]] FittedCosts fit_costs(std::span<const TimedStep> steps, std::size_t n_kinds);

// A model with parameters set, and how its steps are looked at.
struct CostSample {
  std::vector<std::pair<std::string, std::string>> settings;
  std::uint32_t n_pieces = 0;  // 0: as the model cuts itself
  tick::Tick ticks = 12;       // the first quarter is not counted: its memory is new
};

struct CostRecord {
  std::vector<RecordedCost> costs;
  std::size_t n_steps = 0;
  double seconds = 0;  // that they took in one run
  double explained = 0;
};

// Runs each sample `n_runs` times, and takes for each step the median: a step that another process
// has held up is not one of them. Samples of different density tell pairs from tuples. Blocks. Throws
// Error if the model charges nothing for its steps, or as its functions do.
[[nodiscard]] CostRecord record_costs(const tick::AppMaker& model,
                                      std::span<const CostSample> samples, int n_runs = 5);

// The record as lines of a file of costs, with when, where and how well it fits as comments.
[[nodiscard]] std::string text_of(const CostRecord& record);
// Above all records of a file: date, machine and build.
[[nodiscard]] std::string heading_of_costs();

}  // namespace rubato::tools

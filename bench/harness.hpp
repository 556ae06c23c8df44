#pragma once
// The harness of all benchmarks: a benchmark measures its subject and a baseline interleaved in one
// call, and reports rows; the harness prints them as one line of JSON or as a table.
//
//   {"bench","commit","nodes","cores","seed","rows":[{"metric","value","unit","baseline",
//    "baseline_value","ratio","spread"[,"counters"]}]}
// value and ratio are medians over rounds; a ratio > 1 is better than the baseline; spread is the
// distance between the quartiles of the ratio (of the value without a baseline) over its median.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace rubato::bench {

// What a run has done, by name: messages, bytes, tasks.
using Counters = std::vector<std::pair<std::string, std::uint64_t>>;

struct Row {
  std::string metric;
  double value = 0;
  std::string unit;
  std::string baseline;  // "" if there is none
  double baseline_value = 0;
  double ratio = 0;
  double spread = 0;
  // What the row is to reach: "", "reported", or conditions such as "value <= 6, ratio >= 3" or
  // "1 <= value <= 2", each of which a remark in brackets may follow.
  std::string must;
  Counters counters = {};  // of the last round's run, of all cores; none where there are none
};

struct Report {
  std::uint32_t nodes = 1;
  std::uint32_t cores = 1;
  std::vector<Row> rows;
};

struct Options {
  bool quick = false;  // under 40 s
  std::uint64_t seed = 1;
  // Told where a benchmark is, for people; empty if nobody asks.
  std::function<void(double part, const std::string& note)> progress = nullptr;

  // Round `round`, counted from 0, of `n_rounds` begins; `what` of it, if rounds have parts.
  void begin_round(int round, int n_rounds, const std::string& what = "") const;
};

struct Benchmark {
  std::string name;
  std::string question;  // one line
  std::function<Report(const Options&)> run;
};

// All benchmarks, in the order of the docs.
[[nodiscard]] std::vector<Benchmark> benchmarks();

[[nodiscard]] double median(std::vector<double> values);
// Distance between the quartiles over the median; 0 for fewer than 2 values.
[[nodiscard]] double relative_spread(const std::vector<double>& values);

// A row from the rounds of subject and baseline, both in a unit where more is better.
[[nodiscard]] Row compare_row(std::string metric, std::string unit,
                              const std::vector<double>& values, std::string baseline,
                              const std::vector<double>& baseline_values, std::string must);
// A row in a unit where less is better, microseconds of one, from rates in million a second of both.
[[nodiscard]] Row time_row(std::string metric, std::string unit, const std::vector<double>& rates,
                           std::string baseline, const std::vector<double>& baseline_rates,
                           std::string must);
// A row without a baseline.
[[nodiscard]] Row value_row(std::string metric, std::string unit, const std::vector<double>& values,
                            std::string must);

[[nodiscard]] std::string to_json(const std::string& name, const Report& report,
                                  const Options& options);
// What of that the row misses, a text for people each, in the order of `must`. NaN misses all.
[[nodiscard]] std::vector<std::string> misses(const Row& row);
// Targets are of whole runs: what a quick one gives is not held against them.
[[nodiscard]] std::string to_table(const Report& report, const Options& options);

}  // namespace rubato::bench

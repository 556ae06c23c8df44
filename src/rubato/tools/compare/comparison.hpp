#pragma once
// Comparing policies: interleaved rounds in a fixed order, so that all policies see the same
// weather of the network [Ticks 6.2], and what comes of them.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/io/chart.hpp"
#include "rubato/io/json.hpp"
#include "rubato/io/table.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tools/run/runner.hpp"
#include "rubato/tools/run/system_words.hpp"

namespace rubato::tools {

// One run of one policy.
struct Round {
  double ticks_per_second = 0;
  double waiting_share = 0;  // of all cores' time
  std::uint64_t n_messages = 0;
  std::uint64_t n_bytes = 0;
  std::uint64_t checksum = 0;
  tick::Tick ticks = 0;
  std::uint32_t n_pieces = 0;  // 0: as the model cuts itself
  std::uint32_t n_pieces_end = 0;
};
[[nodiscard]] Round round_of(const tick::RunResult& result);

struct Mean {
  double mean = 0;
  double deviation = 0;  // of the sample; 0 for a single value
};
[[nodiscard]] Mean mean_of(const std::vector<double>& values);

struct PolicyRounds {
  tick::Policy policy;
  std::vector<Round> rounds;
  std::string system{};  // a name of the policy with its sharing; "": it has none

  // What people said: the system, or the policy.
  [[nodiscard]] std::string name() const { return system.empty() ? policy.to_string() : system; }

  [[nodiscard]] Mean ticks_per_second() const;
  [[nodiscard]] Mean waiting_share() const;
};

struct Comparison {
  std::vector<PolicyRounds> policies;

  // What gains are told against: policy local, which auto is not, else the first.
  [[nodiscard]] const PolicyRounds& baseline() const;
  // Ratio of the mean throughputs.
  [[nodiscard]] double gain(const PolicyRounds& policy) const;
  [[nodiscard]] const PolicyRounds& fastest() const;
  // Skew absorbed [AsyTick figure 9]: of the time a tick for which the cores of comtick wait, what this
  // one takes less than comtick. Nothing where comtick is not compared, or waits for nothing.
  [[nodiscard]] std::optional<double> absorbed(const PolicyRounds& policy) const;
  // Whether each run ended at the same tick with the same bits as the first one.
  [[nodiscard]] bool equal() const;
};

// "bulk, local, k3m5d10, asytick": what --policy of `run` takes, separated by commas outside of
// parentheses, or by ";"; `words` has the other options, of all of them. Throws Error (usage) for a bad
// one, one that comes twice, or none.
[[nodiscard]] std::vector<ChosenSystem> parse_policies(std::string_view text,
                                                       const SystemWords& words = {});

// bulk, local, schedule(10), replicate(3,5), and the last two together.
inline constexpr const char* kDefaultPolicies =
    "bulk, local, schedule(10), replicate(2,3), replicate(3,5), replicate(3,5)+schedule(10)";

// Runs each policy once a round, in their order. `run(policy, round)`; rounds count from 0. Throws
// what it throws. REQUIRES: at least one policy and one round.
[[nodiscard]] Comparison compare(
    const std::vector<ChosenSystem>& policies, std::uint32_t n_rounds,
    const std::function<Round(const ChosenSystem&, std::uint32_t)>& run);

// The same by programs that block: `run` as above. Progress goes to `err` under `title`.
[[nodiscard]] Comparison compare_blocking(
    const std::vector<ChosenSystem>& policies, std::uint32_t n_rounds, const std::string& title,
    std::ostream& err, const std::function<Round(const ChosenSystem&, std::uint32_t)>& run);

// The same in the simulator: `request` but for its policy, sharing and seed; round r has the delays of seed
// + r. Progress goes to `err` under `title`.
[[nodiscard]] Comparison compare_simulated(const tick::Problem& problem,
                                           const std::vector<ChosenSystem>& policies,
                                           std::uint32_t n_rounds, RunRequest request,
                                           const std::string& title, std::ostream& err);

// Policy, ticks/s, deviation, gain over the baseline, waiting, messages, checksum.
[[nodiscard]] io::Table comparison_table(const Comparison& comparison);
// The raw ticks/s: a row for each round, a column for each policy.
[[nodiscard]] io::Table rounds_table(const Comparison& comparison);
// Throughput of each policy.
[[nodiscard]] io::BarChart comparison_chart(const Comparison& comparison);
// An array with an object for each policy, raw rounds included.
void put_comparison(io::JsonWriter& json, const Comparison& comparison);
// What each system with pieces absorbs of the skew that comtick leaves, a line; "" where that is not known.
[[nodiscard]] std::string absorbed_line(const Comparison& comparison);
// "all 12 runs have the same bits, 5bd7.." or which policy differs.
[[nodiscard]] std::string equality_line(const Comparison& comparison);

}  // namespace rubato::tools

#include "rubato/tools/compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <unistd.h>

#include "rubato/tools/run/report.hpp"
#include "rubato/tools/terminal.hpp"

namespace rubato::tools {

Round round_of(const tick::RunResult& result) {
  Round round;
  round.ticks_per_second = result.ticks_per_second();
  round.waiting_share = result.waiting_share();
  round.checksum = result.checksum;
  round.ticks = result.ticks;
  round.n_pieces = result.n_pieces;
  round.n_pieces_end = result.n_pieces_end;
  for (const auto& node : result.nodes) {
    round.n_messages += node.time.n_sent;
    round.n_bytes += node.time.bytes_sent;
  }
  return round;
}

Mean mean_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto n = static_cast<double>(values.size());
  Mean out;
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() == 1) return out;
  double squares = 0;
  for (const double value : values)
    squares += (value - out.mean) * (value - out.mean);
  out.deviation = std::sqrt(squares / (n - 1));
  return out;
}

namespace {

template <class Get>
Mean mean_over(const std::vector<Round>& rounds, Get get) {
  std::vector<double> values;
  values.reserve(rounds.size());
  for (const Round& round : rounds)
    values.push_back(get(round));
  return mean_of(values);
}

}  // namespace

Mean PolicyRounds::ticks_per_second() const {
  return mean_over(rounds, [](const Round& round) { return round.ticks_per_second; });
}

Mean PolicyRounds::waiting_share() const {
  return mean_over(rounds, [](const Round& round) { return round.waiting_share; });
}

const PolicyRounds& Comparison::baseline() const {
  const auto local = std::ranges::find_if(policies, [](const PolicyRounds& each) {
    return each.policy == tick::Policy{} && each.system.empty();
  });
  return local != policies.end() ? *local : policies.front();
}

double Comparison::gain(const PolicyRounds& policy) const {
  const double base = baseline().ticks_per_second().mean;
  return base > 0 ? policy.ticks_per_second().mean / base : 0;
}

const PolicyRounds& Comparison::fastest() const {
  return *std::ranges::max_element(
      policies, {}, [](const PolicyRounds& each) { return each.ticks_per_second().mean; });
}

std::optional<double> Comparison::absorbed(const PolicyRounds& policy) const {
  const auto comtick = std::ranges::find(policies, "comtick", &PolicyRounds::system);
  if (comtick == policies.end()) return std::nullopt;
  const double of_comtick = 1 / comtick->ticks_per_second().mean;
  const double waits = of_comtick * comtick->waiting_share().mean;
  if (waits <= 0) return std::nullopt;
  return (of_comtick - 1 / policy.ticks_per_second().mean) / waits;
}

bool Comparison::equal() const {
  const Round& first = policies.front().rounds.front();
  return std::ranges::all_of(policies, [&](const PolicyRounds& each) {
    return std::ranges::all_of(each.rounds, [&](const Round& round) {
      return round.checksum == first.checksum && round.ticks == first.ticks;
    });
  });
}

std::vector<ChosenSystem> parse_policies(std::string_view text, const SystemWords& words) {
  std::vector<ChosenSystem> policies;
  std::string word;
  int depth = 0;
  const auto finish = [&] {
    const std::size_t first = word.find_first_not_of(' ');
    if (first != std::string::npos) {
      word = word.substr(first, word.find_last_not_of(' ') + 1 - first);
      SystemWords of_this = words;
      of_this.policy = word;
      ChosenSystem chosen = choose_system(of_this);
      if (std::ranges::find(policies, chosen.label(), &ChosenSystem::label) != policies.end()) {
        throw Error("policy " + chosen.label() + " is given twice", ExitCode::usage);
      }
      policies.push_back(std::move(chosen));
    }
    word.clear();
  };
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ';' || (c == ',' && depth <= 0)) {
      finish();
    } else {
      word += c;
    }
  }
  finish();
  if (policies.empty()) {
    throw Error("expected policies, e.g. \"local, schedule(10), k3m5d10, asytick\", found none",
                ExitCode::usage);
  }
  return policies;
}

Comparison compare(const std::vector<ChosenSystem>& policies, std::uint32_t n_rounds,
                   const std::function<Round(const ChosenSystem&, std::uint32_t)>& run) {
  RUBATO_REQUIRE(!policies.empty() && n_rounds > 0, policies.size(), n_rounds);
  Comparison comparison;
  for (const auto& policy : policies)
    comparison.policies.push_back({policy.policy, {}, policy.name});
  for (std::uint32_t round = 0; round < n_rounds; ++round) {
    for (std::size_t i = 0; i < policies.size(); ++i)
      comparison.policies[i].rounds.push_back(run(policies[i], round));
  }
  return comparison;
}

namespace {

std::string run_name(const ChosenSystem& policy, std::uint32_t round, std::uint32_t n_rounds) {
  return fmt::format("round {} of {}, {}", round + 1, n_rounds, policy.label());
}

}  // namespace

Comparison compare_blocking(const std::vector<ChosenSystem>& policies, std::uint32_t n_rounds,
                            const std::string& title, std::ostream& err,
                            const std::function<Round(const ChosenSystem&, std::uint32_t)>& run) {
  ProgressClock progress(err, is_terminal(STDERR_FILENO), title);
  const std::size_t n_runs = policies.size() * n_rounds;
  std::size_t n_done = 0;
  return compare(policies, n_rounds, [&](const ChosenSystem& policy, std::uint32_t round) {
    progress.at(
        static_cast<double>(n_done) / static_cast<double>(n_runs),
        fmt::format("run {} of {}: {}", n_done + 1, n_runs, run_name(policy, round, n_rounds)));
    ++n_done;
    return run(policy, round);
  });
}

Comparison compare_simulated(const tick::Problem& problem,
                             const std::vector<ChosenSystem>& policies, std::uint32_t n_rounds,
                             RunRequest request, const std::string& title, std::ostream& err) {
  Progress progress(err, is_terminal(STDERR_FILENO), title, steady_now());
  const auto n_runs = static_cast<double>(policies.size() * n_rounds);
  const std::uint64_t seed = request.seed;
  request.model = title;
  double n_done = 0;
  return compare(policies, n_rounds, [&](const ChosenSystem& policy, std::uint32_t round) {
    request.policy = policy.policy;
    request.system = policy.name;
    request.sharing = policy.sharing;
    request.seed = seed + round;
    const double begin = n_done++ / n_runs;
    return round_of(simulate_problem(
        problem, request, {progress, begin, n_done / n_runs, run_name(policy, round, n_rounds)}));
  });
}

io::Table comparison_table(const Comparison& comparison) {
  const std::string over = "over " + comparison.baseline().name();
  io::Table table({{"policy"},
                   {"ticks/s", 1},
                   {"+-", 1},
                   {over, 2, "x"},
                   {"waiting", 1, " %"},
                   {"messages"},
                   {"MB", 2},
                   {"checksum"}});
  const PolicyRounds& fastest = comparison.fastest();
  for (const auto& each : comparison.policies) {
    const Mean rate = each.ticks_per_second();
    const Round& first = each.rounds.front();
    table.row()
        .text(each.name())
        .number(rate.mean)
        .number(rate.deviation)
        .number(comparison.gain(each))
        .number(100 * each.waiting_share().mean)
        .integer(static_cast<std::int64_t>(first.n_messages))
        .number(static_cast<double>(first.n_bytes) / 1e6)
        .text(shown_checksum(first.checksum));
    if (&each == &fastest) table.highlight();
  }
  return table;
}

io::Table rounds_table(const Comparison& comparison) {
  std::vector<io::TableColumn> columns{{"round"}};
  for (const auto& each : comparison.policies)
    columns.push_back({each.name(), 1});
  io::Table table(std::move(columns));
  for (std::size_t i = 0; i < comparison.policies.front().rounds.size(); ++i) {
    table.row().integer(static_cast<std::int64_t>(i) + 1);
    for (const auto& each : comparison.policies)
      table.number(each.rounds[i].ticks_per_second);
  }
  return table;
}

io::BarChart comparison_chart(const Comparison& comparison) {
  io::BarChart chart{.title = "Throughput", .unit = "ticks/s", .n_decimals = 0};
  const PolicyRounds& fastest = comparison.fastest();
  for (const auto& each : comparison.policies) {
    chart.bars.push_back({each.name(), each.ticks_per_second().mean, &each == &fastest});
  }
  return chart;
}

std::string absorbed_line(const Comparison& comparison) {
  std::string list;
  for (const auto& each : comparison.policies) {
    const std::optional<double> absorbed = comparison.absorbed(each);
    if (!absorbed || !each.policy.pieces) continue;
    list += fmt::format("{}{} {:.1f} %", list.empty() ? "" : ", ", each.name(), 100 * *absorbed);
  }
  return list.empty() ? "" : "skew absorbed, of what the cores of comtick wait for: " + list;
}

void put_comparison(io::JsonWriter& json, const Comparison& comparison) {
  json.begin_array();
  for (const auto& each : comparison.policies) {
    const Mean rate = each.ticks_per_second();
    json.begin_object()
        .field("policy", each.policy.to_string())
        .field("system", each.system)
        .field("pieces", each.rounds.front().n_pieces)
        .field("pieces_at_end", each.rounds.front().n_pieces_end)
        .field("ticks_per_second", rate.mean)
        .field("deviation", rate.deviation)
        .field("gain", comparison.gain(each))
        .field("waiting_share", each.waiting_share().mean)
        .field("messages", each.rounds.front().n_messages)
        .field("bytes", each.rounds.front().n_bytes)
        .field("checksum", shown_checksum(each.rounds.front().checksum))
        .key("absorbed");
    if (const std::optional<double> absorbed = comparison.absorbed(each)) {
      json.value(*absorbed);
    } else {
      json.null();
    }
    json.key("rounds").begin_array();
    for (const Round& round : each.rounds) {
      json.begin_object()
          .field("ticks", round.ticks)
          .field("ticks_per_second", round.ticks_per_second)
          .field("waiting_share", round.waiting_share)
          .field("messages", round.n_messages)
          .field("bytes", round.n_bytes)
          .field("checksum", shown_checksum(round.checksum))
          .end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

std::string equality_line(const Comparison& comparison) {
  const Round& first = comparison.policies.front().rounds.front();
  std::size_t n_runs = 0;
  for (const auto& each : comparison.policies) {
    for (std::size_t i = 0; i < each.rounds.size(); ++i, ++n_runs) {
      const Round& round = each.rounds[i];
      if (round.checksum == first.checksum && round.ticks == first.ticks) continue;
      return fmt::format(
          "{} in round {} ended at tick {} with checksum {}, expected tick {} with {} as {} had",
          each.name(), i + 1, round.ticks, shown_checksum(round.checksum), first.ticks,
          shown_checksum(first.checksum), comparison.policies.front().name());
    }
  }
  return fmt::format("all {} runs ended with the same bits at tick {}, checksum {}", n_runs,
                     first.ticks, shown_checksum(first.checksum));
}

}  // namespace rubato::tools

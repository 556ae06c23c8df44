// Question: can the simulator be believed? Four hosts run the same models twice: in virtual time,
// and as real processes under Open MPI on the lab's late network, their work paced to the same cost
// (four hosts compute on fewer processors).
// Hypothesis: rates agree within 15 % for every policy, since the lab adds only what the software
// of messages costs.

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "bench/harness.hpp"
#include "bench/lab.hpp"
#include "rubato/base/error.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::bench {
namespace {

constexpr int kHosts = 4;

using Words = std::vector<std::string>;

struct Case {
  std::string model;
  Words settings;  // a tick of a host costs 4 ms
};

std::vector<Case> cases() {
  return {{"heat", {"--width", "256", "--height", "256", "--ns-per-cell", "244"}},
          {"fish",
           {"--fish", "4000", "--neighbours", "6", "--alpha", "3", "--informed", "1", "--omega",
            "2", "--ns-per-fish", "2856", "--ns-per-pair", "190.4"}}};
}

Words command(const Case& each, const std::string& policy, int ticks) {
  Words words{tools::own_path(),     "run",   each.model, "--policy", policy, "--ticks",
              std::to_string(ticks), "--json"};
  words.insert(words.end(), each.settings.begin(), each.settings.end());
  return words;
}

double in_simulator(Words words, std::uint64_t seed) {
  words.insert(words.end(), {"--simulate", std::to_string(kHosts), "--profile", "ec2-large",
                             "--net-seed", std::to_string(seed)});
  const std::string text = tools::output_of(words);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) throw Error("expected JSON of a simulation, found \"" + text + "\"");
  return json.at("ticks_per_second").get<double>();
}

double on_lab_hosts(Words words, std::uint64_t seed) {
  words.insert(words.end(), {"--cores", "1", "--paced"});
  return in_lab(kHosts, {"-p", "ec2-large"}, seed, words);
}

Report run(const Options& options) {
  const std::vector<std::string> policies{"local", "d1", "d10", "k3m2", "k3m5", "k3m5d10"};
  const int ticks = options.quick ? 150 : 800;
  const int n_rounds = options.quick ? 1 : 3;
  Report report;
  report.nodes = kHosts;
  double worst = 0;
  const int n_all = static_cast<int>(cases().size() * policies.size()) * n_rounds;
  int n_done = 0;
  for (const Case& each : cases()) {
    for (const std::string& policy : policies) {
      std::vector<double> simulated;
      std::vector<double> real;
      for (int round = 0; round < n_rounds; ++round) {
        options.begin_round(n_done++, n_all, each.model + " " + policy);
        const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(round);
        const Words words = command(each, policy, ticks);
        simulated.push_back(in_simulator(words, seed));
        real.push_back(on_lab_hosts(words, seed));
      }
      report.rows.push_back(compare_row(each.model + "-" + policy, "ticks/s", simulated, "lab",
                                        real, "0.85 <= ratio <= 1.15"));
      worst = std::max(worst, std::abs(report.rows.back().ratio - 1));
    }
  }
  report.rows.push_back(value_row("worst-error", "of the lab's rate", {worst}, "value <= 0.15"));
  return report;
}

}  // namespace

Benchmark sim_vs_lab() {
  return {
      "sim-vs-lab",
      "heat and fish on 4 hosts, simulated and in the lab: do the rates agree for six policies?",
      run};
}

}  // namespace rubato::bench

// Question: with real processes, real compute and Open MPI on four emulated hosts, how much faster
// is a program on the engine than what is written by hand with MPI today? Hypothesis: ticks of
// 400^2 cells take 0.1 ms and messages 0.3 ms with spikes of 5-30 ms, so rare rounds decide: over 4
// on a neighbour exchange each tick, over 2 on ghost layers every 4. Strips have long rows and two
// neighbours; MPI by hand has 2x2 blocks, which send less.

#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "bench/lab.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::bench {
namespace {

constexpr int kHosts = 4;
constexpr int kBlock = 400;
constexpr const char* kPolicy = "k20m27d11";

std::vector<std::string> by_hand(const char* mode, int ticks, int ghost) {
  return {std::string(RUBATO_BENCH_FOLDER) + "/heat_mpi", mode, std::to_string(kBlock),
          std::to_string(ticks), std::to_string(ghost)};
}

std::vector<std::string> on_engine(int ticks) {
  return {tools::own_path(),
          "run",
          "heat",
          "--width",
          std::to_string(2 * kBlock),
          "--height",
          std::to_string(2 * kBlock),
          "--parts-x",
          "1",
          "--policy",
          kPolicy,
          "--ticks",
          std::to_string(ticks),
          "--cores",
          "1",
          "--json"};
}

Report run(const Options& options) {
  const int ticks = options.quick ? 1200 : 6000;
  const int n_rounds = options.quick ? 1 : 7;
  Report report;
  report.nodes = kHosts;
  int n_done = 0;
  for (const auto& [suffix, profile] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"", {"-p", "ec2-large"}}, {"-stalls", {"-p", "ec2-large", "--stall", "0:0:200:14"}}}) {
    std::vector<double> ours;
    std::vector<double> ghost;
    std::vector<double> neighbours;
    for (int round = 0; round < n_rounds; ++round) {
      options.begin_round(n_done++, 2 * n_rounds);
      const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(round);
      ours.push_back(in_lab(kHosts, profile, seed, on_engine(ticks)));
      ghost.push_back(in_lab(kHosts, profile, seed, by_hand("ghost", ticks / 2, 4)));
      neighbours.push_back(in_lab(kHosts, profile, seed, by_hand("neighbours", ticks / 4, 1)));
    }
    report.rows.push_back(compare_row("over-ghost4" + suffix, "ticks/s", ours,
                                      "MPI, 4 ghost layers", ghost,
                                      suffix.empty() ? "ratio >= 2" : "reported"));
    report.rows.push_back(compare_row("over-neighbours" + suffix, "ticks/s", ours,
                                      "MPI, neighbours each tick", neighbours,
                                      suffix.empty() ? "ratio >= 4" : "reported"));
  }
  return report;
}

}  // namespace

Benchmark tick_lab_4() {
  return {"tick-lab-4",
          "heat 400^2 a host on 4 lab hosts, Open MPI, ec2-large: what is gained over MPI by hand?",
          run};
}

}  // namespace rubato::bench

// The systems of skew-nbody on four lab hosts: real processes under Open MPI, which sleep for what
// their bodies cost. Four hosts cannot be as uneven as sixteen (max / mean - 1 is 3 at most), so
// this is a world of its own: one group a tick, and a cluster within one host's part, dense enough that
// comtick gains 1.3 to 1.6 over oritick by sharing it, as on sixteen nodes and in the paper.

#include <map>

#include <fmt/format.h>

#include "bench/lab.hpp"
#include "bench/skew_nbody.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::bench {
namespace {

constexpr int kHosts = 4;
constexpr int kEpoch = 16;

std::vector<std::string> command(const char* system, int ticks, int gatherings,
                                 std::uint64_t seed) {
  std::vector<std::string> words{
      tools::own_path(), "run", "nbody", "--policy", system, "--ticks", std::to_string(ticks)};
  const std::map<std::string, std::string> settings{
      {"--pieces", "256"},      {"--seed", std::to_string(seed)},
      {"--bodies", "4000"},     {"--width", "256.1"},
      {"--radius", "1"},        {"--dt", "1"},
      {"--gravity", "1e-7"},    {"--speed", "0.02"},
      {"--clusters", "1"},      {"--clustered", "0.37"},
      {"--cover", "0.008"},     {"--drift", "0.1"},
      {"--groups", "1"},        {"--gathered", "85"},
      {"--rush", "6.8"},        {"--speed-limit", "6.9"},
      {"--ns-per-body", "800"}, {"--ns-per-pair", "6400"},
      {"--cores", "1"},         {"--gatherings", std::to_string(gatherings)}};
  for (const auto& [option, value] : settings)
    words.insert(words.end(), {option, value});
  if (tick::System::parse(system).sharing.moves())
    words.insert(words.end(), {"--epoch", std::to_string(kEpoch)});
  words.insert(words.end(), {"--paced", "--json"});
  return words;
}

}  // namespace

std::vector<Row> skew_lab_rows(const Options& options) {
  const std::vector<const char*> names{"oritick", "comtick", "asytick-plb", "asytick-lend"};
  const int warm_up = options.quick ? kEpoch : 2 * kEpoch;
  const int ticks = warm_up + (options.quick ? 1 : 4) * kEpoch;
  std::map<std::string, std::vector<double>> rates;
  const int n_rounds = options.quick ? 1 : 2;
  for (int round = 0; round < n_rounds; ++round) {
    for (const char* name : names) {
      options.begin_round(round, n_rounds, fmt::format("{} on {} lab hosts", name, kHosts));
      // Of the next one the cluster lies across two hosts' parts from the start.
      const std::uint64_t seed = options.seed + 2 * static_cast<std::uint64_t>(round);
      // Of the ticks after the warm-up, from the difference of two runs, as in the simulator.
      const auto seconds = [&](int n) {
        return n / in_lab(kHosts, {"-p", "ec2-large"}, seed, command(name, n, ticks, seed));
      };
      rates[name].push_back((ticks - warm_up) / (seconds(ticks) - seconds(warm_up)));
    }
  }
  const auto& best = rates["asytick-plb"];
  return {
      compare_row("lab-over-oritick", "ticks/s", best, "oritick", rates["oritick"], ""),
      compare_row("lab-over-comtick", "ticks/s", best, "comtick", rates["comtick"], ""),
      compare_row("lab-comtick-gain", "ticks/s", rates["comtick"], "oritick", rates["oritick"], ""),
      compare_row("lab-lend-over-plb", "ticks/s", rates["asytick-lend"], "asytick-plb", best, "")};
}

}  // namespace rubato::bench

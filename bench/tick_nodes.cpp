// Question: what does a node lose of its speed once it has neighbours? Hypothesis: nothing but the rows
// at its border, which are stepped tick by tick; inside, it goes as far ahead as the policy's depth,
// and its wavefront, in slices where rows are long, is that of a node alone.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/harness.hpp"
#include "bench/job.hpp"
#include "rubato/base/error.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::bench {
namespace {

struct World {
  const char* metric;
  std::int64_t width;
  std::int64_t height;
};

struct Outcome {
  double rate = 0;  // Gcells/s
  std::string checksum;
};

// One node of two cores, or two nodes of one core each under Open MPI.
Outcome run_world(const World& world, int ticks, bool two_nodes) {
  std::vector<std::string> words{tools::own_path()};
  if (two_nodes)
    words.insert(words.end(), {"launch", "-n", "2", "--mpi", "openmpi", "--", tools::own_path()});
  words.insert(words.end(), {"run", "heat", "--width", std::to_string(world.width), "--height",
                             std::to_string(world.height), "--ticks", std::to_string(ticks)});
  words.insert(words.end(), {"--cores", two_nodes ? "1" : "2", "--policy", "k1m0d10", "--json"});
  const nlohmann::json json = run_for_json(words, "ticks_per_second");
  const double cells = static_cast<double>(world.width) * static_cast<double>(world.height);
  return {json["ticks_per_second"].get<double>() * cells / 1e9,
          json["checksum"].get<std::string>()};
}

Report run(const Options& options) {
  const std::int64_t high = options.quick ? 2048 : 4096;
  const std::vector<World> worlds{
      {"square", 4096, high}, {"flat", 4096, high / 2}, {"long-rows", 16'384, high / 2}};
  const int ticks = options.quick ? 4 : 200;
  const int n_rounds = options.quick ? 1 : 5;
  Report report;
  report.nodes = 2;
  for (const World& world : worlds) {
    std::vector<double> two;
    std::vector<double> one;
    for (int round = 0; round < n_rounds; ++round) {
      options.begin_round(round, n_rounds, world.metric);
      const Outcome alone = run_world(world, ticks, false);
      const Outcome nodes = run_world(world, ticks, true);
      RUBATO_REQUIRE(nodes.checksum == alone.checksum, nodes.checksum, alone.checksum);
      one.push_back(alone.rate);
      two.push_back(nodes.rate);
    }
    report.rows.push_back(compare_row(world.metric, "Gcells/s", two,
                                      "one node of 2 cores, same bits", one, "reported"));
  }
  return report;
}

}  // namespace

Benchmark tick_nodes() {
  return {"tick-nodes", "heat on two nodes under Open MPI: what is lost beside one node?", run};
}

}  // namespace rubato::bench

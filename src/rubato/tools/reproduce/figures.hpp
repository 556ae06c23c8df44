#pragma once
// The experiments of [Ticks 6.3], figures 6 to 13, in the simulator, and what the paper says of
// them.
//
// Differs from the paper: hosts are virtual; the network has the delays of a profile instead of the
// weather of a day; blocks are smaller (the figures are ratios, and the tick takes as long as on
// the paper's machines: see Workload::tick_ms), and the graph is generated. Steps of replicas,
// packing and messages are charged in virtual time like all else.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rubato/io/table.hpp"
#include "rubato/tools/compare/comparison.hpp"
#include "rubato/tools/model_command.hpp"
#include "rubato/tools/reproduce/statement.hpp"

namespace rubato::tools {

struct ReproduceOptions {
  std::uint32_t n_hosts = 50;
  std::vector<std::uint32_t> scale_hosts{4, 9, 16, 25, 50, 100};
  std::uint32_t n_rounds = 3;
  tick::Tick ticks = 300;
  double tick_ms = 2.5;  // virtual time of a tick of one host
  std::uint64_t seed = 1;
  std::string profile = "ec2-large, rate=1000";
  double size = 1;  // of the state of a host, as a factor; nothing is judged unless it is 1

  // Small enough for a test; what the statements say of it means nothing.
  [[nodiscard]] static ReproduceOptions quick();
};

// A model as one of the paper's experiments uses it: the same work for each host.
struct Workload {
  std::string model;
  std::string unit;         // of what is counted for throughput: fish, cells, edges
  double units_a_host = 0;  // of them
  std::function<std::vector<std::pair<std::string, std::string>>(std::uint32_t n_hosts)> settings;
};
[[nodiscard]] Workload fish_workload(const ReproduceOptions& options);
[[nodiscard]] Workload jacobi_workload(const ReproduceOptions& options);
[[nodiscard]] Workload pagerank_workload(const ReproduceOptions& options);

struct FigurePoint {
  std::string label;
  double x = 0;
  double throughput = 0;  // million units a second, of all hosts
  double deviation = 0;
  double gain = 0;  // over local synchronisation on the same hosts
  double waiting = 0;
};

struct Figure {
  int number = 0;
  std::string title;
  std::string x_name;  // of the labels
  std::string unit;
  std::vector<FigurePoint> points;

  [[nodiscard]] const FigurePoint& at(const std::string& label) const;
  [[nodiscard]] io::Table table() const;
};

struct Reproduction {
  std::vector<Figure> figures;  // by number
  std::vector<Statement> statements;
  bool equal = true;  // all runs of an experiment ended with the same bits

  [[nodiscard]] const Figure& figure(int number) const;
};

// Runs all of it with the models of `identity`; progress and what is under way go to `err`. Blocks:
// minutes, unless quick. Throws Error if a model is missing or a run fails.
[[nodiscard]] Reproduction reproduce_ticks(const Identity& identity,
                                           const ReproduceOptions& options, std::ostream& err);

// The statements of [Ticks 6.3] about figures 6 to 13. REQUIRES: all of them are there.
[[nodiscard]] std::vector<Statement> judge(const Reproduction& reproduction);

}  // namespace rubato::tools

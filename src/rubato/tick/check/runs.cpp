#include "rubato/tick/check/runs.hpp"

#include <algorithm>
#include <utility>

#include "rubato/tick/check/ahead_rule.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::tick {
namespace {

struct RunCase {
  const char* policy;
  std::uint32_t n_nodes;
  std::uint32_t n_cores;
  std::uint32_t n_pieces = 0;  // about how many the model is cut into; 0: by part()
  Tick epoch = 0;              // at which pieces move: one node is slow
};

std::string name_of(const RunCase& c) {
  std::string name = std::string(c.policy) + ", " + std::to_string(c.n_nodes) + " nodes";
  if (c.n_pieces > 0) name += ", pieces(" + std::to_string(c.n_pieces) + ")";
  if (c.epoch > 0) name += " that move each " + std::to_string(c.epoch) + " ticks";
  return name;
}

// Whether the model can be run so: it may be too small for so many nodes, or have no pieces, or a
// store that does not hand over.
bool is_possible(const Problem& problem, const RunCase& c) {
  if (c.n_pieces > 0 && !problem.has_pieces()) return false;
  if (c.epoch > 0 && !problem.tunes()) return false;
  try {
    if (c.n_nodes > 1) (void)problem.partition(c.n_nodes, c.n_pieces);
  } catch (const Error&) {
    return false;
  }
  return true;
}

// The own tuples of all nodes at the end, by id; a tuple that two nodes own stands there twice.
TupleList tuples_of_run(const Problem& problem, const RunCase& c, const CheckReport& report,
                        std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> tuples;
  SimulationOptions options;
  options.n_nodes = c.n_nodes;
  options.n_cores = c.n_cores;
  options.seed = seed;
  options.profile = net::parse_profile("ec2-large");
  options.sharing.n_pieces = c.n_pieces;
  if (c.epoch > 0) {
    options.sharing.epoch = c.epoch;
    options.sharing.balance = Balance::persistence;
    options.slowdowns.assign(c.n_nodes, 1);
    options.slowdowns.back() = 4;
  }
  options.at_end = [&](NodeId /*node*/, NodeRun& run) {
    const TupleList own = run.own_tuples();
    for (std::size_t i = 0; i < own.size(); ++i)
      tuples.emplace_back(own.ids[i], own.hashes[i]);
  };
  (void)simulate(problem, Policy::parse(c.policy), report.ticks, options);
  std::ranges::sort(tuples);
  TupleList list;
  for (const auto& [id, hash] : tuples) {
    list.ids.push_back(id);
    list.hashes.push_back(hash);
  }
  return list;
}

}  // namespace

CheckReport check_problem(const Problem& problem, const CheckOptions& options) {
  CheckReport report = problem.check(options);
  report.rules.push_back(
      {"same-bits", "[tick/model.hpp]", "every run ends in the reference's bits"});
  detail::Rule rule(report.rules.back());
  static constexpr RunCase kCases[] = {
      {"local", 1, 2}, {"bulk", 2, 1},      {"schedule(3)", 4, 1}, {"k2m3d2", 3, 2},
      {"k3m5", 7, 1},  {"pieces(4)", 3, 2}, {"local", 3, 1, 12},   {"pieces(4)", 4, 1, 24, 2}};
  for (const RunCase& c : kCases) {
    if (rule.broken()) break;
    // Of pieces that are wrong by their own rules no more is told: a store may not bear them.
    if (c.n_pieces > 0 && !report.ok()) continue;
    if (!is_possible(problem, c)) continue;
    const std::string where = "run of " + std::to_string(report.ticks) + " ticks, " + name_of(c);
    try {
      const DifferentTuple difference =
          compare(report.reference, tuples_of_run(problem, c, report, options.seed));
      rule.expect(difference.kind == Difference::none, [&] {
        return where + ": " + describe(difference.kind, problem.tuple_name(difference.id));
      });
    } catch (const Error& error) {
      rule.expect(where + ": threw: " + error.what());
    }
  }
  if (report.ok()) detail::check_ahead(problem, options, report);
  return report;
}

}  // namespace rubato::tick

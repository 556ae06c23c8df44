#include "rubato/tick/check/ahead_rule.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "rubato/base/random.hpp"

namespace rubato::tick::detail {
namespace {

// The cut is different in each of so many rounds, which step so many ticks.
constexpr int kRounds = 4;
constexpr Tick kTicksMost = 3;
// A model so small that all of its pieces lie at their borders is cut into fewer.
constexpr std::int64_t kPiecesMost = 48;

Policy policy_of_rule() {
  return Policy::parse("pieces(4)");
}

// Whether a region can be begun with some of its inputs.
bool has_cases(const Partition& cut, const Dataflow::Options& run) {
  const auto node = cut.make_node(0, policy_of_rule(), run, nullptr);
  if (!node->store().interacts()) return false;
  for (RegionId region = 0; region < node->plan().n_own; ++region) {
    if (node->plan().inputs[region].size() > 1 && node->store().interacts(region)) return true;
  }
  return false;
}

// All of the model, cut at random so that its regions wait for each other.
std::unique_ptr<Partition> cut_of(const Problem& problem, const Dataflow::Options& run,
                                  RandomStream& random) {
  std::int64_t n_pieces = problem.has_pieces() ? random.between(2, kPiecesMost) : 0;
  for (; n_pieces >= 2; n_pieces = n_pieces > 2 ? std::max<std::int64_t>(2, n_pieces / 2) : 0) {
    try {
      auto cut = problem.partition(1, static_cast<std::uint32_t>(n_pieces));
      if (has_cases(*cut, run)) return cut;
    } catch (const Error&) {
      // Too small for so many.
    }
  }
  return problem.partition(1);
}

// Has the store begin the step with some of the inputs, then with more, but never all. How often it
// has taken something, as text, is added to `how`.
bool go_ahead(NodeRun& node, RegionId region, Tick t, RandomStream& random, std::string& how) {
  if (!node.store().interacts(region)) return false;
  const auto inputs = node.plan().inputs[region];
  std::vector<RegionId> order(inputs.begin(), inputs.end());
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
  bool any = false;
  for (std::size_t n = 0; n + 1 < order.size();) {
    n = static_cast<std::size_t>(random.between(static_cast<std::int64_t>(n) + 1,
                                                static_cast<std::int64_t>(order.size()) - 1));
    std::vector<RegionId> present;
    std::ranges::copy_if(inputs, std::back_inserter(present), [&](RegionId input) {
      return std::find(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), input) !=
             order.begin() + static_cast<std::ptrdiff_t>(n);
    });
    if (!node.store().interact(region, t, present, 0)) continue;
    any = true;
    how += (how.empty() ? "" : ", then ") + std::to_string(n);
  }
  how += " of " + std::to_string(order.size()) + " inputs";
  return any;
}

Bytes saved(const NodeRun& node, RegionId region, Tick t) {
  Writer out;
  node.save(region, t, out);
  return out.take();
}

// Two nodes that are alike step; one of them goes ahead of each step.
void expect_steps(const Partition& cut, const Dataflow::Options& run, RandomStream& random,
                  Rule& rule) {
  const auto whole = cut.make_node(0, policy_of_rule(), run, nullptr);
  const auto ahead = cut.make_node(0, policy_of_rule(), run, nullptr);
  const std::size_t n_pieces = cut.owners().size();
  const std::string name =
      n_pieces == 0 ? std::string("one part") : std::to_string(n_pieces) + " pieces";
  for (Tick t = 0; t < run.ticks && !rule.broken(); ++t) {
    for (RegionId region = 0; region < whole->plan().n_own; ++region) {
      whole->store().step(region, t, 0);
      std::string how;
      const bool went = go_ahead(*ahead, region, t, random, how);
      ahead->store().step(region, t, 0);
      const bool same = saved(*whole, region, t + 1) == saved(*ahead, region, t + 1);
      if (!went && same) continue;
      rule.expect(same, [&] {
        std::string where = "region " + std::to_string(region);
        where.append(" of ").append(name).append(" at tick ").append(std::to_string(t));
        return where.append(", ahead with ").append(how).append(": the step has other bits");
      });
    }
  }
}

}  // namespace

void check_ahead(const Problem& problem, const CheckOptions& options, CheckReport& report) {
  Dataflow::Options run;
  run.ticks = std::min(report.ticks, kTicksMost);
  if (!problem.partition(1)->make_node(0, policy_of_rule(), run, nullptr)->store().interacts())
    return;
  report.rules.push_back({"ahead-of-inputs", "[AsyTick 3.2, Table 1]",
                          "what the store does with any of a step's inputs, and the step, give the "
                          "bits of the step, under any cut into pieces"});
  Rule rule(report.rules.back());
  RandomStream random(options.seed, 37);
  for (int round = 0; round < kRounds && !rule.broken(); ++round) {
    const std::unique_ptr<Partition> cut = cut_of(problem, run, random);
    expect_steps(*cut, run, random, rule);
    if (!problem.has_pieces()) break;  // there are no others
  }
  // Of a model so small that no region waits for another one nothing is told: the rule has no cases.
}

}  // namespace rubato::tick::detail

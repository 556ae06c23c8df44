// What [Turbine] says of its figures 1 and 6 to 9 and of table 1, held against ours. The ranges were
// not made for what is found here; what is false stays false.

#include <algorithm>

#include <fmt/format.h>

#include "rubato/tools/reproduce/turbine.hpp"

namespace rubato::tools {
namespace {

constexpr Range kDistributed{2};
constexpr Range kOneSource{21'099};
constexpr Range kSlower{0, 1};
constexpr Range kDataANode{19'883'495.0 / 1'024};
constexpr Range kOperationsATask{20};
constexpr Range kRangeANode{1'262'639.0 / 1'024};
constexpr Range kIterationsANode{566'685.0 / 2'048};
constexpr Range kRequiredANode{1'000};
constexpr Range kBusy{80};  // %
constexpr double kTasksAServer = 1'000;
// Of a run with the default options; others have other numbers.
constexpr const char* kWhyDocking =
    "there are 40 molecules on 64 nodes. A node hears nothing while a dock of 10 ms or a score of "
    "60 ms runs: work comes to all nodes in steps of that length, and the last docks wait behind "
    "scores. --stage-tasks 320 has 204 molecules, with docks beside them; a schedule that knows "
    "all tasks keeps 92 % of the cores busy with 40";

const char* of_nodes(const TurbinePoint& point) {
  return point.n_nodes == 1 ? "node" : "nodes";
}

// By nodes, each rate is larger than the one before.
Statement grows(const TurbineRuns& runs, double TurbinePoint::*rate, const char* text) {
  const auto smaller = std::ranges::adjacent_find(
      runs.points, [&](const auto& few, const auto& many) { return many.*rate <= few.*rate; });
  const TurbinePoint& most = runs.points.back();
  if (smaller == runs.points.end()) {
    return judged(text, fmt::format("{:.0f}/s on {} {}", most.*rate, most.n_nodes, of_nodes(most)),
                  "each size faster than the one before", true);
  }
  const TurbinePoint& next = *(smaller + 1);
  return judged(text,
                fmt::format("{:.0f}/s on {} {}, {:.0f}/s on {}", (*smaller).*rate, smaller->n_nodes,
                            of_nodes(*smaller), next.*rate, next.n_nodes),
                "each size faster than the one before", false);
}

// On the most nodes, of each.
Statement a_node(const TurbineRuns& runs, double TurbinePoint::*rate, const char* text,
                 const Range& range, double divisor = 1) {
  const TurbinePoint& most = runs.points.back();
  const double here = most.*rate / most.n_nodes / divisor;
  return judged(text, fmt::format("{:.0f}/s a node of {}", here, most.n_nodes), range.text("/s"),
                range.has(here));
}

Statement distributed(const TurbineRuns& runs) {
  const TurbinePoint& most = runs.points.back();
  const double here = most.by_all / most.by_one;
  return judged("distributed evaluation scales beyond centralized evaluation (figure 1)",
                fmt::format("{:.2f}x on {} nodes", here, most.n_nodes), kDistributed.text(),
                kDistributed.has(here));
}

Statement one_source(const TurbineRuns& runs) {
  const auto most = std::ranges::max_element(runs.points, {}, &TurbinePoint::noop);
  return judged("one source distributes 21,099 tasks a second that do nothing (figure 6)",
                fmt::format("{:.0f}/s on {} {}", most->noop, most->n_nodes, of_nodes(*most)),
                kOneSource.text("/s"), kOneSource.has(most->noop));
}

Statement programs(const TurbineRuns& runs) {
  const TurbinePoint& most = runs.points.back();
  const double here = most.program / most.noop;
  return judged("tasks that start a program do not reach what one source can (figure 6)",
                fmt::format("{:.2f} times the rate of no-ops on {} nodes", here, most.n_nodes),
                kSlower.text(" times"), kSlower.has(here));
}

Statement busy(const TurbineApplication& application, bool is_default) {
  const double here = 100 * application.busy;
  return judged(
      fmt::format("the stages of {} keep the cores busy if tasks are distributed fast enough "
                  "(table 1)",
                  application.name),
      fmt::format("{:.1f} % of {} nodes", here, application.n_nodes), kBusy.text(" %"),
      kBusy.has(here), is_default && application.name == "modftdock" ? kWhyDocking : "");
}

}  // namespace

std::vector<Statement> judge_turbine(const TurbineRuns& runs, const TurbineOptions& options) {
  std::vector<Statement> all{
      distributed(runs),
      one_source(runs),
      programs(runs),
      grows(runs, &TurbinePoint::data, "the rate of insertions grows with the nodes (figure 7)"),
      a_node(runs, &TurbinePoint::data, "19,883,495 insertions/s on 1,024 servers (figure 7)",
             kDataANode),
      a_node(runs, &TurbinePoint::data,
             "each of 1,000 tasks/s of a server can have almost 20 data operations (section 7.2)",
             kOperationsATask, kTasksAServer),
      grows(runs, &TurbinePoint::range, "range creation does not reach a peak (figure 8)"),
      a_node(runs, &TurbinePoint::range, "1,262,639 members/s of 1,024 engines (figure 8)",
             kRangeANode),
      grows(runs, &TurbinePoint::iterate,
            "creation and iteration get faster up to the largest system (figure 9)"),
      a_node(runs, &TurbinePoint::iterate, "566,685 operations/s of 2,048 processes (figure 9)",
             kIterationsANode),
      a_node(runs, &TurbinePoint::iterate,
             "a control process is to do 1,000 operations/s; the paper's do 277 (section 7.4)",
             kRequiredANode)};
  for (const TurbineApplication& application : runs.applications)
    all.push_back(busy(application, options == TurbineOptions()));
  return all;
}

}  // namespace rubato::tools

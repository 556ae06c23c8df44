// What [Grappa] says of its figures 6 to 8 and of switches, held against ours. The ranges were not
// made for what is found here; what is false stays false.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "rubato/tools/reproduce/grappa.hpp"

namespace rubato::tools {
namespace {

constexpr Range kOverAtomics{25};
constexpr Range kEfficiency{0.5};
constexpr Range kGupsShare{40};              // %
constexpr Range kSmallShare{0, 10};          // %
constexpr Range kRunsShare{40};              // %
constexpr Range kUpdatesANode{0.82e3 / 31};  // million/s
constexpr Range kUpdates{0.82};              // thousand million/s
constexpr Range kCorrelation{0.5};
constexpr Range kSpike{47};          // %
constexpr Range kFewSwitch{0, 50};   // ns
constexpr Range kManySwitch{0, 75};  // ns
constexpr Range kPrefetched{1.5};
constexpr Range kPrefetchedFew{120.0 / 50 * 0.85};
constexpr Range kGrowth{0, 2};
constexpr std::uint32_t kUpdateNodes = 31;
constexpr const char* kLargeRow = "65536-bytes";

// Why there is no such row: the benchmark failed, or has none of that name.
std::string missing(const char* bench, const char* metric) {
  return fmt::format("bench {} has no row {}", bench, metric);
}

// Of a link.
double gbit_s(double bytes_s) {
  return bytes_s * 8 / 1e9;
}

Statement over_atomics(const GrappaRuns& runs) {
  const char* text =
      "increments through delegates are 25 times as many as atomics one by one (figure 6 left; "
      "the paper: at 128 nodes)";
  const BenchRow* row = find_row(runs.gups_mpi, "over-atomics");
  if (row == nullptr)
    return not_judged(text, kOverAtomics.text(), missing("gups-mpi", "over-atomics"));
  return judged(text, fmt::format("{:.1f}x of {} over two processes", row->ratio, row->baseline),
                kOverAtomics.text(), kOverAtomics.has(row->ratio));
}

Statement over_single(const GrappaRuns& runs) {
  const GupsPoint& most = runs.gups.back();
  const double here = most.rate / most.single_rate;
  return judged(
      "increments through delegates are 25 times as many as those one by one, on many nodes "
      "(figure 6 left)",
      fmt::format("{:.1f}x on {} simulated nodes", here, most.n_nodes), kOverAtomics.text(),
      kOverAtomics.has(here));
}

Statement grows(const GrappaRuns& runs) {
  const char* text = "GUPS grows with the nodes (figure 6 left)";
  // Of one node nothing is sent.
  if (runs.gups.size() < 3)
    return not_judged(text, kEfficiency.text(" times"),
                      "there are fewer than two numbers of nodes");
  const GupsPoint& few = runs.gups[1];
  const GupsPoint& many = runs.gups.back();
  const double kept = many.rate / many.n_nodes / (few.rate / few.n_nodes);
  return judged(text,
                fmt::format("{} simulated nodes have {:.2f} times the efficiency of {}",
                            many.n_nodes, kept, few.n_nodes),
                kEfficiency.text(" times"), kEfficiency.has(kept));
}

Statement gups_share(const GrappaRuns& runs) {
  const char* text = "GUPS uses 40 % of the bandwidth (section 3.3.1)";
  const double link = runs.updates.front().link_bytes_s;
  if (link == 0)
    return not_judged(text, kGupsShare.text(" %"), "links of the profile have no limit");
  const double here = 100 * runs.gups.back().node_bytes_s / link;
  return judged(text,
                fmt::format("{:.1f} % of {:.3g} Gbit/s on {} simulated nodes", here, gbit_s(link),
                            runs.gups.back().n_nodes),
                kGupsShare.text(" %"), kGupsShare.has(here));
}

// What 64 KiB messages one by one reach, in bytes.
double large_bandwidth(const GrappaRuns& runs) {
  const BenchRow* row = find_row(runs.message_size, kLargeRow);
  return row == nullptr ? 0 : row->baseline_value * message_bytes(*row);
}

Statement small_messages(const GrappaRuns& runs) {
  const char* text =
      "small messages one by one use little of the bandwidth (figure 6 right; 8-byte writes: 4 % "
      "of the wire's rate)";
  const double large = large_bandwidth(runs);
  const BenchRow* row = find_row(runs.message_size, "8-bytes");
  if (large == 0 || row == nullptr) {
    return not_judged(text, kSmallShare.text(" %"),
                      missing("message-size", large == 0 ? kLargeRow : "8-bytes"));
  }
  const double here = 100 * row->baseline_value * 8 / large;
  return judged(text, fmt::format("8 bytes: {:.2f} % of that of 64 KiB", here),
                kSmallShare.text(" %"), kSmallShare.has(here));
}

Statement small_runs(const GrappaRuns& runs) {
  const char* text = "gathered, small messages use 40 % of the bandwidth (section 3.3.1)";
  const std::string wanted = "each " + kRunsShare.text(" %");
  const double large = large_bandwidth(runs);
  if (large == 0) return not_judged(text, wanted, missing("message-size", kLargeRow));
  std::string here;
  bool holds = true;
  for (const char* metric : {"8-bytes", "32-bytes"}) {
    const BenchRow* row = find_row(runs.message_size, metric);
    if (row == nullptr) return not_judged(text, wanted, missing("message-size", metric));
    const double percent = 100 * row->value * message_bytes(*row) / large;
    here += fmt::format("{}{:.0f} bytes: {:.1f} %", here.empty() ? "" : ", ", message_bytes(*row),
                        percent);
    holds = holds && kRunsShare.has(percent);
  }
  return judged(text, here + " of that of 64 KiB", wanted, holds);
}

Statement updates_here(const GrappaRuns& runs) {
  const char* text = "0.82 GUPS of 32 bytes on 31 nodes: 26.5 million/s a node (figure 7c)";
  const BenchRow* row = find_row(runs.messages, "both-ways");
  if (row == nullptr)
    return not_judged(text, kUpdatesANode.text(" million/s"), missing("messages", "both-ways"));
  const double here = row->value / 2;
  return judged(text, fmt::format("{:.1f} million/s a node, of two processes of a core", here),
                kUpdatesANode.text(" million/s"), kUpdatesANode.has(here));
}

// The last run has the bandwidth of the paper's cards.
Statement updates(const GrappaRuns& runs) {
  const char* text = "0.82 GUPS of 32 bytes on 31 nodes (figure 7c)";
  const UpdateRun& run = runs.updates.back();
  if (run.n_nodes != kUpdateNodes)
    return not_judged(text, kUpdates.text(" GUPS"), fmt::format("of {} nodes", run.n_nodes));
  const double here = run.rate / 1e9;
  return judged(text, fmt::format("{:.3f} GUPS, simulated with the paper's 40 Gbit/s", here),
                kUpdates.text(" GUPS"), kUpdates.has(here));
}

Statement together(const GrappaRuns& runs) {
  const double here = correlation(runs.over_time);
  return judged("bandwidth goes with concurrency (figure 8)",
                fmt::format("correlation {:.3f} of GUPS over time, simulated", here),
                kCorrelation.text(""), kCorrelation.has(here));
}

Statement spikes(const GrappaRuns& runs) {
  const char* text = "at spikes of concurrency 47 % of the bandwidth are used (figure 8)";
  if (runs.watched_link_bytes_s == 0)
    return not_judged(text, kSpike.text(" %"), "links of the profile have no limit");
  const auto most = std::ranges::max_element(runs.over_time, {}, &Moment::node_bytes_s);
  const double here = 100 * most->node_bytes_s / runs.watched_link_bytes_s;
  return judged(
      text,
      fmt::format("{:.1f} % of {:.3g} Gbit/s, simulated", here, gbit_s(runs.watched_link_bytes_s)),
      kSpike.text(" %"), kSpike.has(here));
}

Statement switch_time(const GrappaRuns& runs, const char* metric, const char* text,
                      const Range& range) {
  const BenchRow* row = find_row(runs.yield, metric);
  if (row == nullptr) return not_judged(text, range.text(" ns"), missing("yield", metric));
  return judged(text, fmt::format("{:.1f} ns", row->value), range.text(" ns"),
                range.has(row->value));
}

Statement prefetched(const GrappaRuns& runs) {
  const char* text = "prefetching makes switches of many workers faster (section 3.2)";
  const std::string wanted = "each " + kPrefetched.text();
  const BenchRow* few = find_row(runs.yield, "tasks-100k-prefetch");
  const BenchRow* many = find_row(runs.yield, "tasks-500k-prefetch");
  if (few == nullptr || many == nullptr) {
    return not_judged(
        text, wanted,
        missing("yield", few == nullptr ? "tasks-100k-prefetch" : "tasks-500k-prefetch"));
  }
  return judged(text,
                fmt::format("{:.2f}x of 100,000, {:.2f}x of 500,000", few->ratio, many->ratio),
                wanted, kPrefetched.has(few->ratio) && kPrefetched.has(many->ratio));
}

Statement prefetched_few(const GrappaRuns& runs) {
  const char* text =
      "without prefetching a switch of 1,000 workers takes 120 ns for 50 (section 3.2)";
  const BenchRow* row = find_row(runs.yield, "tasks-1k-prefetch");
  if (row == nullptr)
    return not_judged(text, kPrefetchedFew.text(), missing("yield", "tasks-1k-prefetch"));
  return judged(
      text,
      fmt::format("{:.2f}x: {:.1f} ns for {:.1f}", row->ratio, row->baseline_value, row->value),
      kPrefetchedFew.text(), kPrefetchedFew.has(row->ratio));
}

Statement bound_by_bandwidth(const GrappaRuns& runs) {
  const char* text =
      "with prefetching switches are bound by memory's bandwidth, not its latency (section 3.2; "
      "500,000 workers: 1.5x of 1,000)";
  const BenchRow* few = find_row(runs.yield, "tasks-1k");
  const BenchRow* many = find_row(runs.yield, "tasks-500k");
  const bool has_few = few != nullptr && few->value > 0;
  if (!has_few || many == nullptr)
    return not_judged(text, kGrowth.text(), missing("yield", has_few ? "tasks-500k" : "tasks-1k"));
  const double here = many->value / few->value;
  return judged(text, fmt::format("500,000 workers {:.1f}x of 1,000", here), kGrowth.text(),
                kGrowth.has(here));
}

}  // namespace

double message_bytes(const BenchRow& row) {
  double n_bytes = 0;
  std::from_chars(row.metric.data(), row.metric.data() + row.metric.size(), n_bytes);
  return n_bytes;
}

double correlation(const std::vector<Moment>& moments) {
  const auto n = static_cast<double>(moments.size());
  double x = 0;
  double y = 0;
  for (const Moment& moment : moments) {
    x += moment.n_waiting / n;
    y += moment.node_bytes_s / n;
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (const Moment& moment : moments) {
    const double dx = moment.n_waiting - x;
    const double dy = moment.node_bytes_s - y;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

std::vector<Statement> judge_grappa(const GrappaRuns& runs) {
  return {over_atomics(runs),
          over_single(runs),
          grows(runs),
          gups_share(runs),
          small_messages(runs),
          small_runs(runs),
          updates_here(runs),
          updates(runs),
          together(runs),
          spikes(runs),
          switch_time(runs, "tasks-1k", "a switch of 1,000 workers takes 50 ns (section 3.2)",
                      kFewSwitch),
          switch_time(runs, "tasks-500k", "a switch of 500,000 workers takes 75 ns (section 3.2)",
                      kManySwitch),
          prefetched(runs),
          prefetched_few(runs),
          bound_by_bandwidth(runs)};
}

}  // namespace rubato::tools

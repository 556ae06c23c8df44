// The tables of `reproduce grappa`.

#include <algorithm>

#include <fmt/format.h>

#include "rubato/core/message/core_context.hpp"
#include "rubato/tools/reproduce/grappa.hpp"

namespace rubato::tools {
namespace {

constexpr const char* kNotMeasured = "not measured: the benchmark was left out, or failed";

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

GrappaFigure gups(const GrappaRuns& runs, const GrappaOptions& options) {
  GrappaFigure out{
      "Figure 6, left", "Random increments by nodes, simulated",
      io::Table({{"nodes"},
                 {"delegates", 2, " M/s"},
                 {"a node", 2, " M/s"},
                 {"sent by a node", 1, " MB/s"},
                 {"one by one", 3, " M/s"},
                 {"ratio", 1, "x"}}),
      fmt::format("one by one: {} under way of a node, each a message of its own; a "
                  "message costs {} us of a core where it leaves and where it comes",
                  options.batch, static_cast<double>(core::MessageOptions{}.buffer_cost) / 1e3)};
  io::LineChart chart{.title = "Increments", .x_label = "nodes", .y_label = "million/s"};
  chart.series = {{"delegates"}, {"one by one"}};
  chart.log_x = chart.log_y = true;
  for (const GupsPoint& point : runs.gups) {
    out.table.row()
        .integer(point.n_nodes)
        .number(point.rate / 1e6)
        .number(point.rate / 1e6 / point.n_nodes)
        .number(point.node_bytes_s / 1e6);
    if (point.single_rate > 0) {
      out.table.number(point.single_rate / 1e6).number(point.rate / point.single_rate);
    }
    for (io::Series& series : chart.series)
      series.x.push_back(point.n_nodes);
    chart.series[0].y.push_back(point.rate / 1e6);
    // 0 is none, and interrupts the line.
    chart.series[1].y.push_back(point.single_rate / 1e6);
  }
  out.charts.push_back(std::move(chart));
  return out;
}

GrappaFigure gups_here(const GrappaRuns& runs) {
  GrappaFigure out{
      "Figure 6, left", "Random increments over two processes of this machine",
      io::Table(
          {{"baseline"}, {"delegates", 2, " M/s"}, {"one by one", 3, " M/s"}, {"ratio", 1, "x"}}),
      runs.gups_mpi.empty() ? kNotMeasured : "of a core each, under Open MPI"};
  if (const BenchRow* row = find_row(runs.gups_mpi, "over-atomics")) {
    out.table.row()
        .text(row->baseline)
        .number(row->value)
        .number(row->baseline_value)
        .number(row->ratio);
  }
  return out;
}

GrappaFigure message_size(const GrappaRuns& runs) {
  GrappaFigure out{
      "Figure 6, right", "Bandwidth by size of message, from one process to another",
      io::Table({{"bytes"},
                 {"as runs", 1, " MB/s"},
                 {"an MPI message each", 1, " MB/s"},
                 {"ratio", 2, "x"}}),
      runs.message_size.empty() ? kNotMeasured : "the paper measured messages there and back"};
  io::LineChart chart{.title = "Bandwidth", .x_label = "bytes", .y_label = "MB/s"};
  chart.series = {{"as runs"}, {"an MPI message each"}};
  chart.log_x = chart.log_y = true;
  for (const BenchRow& row : runs.message_size) {
    const double n_bytes = message_bytes(row);
    out.table.row()
        .integer(static_cast<std::int64_t>(n_bytes))
        .number(row.value * n_bytes)
        .number(row.baseline_value * n_bytes)
        .number(row.ratio);
    for (io::Series& series : chart.series)
      series.x.push_back(n_bytes);
    chart.series[0].y.push_back(row.value * n_bytes);
    chart.series[1].y.push_back(row.baseline_value * n_bytes);
  }
  if (!runs.message_size.empty()) out.charts.push_back(std::move(chart));
  return out;
}

GrappaFigure updates(const GrappaRuns& runs) {
  GrappaFigure out{
      "Figure 7c, bottom", "Updates of 32 bytes to random nodes, simulated",
      io::Table({{"nodes"},
                 {"network", 0, " Mbit/s"},
                 {"updates", 3, " G/s"},
                 {"a node", 2, " M/s"},
                 {"sent by a node", 1, " MB/s"},
                 {"of the network", 1, " %"}}),
      "without the activation of vertices, as in the paper; 40000 Mbit/s are a card of "
      "its cluster, whose nodes have many cores"};
  for (const UpdateRun& run : runs.updates) {
    out.table.row()
        .integer(run.n_nodes)
        .number(run.link_bytes_s * 8 / 1e6)
        .number(run.rate / 1e9)
        .number(run.rate / 1e6 / run.n_nodes)
        .number(run.node_bytes_s / 1e6)
        .number(100 * ratio(run.node_bytes_s, run.link_bytes_s));
  }
  return out;
}

GrappaFigure messages_here(const GrappaRuns& runs) {
  GrappaFigure out{"Figure 7c, bottom",
                   "Messages of 32 bytes between two processes of this machine",
                   io::Table({{"way"},
                              {"a sending node", 2, " M/s"},
                              {"bandwidth", 1, " MB/s"},
                              {"baseline"},
                              {"a node of it", 2, " M/s"}}),
                   runs.messages.empty() ? kNotMeasured : "of a core each, under Open MPI"};
  for (const BenchRow& row : runs.messages) {
    const double n_senders = row.metric == "both-ways" ? 2 : 1;
    out.table.row()
        .text(row.metric)
        .number(row.value / n_senders)
        .number(32 * row.value / n_senders)
        .text(row.baseline)
        .number(row.baseline_value / n_senders);
  }
  return out;
}

GrappaFigure over_time(const GrappaRuns& runs, const GrappaOptions& options) {
  GrappaFigure out{
      "Figure 8", "Concurrency and bandwidth over time, simulated",
      io::Table({{"ms", 2}, {"waiting tasks", 0}, {"sent by a node", 1, " MB/s"}}),
      fmt::format("GUPS on {} nodes, where the paper has PageRank: five rounds of increments that "
                  "are waited for, {} tasks a node in the first, each time half as many; "
                  "correlation {:.3f}",
                  std::min(options.n_watched, options.n_nodes), options.n_peak_tasks,
                  correlation(runs.over_time))};
  io::Series tasks{"waiting tasks"};
  io::Series bandwidth{"MB/s a node"};
  for (const Moment& moment : runs.over_time) {
    out.table.row().number(moment.ms).number(moment.n_waiting).number(moment.node_bytes_s / 1e6);
    tasks.x.push_back(moment.ms);
    tasks.y.push_back(moment.n_waiting);
    bandwidth.x.push_back(moment.ms);
    bandwidth.y.push_back(moment.node_bytes_s / 1e6);
  }
  out.charts = {{.title = "Waiting tasks", .x_label = "ms", .series = {tasks}},
                {.title = "Bandwidth", .x_label = "ms", .y_label = "MB/s", .series = {bandwidth}}};
  return out;
}

GrappaFigure switches(const GrappaRuns& runs) {
  GrappaFigure out{"Section 3.2", "Time of a switch by workers, on this machine",
                   io::Table({{"workers"},
                              {"prefetching", 1, " ns"},
                              {"without", 1, " ns"},
                              {"ratio", 2, "x"},
                              {"Boost.Fiber", 1, " ns"}}),
                   runs.yield.empty() ? kNotMeasured : "each writes three lines of its stack"};
  constexpr std::string_view kPrefetch = "-prefetch";
  for (const BenchRow& row : runs.yield) {
    if (!row.metric.ends_with(kPrefetch)) continue;
    const std::string name = row.metric.substr(0, row.metric.size() - kPrefetch.size());
    out.table.row()
        .text(name.substr(name.find('-') + 1))
        .number(row.value)
        .number(row.baseline_value)
        .number(row.ratio);
    const BenchRow* whole = find_row(runs.yield, name);
    if (whole != nullptr && !whole->baseline.empty()) out.table.number(whole->baseline_value);
  }
  return out;
}

}  // namespace

std::vector<GrappaFigure> grappa_figures(const GrappaRuns& runs, const GrappaOptions& options) {
  return {gups(runs, options), gups_here(runs),          message_size(runs), updates(runs),
          messages_here(runs), over_time(runs, options), switches(runs)};
}

}  // namespace rubato::tools

// The tables of `reproduce asytick`.

#include <algorithm>

#include <fmt/format.h>

#include "rubato/tools/reproduce/asytick.hpp"

namespace rubato::tools {
namespace {

// Two successive ticks, as the paper shows: its 50th and 51st, or the last two of a shorter run.
constexpr tick::Tick kShownTick = 50;

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

AsytickFigure skew(const AsytickRuns& runs, const AsytickOptions& options) {
  AsytickFigure out{4, "Skew that comtick leaves, max / mean - 1 over workers",
                    io::Table({{"benchmark"}, {"tick"}, {"lambda_L", 3}, {"lambda_C", 3}}), ""};
  for (const BenchmarkRuns& each : runs.benchmarks) {
    const tick::SkewFigures& skew = each.run("comtick").skew;
    const std::size_t n =
        std::min(skew.computation.by_tick.size(), skew.communication.by_tick.size());
    const auto first = static_cast<std::size_t>(std::min(kShownTick, options.ticks - 2));
    for (std::size_t t = first; t < std::min(n, first + 2); ++t) {
      out.table.row()
          .text(each.model)
          .integer(static_cast<std::int64_t>(t))
          .number(skew.computation.by_tick[t])
          .number(skew.communication.by_tick[t]);
    }
    double sum = 0;
    for (auto t = static_cast<std::size_t>(options.warm_up); t < n; ++t)
      sum += skew.computation.by_tick[t];
    out.note +=
        fmt::format("{}{} {:.2f}", out.note.empty() ? "lambda_L in the mean of ticks: " : ", ",
                    each.model, sum / static_cast<double>(options.ticks - options.warm_up));
  }
  return out;
}

AsytickFigure asynchronous(const AsytickRuns& runs) {
  AsytickFigure out{5, "Asynchronous part of a step, by its cost",
                    io::Table({{"benchmark"}, {"asynchronous", 1, " %"}}),
                    "of pairs, or edges, in the cost of all steps; both as the model is charged"};
  for (const BenchmarkRuns& each : runs.benchmarks)
    out.table.row().text(each.model).number(100 * each.asynchronous_share);
  return out;
}

AsytickFigure breakdown(const AsytickRuns& runs) {
  AsytickFigure out{
      6, "Where the time of all workers goes",
      io::Table({{"benchmark"},
                 {"system"},
                 {"stepping", 1, " %"},
                 {"sending", 1, " %"},
                 {"waiting", 1, " %"},
                 {"uneven", 3}}),
      "uneven: max / mean - 1 over workers of their steps in all counted ticks; of x they wait "
      "x / (1 + x) in whatever order"};
  for (const BenchmarkRuns& each : runs.benchmarks) {
    for (const char* system : {"asytick", "asytick-plb"}) {
      const SystemRun& run = each.run(system);
      out.table.row()
          .text(each.model)
          .text(system)
          .number(100 * run.steps_s / run.cores_s)
          .number(100 * run.moves_s / run.cores_s)
          .number(100 * run.waiting_share())
          .number(run.unevenness);
    }
  }
  return out;
}

AsytickFigure overhead(const AsytickRuns& runs) {
  AsytickFigure out{
      7, "What asytick-plb costs beside comtick",
      io::Table({{"benchmark"},
                 {"computation", 2, " %"},
                 {"communication", 2, "x"},
                 {"messages", 2, "x"},
                 {"bytes", 2, "x"}}),
      "computation: further time of workers in steps; communication: time of packing, "
      "sending and taking, and of moving pieces"};
  for (const BenchmarkRuns& each : runs.benchmarks) {
    const SystemRun& plb = each.run("asytick-plb");
    const SystemRun& com = each.run("comtick");
    out.table.row()
        .text(each.model)
        .number(100 * (ratio(plb.whole_steps_s, com.whole_steps_s) - 1))
        .number(ratio(plb.whole_moves_s, com.whole_moves_s))
        .number(ratio(static_cast<double>(plb.n_messages), static_cast<double>(com.n_messages)))
        .number(ratio(static_cast<double>(plb.n_bytes), static_cast<double>(com.n_bytes)));
  }
  return out;
}

AsytickFigure completion(const AsytickRuns& runs, const AsytickOptions& options) {
  AsytickFigure out{8, "Fish: the next five ticks when a skewed one ends",
                    io::Table({{"tick"}, {"complete", 1, " %"}}),
                    fmt::format("asytick; at the ninth tick one worker takes {} times as long",
                                options.slowdown)};
  for (std::size_t i = 0; i < runs.completion.size(); ++i)
    out.table.row().text(fmt::format("+{}", i + 1)).number(100 * runs.completion[i]);
  return out;
}

AsytickFigure absorbed(const AsytickRuns& runs) {
  AsytickFigure out{9, "What asytick-plb absorbs of the skew that comtick leaves",
                    io::Table({{"benchmark"},
                               {"comtick", 1, " ms"},
                               {"shared evenly", 1, " ms"},
                               {"asytick-plb", 1, " ms"},
                               {"absorbed", 1, " %"},
                               {"by its own loads", 1, " %"}}),
                    "shared evenly: comtick's steps and messages if no worker ever waited; by its "
                    "own loads: as `rubato run` tells it, warm-up included"};
  for (const BenchmarkRuns& each : runs.benchmarks) {
    out.table.row()
        .text(each.model)
        .number(1e3 * each.run("comtick").seconds)
        .number(1e3 * each.perfect_seconds())
        .number(1e3 * each.run("asytick-plb").seconds)
        .number(100 * each.absorbed("asytick-plb"))
        .number(100 * each.run("asytick-plb").skew.absorbed().value_or(0));
  }
  return out;
}

AsytickFigure scheduler(const AsytickRuns& runs) {
  AsytickFigure out{
      10, "The order of pieces: on, and off",
      io::Table({{"benchmark"}, {"on", 1, " ms"}, {"off", 1, " ms"}, {"of the absorbed", 1, " %"}}),
      "off: pieces run as they become ready, whatever their tick and their distance "
      "from the border"};
  for (const BenchmarkRuns& each : runs.benchmarks) {
    out.table.row()
        .text(each.model)
        .number(1e3 * each.run("asytick-plb").seconds)
        .number(1e3 * each.run("as they come").seconds)
        .number(100 * each.scheduled());
  }
  return out;
}

AsytickFigure speedups(const AsytickRuns& runs) {
  AsytickFigure out{11, "Speedup over oritick",
                    io::Table({{"benchmark"},
                               {"oritick", 1, " ms"},
                               {"comtick", 2, "x"},
                               {"asytick", 2, "x"},
                               {"asytick-plb", 2, "x"}}),
                    ""};
  for (const BenchmarkRuns& each : runs.benchmarks) {
    const double oritick = each.run("oritick").seconds;
    out.table.row().text(each.model).number(1e3 * oritick);
    for (const char* system : {"comtick", "asytick", "asytick-plb"})
      out.table.number(oritick / each.run(system).seconds);
  }
  return out;
}

// The last column is the ratio to what the first point makes of x by `expected`.
AsytickFigure series(int number, std::string title, const std::string& x_name,
                     const std::vector<SeriesPoint>& points, const std::string& ratio_name,
                     double (*expected)(double)) {
  AsytickFigure out{number, std::move(title),
                    io::Table({{x_name}, {"time", 1, " ms"}, {ratio_name, 3}}), ""};
  const auto best = std::ranges::min_element(points, {}, &SeriesPoint::seconds);
  for (const SeriesPoint& point : points) {
    const SeriesPoint& first = points.front();
    out.table.row()
        .integer(static_cast<std::int64_t>(point.x))
        .number(1e3 * point.seconds)
        .number(first.seconds * expected(point.x / first.x) / point.seconds);
    if (&point == &*best) out.table.highlight();
  }
  return out;
}

}  // namespace

std::vector<AsytickFigure> asytick_figures(const AsytickRuns& runs, const AsytickOptions& options) {
  std::vector<AsytickFigure> all{skew(runs, options), asynchronous(runs), breakdown(runs),
                                 overhead(runs),      absorbed(runs),     scheduler(runs),
                                 speedups(runs)};
  if (options.only.empty() || options.only == "fish")
    all.insert(all.begin() + 4, completion(runs, options));
  if (!options.only.empty()) return all;
  all.push_back(series(12, "N-body, asytick-plb: scalability", "nodes", runs.by_nodes, "efficiency",
                       [](double x) { return 1 / x; }));
  all.push_back(series(13, "N-body, asytick-plb: data size", "bodies", runs.by_size,
                       "linear / here", [](double x) { return x; }));
  all.back().note = fmt::format(
      "on {} nodes: few bodies on many wait for one group after the other", options.size_nodes);
  all.push_back(series(14, "N-body, asytick-plb: pieces", "pieces", runs.by_pieces, "speedup",
                       [](double) { return 1.0; }));
  return all;
}

}  // namespace rubato::tools

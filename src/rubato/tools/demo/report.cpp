#include <fmt/format.h>

#include "rubato/io/html_report.hpp"
#include "rubato/tools/demo/demo.hpp"

namespace rubato::tools {
namespace {

io::BarChart waiting_chart(const Comparison& comparison) {
  io::BarChart chart{.title = "Share of the hosts' time that was spent waiting", .unit = "%"};
  chart.n_decimals = 1;
  for (const auto& each : comparison.policies) {
    chart.bars.push_back(
        {each.name(), 100 * each.waiting_share().mean, &each == &comparison.fastest()});
  }
  return chart;
}

// All policies see the same weather in a round: the lines go up and down together [Ticks fig. 5].
io::LineChart rounds_chart(const Comparison& comparison) {
  io::LineChart chart{.title = "Throughput by round", .x_label = "round", .y_label = "ticks/s"};
  for (const auto& each : comparison.policies) {
    io::Series series{.name = each.name()};
    for (std::size_t i = 0; i < each.rounds.size(); ++i) {
      series.x.push_back(static_cast<double>(i + 1));
      series.y.push_back(each.rounds[i].ticks_per_second);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

void write_demo_report(const std::string& path, const Scene& scene, const Comparison& comparison,
                       const io::RgbImage& picture, const std::vector<std::string>& next) {
  const PolicyRounds& best = comparison.fastest();
  io::HtmlReport report(scene.title);
  if (!scene.about.empty()) report.paragraph(scene.about);
  report.paragraph(fmt::format(
      "{} virtual hosts run {} ticks of the model {} over a network with the delays of {}: most "
      "messages take a fraction of a millisecond, a few take up to thirty. {} is the fastest "
      "policy, {:.1f} times as fast as {}. {}.",
      scene.n_nodes, scene.ticks, scene.model, scene.profile, best.name(), comparison.gain(best),
      comparison.baseline().name(), equality_line(comparison)));
  if (!picture.pixels.empty()) {
    report.image(picture, "The last state, the same for every policy, node count and core count.");
  }
  report.heading("Policies")
      .table(
          comparison_table(comparison),
          fmt::format("Mean and deviation of {} interleaved rounds; messages and bytes are those "
                      "of one run. Time is virtual: steps, replicas, packing and messages are "
                      "charged as they would cost.",
                      comparison.policies.front().rounds.size()))
      .chart(comparison_chart(comparison))
      .chart(waiting_chart(comparison));
  if (comparison.policies.front().rounds.size() > 1) report.chart(rounds_chart(comparison));
  report.heading("What the policies do")
      .paragraph("bulk: all hosts wait for all others at each tick.")
      .paragraph("local: a host waits for its neighbours only.")
      .paragraph(
          "schedule(D): while messages are late, it steps what does not depend on them, up to D "
          "ticks ahead.")
      .paragraph(
          "replicate(K,M): it keeps M layers of its neighbours' state too, hears of them every K "
          "ticks, and computes itself what is late.");
  report.heading("Try next");
  std::string commands;
  for (const auto& command : next)
    commands += command + "\n";
  report.code(commands);
  report.write(path);
}

}  // namespace rubato::tools

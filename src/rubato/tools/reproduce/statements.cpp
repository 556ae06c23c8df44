// What [Ticks 6.3] says of its figures, held against ours. "About" is taken as within a quarter of
// the gain.

#include <algorithm>

#include <fmt/format.h>

#include "rubato/tools/reproduce/figures.hpp"

namespace rubato::tools {
namespace {

std::string gain_of(const Figure& figure, const std::string& label) {
  return fmt::format("{} {:.2f}x", label, figure.at(label).gain);
}

std::string peak_of(const Figure& figure) {
  return std::ranges::max_element(figure.points, {}, &FigurePoint::throughput)->label;
}

Statement first_depth(const Figure& figure) {
  const double gain = figure.at("d=1").gain;
  return {"fish: a depth of 1 gains about 30 % over local synchronisation (figure 6)",
          gain_of(figure, "d=1"), gain >= 1.3 * 0.85 && gain <= 1.3 * 1.25};
}

Statement more_depth(const Figure& figure) {
  const double more = figure.at("d=10").gain / figure.at("d=1").gain;
  return {"fish: a larger depth does not improve much on it (figure 6)",
          fmt::format("d=10 is {:.2f} times d=1", more), more < 1.15};
}

Statement pagerank_depth(const Figure& figure) {
  return {"PageRank: scheduling gains, and depth behaves alike (figure 7)",
          gain_of(figure, "d=1") + ", " + gain_of(figure, "d=10"),
          figure.at("d=1").gain > 1.05 && figure.at("d=10").gain < 1.15 * figure.at("d=1").gain};
}

Statement pagerank_layers(const Figure& figure) {
  const double best = std::max(figure.at("k=1, m=1").gain, figure.at("k=2, m=2").gain);
  return {"PageRank: replication is counterproductive",
          gain_of(figure, "k=1, m=1") + ", " + gain_of(figure, "k=2, m=2"), best < 1};
}

Statement first_peak(const Figure& figure) {
  const double drop = figure.points.back().throughput / figure.at("m=2").throughput;
  return {"fish: with k=1 throughput peaks at m=2 and drops after it (figure 8)",
          fmt::format("peak at {}, {} has {:.2f} of m=2", peak_of(figure),
                      figure.points.back().label, drop),
          peak_of(figure) == "m=2" && drop < 1};
}

Statement late_rise(const Figure& figure) {
  const double rise = figure.at("m=9").throughput / figure.at("m=8").throughput;
  return {"fish: with k=5 throughput rises from m=8 to m=9 (figure 10)",
          fmt::format("m=9 has {:.3f} of m=8", rise), rise > 1};
}

Statement jacobi_both(const Figure& figure) {
  return {"Jacobi: replication (k=3, m=5) with scheduling gains over a factor of 3 (figure 11)",
          gain_of(figure, "both"), figure.at("both").gain > 3};
}

Statement fish_both(const Figure& figure) {
  const double gain = figure.at("both").gain;
  return {"fish: replication (k=2, m=3) with scheduling gains around a factor of 2.5 (figure 12)",
          gain_of(figure, "both"), gain >= 2.5 * 0.8 && gain <= 2.5 * 1.25};
}

Statement both_beat_one(const Figure& jacobi, const Figure& fish) {
  const auto holds = [](const Figure& figure) {
    const double replication = figure.at("replication").gain;
    return replication > figure.at("scheduling").gain && figure.at("both").gain > replication;
  };
  return {
      "both: replication gains most of a single technique, and the two together more",
      fmt::format("Jacobi {}, {}, {}; fish {}, {}, {}", gain_of(jacobi, "scheduling"),
                  gain_of(jacobi, "replication"), gain_of(jacobi, "both"),
                  gain_of(fish, "scheduling"), gain_of(fish, "replication"), gain_of(fish, "both")),
      holds(jacobi) && holds(fish)};
}

Statement linear(const Figure& figure) {
  // Two points a count, local and best; the first and the last of the best ones.
  const FigurePoint& few = figure.points[1];
  const FigurePoint& many = figure.points.back();
  const double kept = (many.throughput / many.x) / (few.throughput / few.x);
  const FigurePoint& local_few = figure.points.front();
  const FigurePoint& local_many = figure.points[figure.points.size() - 2];
  const double local_kept =
      (local_many.throughput / local_many.x) / (local_few.throughput / local_few.x);
  return {
      "fish: near-linear from 4 to 100 hosts, and better than local synchronisation (figure 13)",
      fmt::format("throughput a host at {:.0f} hosts is {:.2f} of that at {:.0f}; local {:.2f}",
                  many.x, kept, few.x, local_kept),
      kept >= 0.8 && kept >= local_kept};
}

}  // namespace

std::vector<Statement> judge(const Reproduction& r) {
  return {first_depth(r.figure(6)),
          more_depth(r.figure(6)),
          pagerank_depth(r.figure(7)),
          pagerank_layers(r.figure(7)),
          first_peak(r.figure(8)),
          late_rise(r.figure(10)),
          jacobi_both(r.figure(11)),
          fish_both(r.figure(12)),
          both_beat_one(r.figure(11), r.figure(12)),
          linear(r.figure(13))};
}

}  // namespace rubato::tools

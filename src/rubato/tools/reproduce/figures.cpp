#include "rubato/tools/reproduce/figures.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

namespace rubato::tools {
namespace {

// A policy as a bar of a figure.
struct Choice {
  std::string label;
  double x = 0;
  std::string policy;
};

// Runs policies of a workload, and each of them once only.
class Experiment {
 public:
  Experiment(const Identity& identity, const ReproduceOptions& options, Workload workload,
             std::uint32_t n_hosts, std::ostream& err)
      : options_(options), workload_(std::move(workload)), n_hosts_(n_hosts), err_(err) {
    for (const auto& make : identity.models) {
      std::unique_ptr<tick::App> app = make();
      if (app->name() != workload_.model) continue;
      model_ = std::make_unique<ChosenModel>(std::move(app));
    }
    if (!model_) throw Error("no model " + workload_.model + " to reproduce", ExitCode::failed);
    for (const auto& [name, value] : workload_.settings(n_hosts))
      model_->set(name, value);
    problem_ = model_->app().build();
  }

  void run(const std::vector<std::string>& policies) {
    std::vector<ChosenSystem> parsed;
    for (const auto& text : policies) {
      const tick::Policy policy = tick::Policy::parse(text);
      if (std::ranges::find(parsed, policy, &ChosenSystem::policy) == parsed.end())
        parsed.push_back({.policy = policy});
    }
    err_ << fmt::format("{} on {} hosts: {} policies, {} round{} of {} ticks\n", workload_.model,
                        n_hosts_, parsed.size(), options_.n_rounds,
                        options_.n_rounds == 1 ? "" : "s", options_.ticks);
    RunRequest request;
    request.ticks = options_.ticks;
    request.profile = options_.profile;
    request.n_simulated = n_hosts_;
    request.seed = options_.seed;
    comparison_ =
        compare_simulated(*problem_, parsed, options_.n_rounds, request, workload_.model, err_);
  }

  [[nodiscard]] bool equal() const { return comparison_.equal(); }

  [[nodiscard]] FigurePoint point(const Choice& choice) const {
    const tick::Policy policy = tick::Policy::parse(choice.policy);
    const auto found = std::ranges::find(comparison_.policies, policy, &PolicyRounds::policy);
    RUBATO_REQUIRE(found != comparison_.policies.end(), choice.policy);
    const double million = workload_.units_a_host * n_hosts_ / 1e6;
    const Mean rate = found->ticks_per_second();
    return {choice.label,
            choice.x,
            rate.mean * million,
            rate.deviation * million,
            comparison_.gain(*found),
            found->waiting_share().mean};
  }

  [[nodiscard]] Figure figure(int number, std::string title, std::string x_name,
                              const std::vector<Choice>& choices) const {
    Figure out{number, std::move(title), std::move(x_name), "million " + workload_.unit + "/s", {}};
    for (const Choice& choice : choices)
      out.points.push_back(point(choice));
    return out;
  }

 private:
  const ReproduceOptions& options_;
  Workload workload_;
  std::uint32_t n_hosts_;
  std::ostream& err_;
  std::unique_ptr<ChosenModel> model_;
  std::unique_ptr<tick::Problem> problem_;
  Comparison comparison_;
};

std::vector<Choice> depths() {
  std::vector<Choice> choices{{"local", 0, "local"}};
  for (const int d : {1, 2, 3, 5, 10})
    choices.push_back({fmt::format("d={}", d), static_cast<double>(d), fmt::format("d{}", d)});
  return choices;
}

std::vector<Choice> layers(int k, int m_first, int m_last) {
  std::vector<Choice> choices{{"local", 0, "local"}};
  for (int m = m_first; m <= m_last; ++m) {
    choices.push_back(
        {fmt::format("m={}", m), static_cast<double>(m), fmt::format("k{}m{}", k, m)});
  }
  return choices;
}

std::vector<Choice> combination(const std::string& replication) {
  return {{"local", 0, "local"},
          {"scheduling", 1, "d10"},
          {"replication", 2, replication},
          {"both", 3, replication + "d10"}};
}

std::vector<std::string> policies_of(std::initializer_list<std::vector<Choice>> figures) {
  std::vector<std::string> policies;
  for (const auto& choices : figures) {
    for (const Choice& choice : choices)
      policies.push_back(choice.policy);
  }
  return policies;
}

void reproduce_fish(const Identity& identity, const ReproduceOptions& options, std::ostream& err,
                    Reproduction& out) {
  const auto by_depth = depths();
  const auto k1 = layers(1, 1, 5);
  const auto k3 = layers(3, 2, 6);
  const auto k5 = layers(5, 4, 9);
  const auto both = combination("k2m3");
  Experiment fish(identity, options, fish_workload(options), options.n_hosts, err);
  fish.run(policies_of({by_depth, k1, k3, k5, both}));
  out.equal = out.equal && fish.equal();
  out.figures.push_back(fish.figure(6, "Fish: scheduling", "depth", by_depth));
  out.figures.push_back(fish.figure(8, "Fish: replication, k=1", "layers", k1));
  out.figures.push_back(fish.figure(9, "Fish: replication, k=3", "layers", k3));
  out.figures.push_back(fish.figure(10, "Fish: replication, k=5", "layers", k5));
  out.figures.push_back(fish.figure(12, "Fish: combination", "technique", both));
}

// Figure 13: the same work for each host. Each count has a point for both policies.
void reproduce_scale(const Identity& identity, const ReproduceOptions& options, std::ostream& err,
                     Reproduction& out) {
  Figure figure{13, "Fish: scalability", "hosts", "million fish/s", {}};
  for (const std::uint32_t n_hosts : options.scale_hosts) {
    Experiment fish(identity, options, fish_workload(options), n_hosts, err);
    fish.run({"local", "k2m3d10"});
    out.equal = out.equal && fish.equal();
    for (const auto& [name, policy] : {std::pair{"local", "local"}, {"best", "k2m3d10"}}) {
      figure.points.push_back(
          fish.point({fmt::format("{} {}", n_hosts, name), static_cast<double>(n_hosts), policy}));
    }
  }
  out.figures.push_back(std::move(figure));
}

}  // namespace

const FigurePoint& Figure::at(const std::string& label) const {
  const auto found = std::ranges::find(points, label, &FigurePoint::label);
  RUBATO_REQUIRE(found != points.end(), label, number);
  return *found;
}

io::Table Figure::table() const {
  io::Table out({{x_name}, {unit, 2}, {"+-", 2}, {"over local", 2, "x"}, {"waiting", 1, " %"}});
  const auto best = std::ranges::max_element(points, {}, &FigurePoint::throughput);
  for (const FigurePoint& point : points) {
    out.row()
        .text(point.label)
        .number(point.throughput)
        .number(point.deviation)
        .number(point.gain)
        .number(100 * point.waiting);
    if (&point == &*best) out.highlight();
  }
  return out;
}

const Figure& Reproduction::figure(int number) const {
  const auto found = std::ranges::find(figures, number, &Figure::number);
  RUBATO_REQUIRE(found != figures.end(), number);
  return *found;
}

Reproduction reproduce_ticks(const Identity& identity, const ReproduceOptions& options,
                             std::ostream& err) {
  Reproduction out;
  reproduce_fish(identity, options, err, out);
  {
    const auto by_depth = depths();
    // The paper shows no replication for PageRank, since it harms: the statement is tested here.
    std::vector<Choice> all = by_depth;
    all.push_back({"k=1, m=1", 11, "k1m1"});
    all.push_back({"k=2, m=2", 12, "k2m2"});
    Experiment pagerank(identity, options, pagerank_workload(options), options.n_hosts, err);
    pagerank.run(policies_of({all}));
    out.equal = out.equal && pagerank.equal();
    out.figures.push_back(
        pagerank.figure(7, "PageRank: scheduling, and replication", "policy", all));
  }
  {
    const auto both = combination("k3m5");
    Experiment jacobi(identity, options, jacobi_workload(options), options.n_hosts, err);
    jacobi.run(policies_of({both}));
    out.equal = out.equal && jacobi.equal();
    out.figures.push_back(jacobi.figure(11, "Jacobi: combination", "technique", both));
  }
  reproduce_scale(identity, options, err, out);
  std::ranges::sort(out.figures, {}, &Figure::number);
  const ReproduceOptions usual;
  // Of smaller hosts the statements say nothing.
  if (options.size == usual.size) out.statements = judge(out);
  // The reasons were measured with the default workload and network: of others they would be wrong.
  const bool is_usual = options.n_hosts == usual.n_hosts && options.tick_ms == usual.tick_ms &&
                        options.profile == usual.profile;
  for (Statement& statement : out.statements) {
    if (!is_usual) statement.why.clear();
  }
  return out;
}

}  // namespace rubato::tools

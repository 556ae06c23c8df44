#include "rubato/models/app_fish.hpp"

#include <string>

namespace rubato::models {
namespace {

class FishApp final : public tick::App {
 public:
  [[nodiscard]] std::string name() const override { return "fish"; }
  [[nodiscard]] std::string summary() const override {
    return "A school of fish in which few know the way (Couzin et al. 2005)";
  }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {"fish --fish 20000 --ticks 500 --output school --every 100",
            "fish --start examples/data/fish.csv --reflecting --ticks 300",
            "fish --simulate 16 --profile ec2-large --policy k2m3d10"};
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> check_settings() const override {
    return {{"fish", "400"}};
  }

  void declare(tick::Parameters& p) override {
    p.add("fish", options_.n, "number of generated fish");
    p.add("seed", options_.seed, "of the start and of the noise");
    p.add("start", options_.start, "CSV file to start from: id,x,y,vx,vy[,informed]");
    p.add("width", options_.width, "of the world; 0: as the fish or the file need");
    p.add("height", options_.height, "of the world; 0: the width, or as the file needs");
    p.add("neighbours", options_.neighbours, "that a generated fish sees, on average");
    p.add("reflecting", reflecting_, "fish turn round at the edge; else the world is a torus");
    p.add("alpha", options_.alpha, "radius of the zone of repulsion");
    p.add("rho", options_.rho, "radius of the zone of attraction and alignment");
    p.add("speed", options_.speed, "length a unit of time");
    p.add("theta", options_.theta, "turning, radians a unit of time at most");
    p.add("dt", options_.dt, "time of a tick");
    p.add("sigma", options_.sigma, "standard deviation of the noise, radians");
    p.add("noise", noise_, {"gaussian", "uniform"}, "its distribution");
    p.add("informed", options_.informed, "share of generated fish that know the direction");
    p.add("omega", options_.omega, "weight of the known direction");
    p.add("direction", options_.direction, "the known one, radians from the x axis");
    p.begin_advanced();
    p.add("partition", partition_, {"grid", "quadtree"}, "how the world is cut among the nodes");
    p.add("ns-per-fish", costs_.tuple, "nanoseconds a fish and tick in virtual time");
    p.add("ns-per-pair", costs_.pair, "and for each neighbour that it sees");
    p.are_files({"start"});
    p.may_change({"seed", "theta", "sigma", "noise", "omega", "direction"});
    p.same_bits({"partition", "ns-per-fish", "ns-per-pair"});
    p.unread(
        {"fish", "neighbours"}, [this] { return !options_.start.empty(); },
        "no --start with it: that file has the fish");
  }

  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    options_.periodic = !reflecting_;
    options_.noise = noise_ == "uniform" ? FishNoise::uniform : FishNoise::gaussian;
    for (const auto& [name, cost] :
         {std::pair{"ns-per-fish", costs_.tuple}, {"ns-per-pair", costs_.pair}}) {
      if (cost >= 0) continue;
      throw Error(std::string("--") + name + ": expected 0 or more, found " + std::to_string(cost),
                  ExitCode::usage);
    }
    tick::PointsOptions points;
    points.partition =
        partition_ == "quadtree" ? tick::PointsPartition::quadtree : tick::PointsPartition::grid;
    return std::make_unique<FishProblem>(tick::PointsModel(FishModel(options_), points), costs_);
  }

 private:
  FishOptions options_;
  tick::PointsCosts costs_;
  std::string noise_ = "gaussian";
  std::string partition_ = "grid";
  bool reflecting_ = false;
};

}  // namespace

std::unique_ptr<tick::App> make_fish_app() {
  return std::make_unique<FishApp>();
}

}  // namespace rubato::models

template class rubato::tick::ProblemOf<rubato::tick::PointsModel<rubato::models::FishModel>,
                                       rubato::tick::PointsStore<rubato::models::FishModel>,
                                       rubato::tick::PointsCosts>;

#include "rubato/models/app_nbody.hpp"

#include <string>

namespace rubato::models {
namespace {

class NBodyApp final : public tick::App {
 public:
  [[nodiscard]] std::string name() const override { return "nbody"; }
  [[nodiscard]] std::string summary() const override {
    return "Bodies that attract each other within a cutoff, in 2 or 3 dimensions";
  }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {"nbody --bodies 20000 --ticks 500 --output bodies --every 100",
            "nbody --dimensions 3 --precision double --bodies 5000 --ticks 200",
            "nbody --clusters 3 --bodies 30000 --simulate 16 --profile ec2-large --policy k2m3d10 "
            "--epoch 50",
            "nbody --start examples/data/bodies.csv --reflecting --radius 5 --ticks 300"};
  }
  [[nodiscard]] std::string files() const override {
    return "  nbody.csv            id,x,y[,z],vx,vy[,vz],mass,potential of the last state\n"
           "  nbody-0000000t.csv   of tick t, with --every\n"
           "  Velocities are half a tick behind the positions, and each potential, half of that "
           "of\n"
           "  all its pairs, a whole one. A file is a start: --start nbody.csv --staggered with "
           "the\n"
           "  same --width and --speed-limit goes on in the same bits.\n";
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> check_settings() const override {
    return {{"bodies", "400"}};
  }

  void declare(tick::Parameters& p) override {
    p.add("bodies", options_.n, "number of generated bodies");
    p.add("seed", options_.seed, "of the start");
    p.add("start", options_.start, "CSV file to start from: id,x,y[,z],vx,vy[,vz][,mass]");
    p.add("staggered", options_.staggered,
          "its velocities are half a tick old, as those that a run writes");
    p.add("dimensions", dimensions_, {"2", "3"}, "of the world");
    p.add("precision", precision_, {"float", "double"}, "of all numbers of a body");
    p.add("width", options_.width, "of the world; 0: as the bodies or the file need");
    p.add("height", options_.height, "of the world; 0: the width, or as the file needs");
    p.add("depth", options_.depth, "likewise, in 3 dimensions");
    p.add("neighbours", options_.neighbours, "within reach of a generated body, on average");
    p.add("reflecting", reflecting_, "bodies bounce off the edge; else the world is a torus");
    p.add("radius", options_.radius, "the cutoff: bodies farther apart have no effect");
    p.add("gravity", options_.gravity, "strength of the attraction; below 0 they push");
    p.add("softening", options_.softening, "length below which the force fades");
    p.add("dt", options_.dt, "time of a tick");
    p.add("speed", options_.speed, "of a generated body against its surroundings, at most");
    p.add("speed-limit", options_.speed_limit,
          "a faster body ends the run; 0: four times the fastest of the start, and at least a "
          "twentieth of the radius a tick");
    p.add("clusters", options_.clusters, "generated bodies come in so many clusters; 0: anywhere");
    p.add("cover", options_.cover, "share of the world that clusters cover");
    p.add("drift", options_.drift, "speed at which each of them moves through the world");
    p.add("clustered", options_.clustered, "share of the bodies that are in clusters");
    p.add("gatherings", options_.gatherings,
          "further bodies meet at each of the first so many ticks, each time at another place");
    p.add("groups", options_.groups, "groups in which they do, side by side");
    p.add("gathered", options_.gathered, "bodies in each of these groups");
    p.add("rush", options_.rush, "their speed at most; 0: a radius in a tick");
    p.begin_advanced();
    p.add("partition", partition_, {"grid", "quadtree"}, "how the world is cut among the nodes");
    p.add("ns-per-body", costs_.tuple, "nanoseconds a body and tick in virtual time");
    p.add("ns-per-pair", costs_.pair, "and for each other one within reach");
    p.are_files({"start"});
    // Not dt: saved velocities are half a tick old.
    p.may_change({"gravity", "softening", "speed-limit"});
    p.same_bits({"partition", "ns-per-body", "ns-per-pair"});
    declare_unread(p);
  }

  void declare_unread(tick::Parameters& p) {
    p.unread(
        {"bodies", "neighbours", "speed", "clusters", "cover", "drift", "clustered"},
        [this] { return !options_.start.empty(); }, "no --start with it: that file has the bodies");
    p.unread(
        {"cover", "drift", "clustered"}, [this] { return options_.clusters == 0; },
        "--clusters with it");
    p.unread(
        {"groups", "gathered", "rush"}, [this] { return options_.gatherings == 0; },
        "--gatherings with it");
  }

  void begin_branch(tick::Tick begin) override { options_.branch = begin; }

  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    options_.periodic = !reflecting_;
    for (const auto& [name, cost] :
         {std::pair{"ns-per-body", costs_.tuple}, {"ns-per-pair", costs_.pair}}) {
      if (cost >= 0) continue;
      throw Error(std::string("--") + name + ": expected 0 or more, found " + std::to_string(cost),
                  ExitCode::usage);
    }
    tick::PointsOptions points;
    points.partition =
        partition_ == "quadtree" ? tick::PointsPartition::quadtree : tick::PointsPartition::grid;
    const auto make = dimensions_ == "2"
                          ? precision_ == "float" ? build_nbody<float, 2> : build_nbody<double, 2>
                      : precision_ == "float" ? build_nbody<float, 3>
                                              : build_nbody<double, 3>;
    NBodyBuild built = make(options_, points, costs_);
    drift_ = std::move(built.drift);
    return std::move(built.problem);
  }

  [[nodiscard]] Bytes finding(tick::NodeRun& node) override {
    Writer out;
    drift_(node).write(out);
    return out.take();
  }
  [[nodiscard]] std::optional<io::Table> findings(const std::vector<Bytes>& parts) override {
    std::optional<NBodyDrift> all;
    for (const Bytes& part : parts) {
      Reader in(part);
      const NBodyDrift drift = NBodyDrift::read(in);
      if (all) {
        all->merge(drift);
      } else {
        all = drift;
      }
    }
    if (!all) return std::nullopt;
    return all->table();
  }

 private:
  NBodyOptions options_;
  tick::PointsCosts costs_;
  std::function<NBodyDrift(tick::NodeRun&)> drift_;
  std::string dimensions_ = "2";
  std::string precision_ = "float";
  std::string partition_ = "grid";
  bool reflecting_ = false;
};

}  // namespace

std::unique_ptr<tick::App> make_nbody_app() {
  return std::make_unique<NBodyApp>();
}

}  // namespace rubato::models

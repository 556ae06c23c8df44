// nbody against a second implementation, what it keeps, and its input.

#include "rubato/models/nbody.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "rubato/io/number.hpp"
#include "rubato/models/app_nbody.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tick/testing/property.hpp"

namespace rubato::models {
namespace {

template <class T, int D>
using Model = tick::PointsModel<NBody<T, D>>;
template <class T, int D>
using State = typename Model<T, D>::State;

// The formulas of nbody.hpp in double precision, over all pairs, without lanes, cells or queries.
template <int D>
class Verifier {
 public:
  using Vec = std::array<double, D>;
  struct Particle {
    Vec x{};
    Vec v{};
    double mass = 0;
    double kinetic = 0;    // at the last whole tick whose forces are known
    double potential = 0;  // likewise; half of each pair's
  };

  template <class T>
  Verifier(const NBody<T, D>& model, const State<T, D>& start) : o_(model.options()) {
    for (std::size_t d = 0; d < D; ++d) {
      low_[d] = double{model.world().box.low[d]};
      width_[d] = double{model.world().box.width(d)};
    }
    for (const auto& body : start) {
      Particle p;
      for (std::size_t d = 0; d < D; ++d) {
        p.x[d] = double{body.position[d]};
        p.v[d] = double{body.velocity[d]};
      }
      p.mass = double{body.mass};
      all_.push_back(p);
    }
  }

  void step(bool first) {
    std::vector<Vec> pulls;
    for (Particle& p : all_)
      pulls.push_back(pull(p));
    for (std::size_t i = 0; i < all_.size(); ++i) {
      Particle& p = all_[i];
      p.kinetic = 0;
      for (std::size_t d = 0; d < D; ++d) {
        const double now = p.v[d] + (first ? 0 : pulls[i][d] * o_.dt / 2);
        p.kinetic += p.mass * now * now / 2;
        p.v[d] += pulls[i][d] * o_.dt / (first ? 2 : 1);
        p.x[d] += p.v[d] * o_.dt;
        keep_inside(p.x[d], p.v[d], d);
      }
    }
  }
  [[nodiscard]] const std::vector<Particle>& all() const { return all_; }
  [[nodiscard]] double width(std::size_t d) const { return width_[d]; }

 private:
  [[nodiscard]] Vec pull(Particle& of) const {
    Vec sum{};
    of.potential = 0;
    const double r2 = o_.radius * o_.radius;
    const double e2 = o_.softening * o_.softening;
    for (const Particle& other : all_) {
      if (&other == &of) continue;
      Vec to;
      double d2 = 0;
      for (std::size_t d = 0; d < D; ++d) {
        to[d] = other.x[d] - of.x[d];
        if (o_.periodic) to[d] = std::remainder(to[d], width_[d]);
        d2 += to[d] * to[d];
      }
      if (d2 >= r2) continue;
      const double force =
          o_.gravity * other.mass * std::pow(1 - d2 / r2, 2) * std::pow(d2 + e2, -1.5);
      for (std::size_t d = 0; d < D; ++d)
        sum[d] += force * to[d];
      // The integral of the force from d to r, term by term.
      const auto primitive = [&](double q) {
        const double a2 = r2 + e2;
        return (-2 * a2 * a2 / std::sqrt(q) - 4 * a2 * std::sqrt(q) + 2 * std::pow(q, 1.5) / 3) /
               (r2 * r2);
      };
      of.potential +=
          o_.gravity * other.mass * of.mass / 4 * (primitive(d2 + e2) - primitive(r2 + e2));
    }
    return sum;
  }
  void keep_inside(double& x, double& v, std::size_t d) const {
    if (o_.periodic) {
      x -= std::floor((x - low_[d]) / width_[d]) * width_[d];
    } else if (x < low_[d]) {
      x = 2 * low_[d] - x;
      v = -v;
    } else if (x > low_[d] + width_[d]) {
      x = 2 * (low_[d] + width_[d]) - x;
      v = -v;
    }
  }

  NBodyOptions o_;
  Vec low_;
  Vec width_;
  std::vector<Particle> all_;
};

NBodyOptions swarm() {
  NBodyOptions options;
  options.n = 300;
  options.neighbours = 12;
  options.gravity = 0.05;
  options.speed = 1;
  return options;
}

template <class T, int D>
void expect_verified(const NBodyOptions& options, int ticks, double tolerance) {
  const Model<T, D> model{NBody<T, D>(options)};
  State<T, D> state = model.init(model.everything());
  ASSERT_EQ(state.size(), options.n);
  Verifier<D> verifier(model.user(), state);
  for (int t = 0; t < ticks; ++t) {
    state = model.step(state, state, t);
    verifier.step(t == 0);
    ASSERT_EQ(state.size(), options.n);
    for (std::size_t i = 0; i < state.size(); ++i) {
      const auto& expected = verifier.all()[i];
      for (std::size_t d = 0; d < D; ++d) {
        const double off = double{state[i].position[d]} - expected.x[d];
        ASSERT_LT(std::abs(std::remainder(off, verifier.width(d))), tolerance)
            << "body " << i << " at " << t;
        ASSERT_NEAR(double{state[i].velocity[d]}, expected.v[d], tolerance)
            << "body " << i << " at " << t;
      }
      ASSERT_NEAR(double{state[i].kinetic}, expected.kinetic, tolerance);
      ASSERT_NEAR(double{state[i].potential}, expected.potential, tolerance);
    }
  }
}

TEST(NBody, floats_in_a_plane_follow_the_formulas) {
  expect_verified<float, 2>(swarm(), 40, 2e-4);
}
TEST(NBody, floats_in_space_follow_the_formulas) {
  expect_verified<float, 3>(swarm(), 40, 2e-4);
}
TEST(NBody, doubles_follow_the_formulas_to_their_precision) {
  expect_verified<double, 2>(swarm(), 60, 1e-11);
  expect_verified<double, 3>(swarm(), 30, 1e-11);
}
TEST(NBody, bodies_between_walls_that_push_each_other_follow_the_formulas) {
  NBodyOptions options = swarm();
  options.periodic = false;
  options.gravity = -0.2;
  options.speed = 4;
  expect_verified<double, 2>(options, 60, 1e-11);
  expect_verified<double, 3>(options, 60, 1e-11);
}

// The largest drift of the energy in a run, over its kinetic and potential parts.
template <class T, int D>
double energy_drift(const NBodyOptions& options, int ticks) {
  const Model<T, D> model{NBody<T, D>(options)};
  State<T, D> state = model.init(model.everything());
  double most = 0;
  for (int t = 0; t < ticks; ++t) {
    state = model.step(state, state, t);
    NBodyDrift drift(t + 1, D);
    for (const auto& body : state)
      drift.add_end(body);
    most = std::max(most, std::abs(drift.energy_drift()));
  }
  return most;
}

TEST(NBody, the_energy_is_kept_and_its_drift_falls_with_the_square_of_the_tick) {
  NBodyOptions options = swarm();
  options.gravity = 0.2;
  const double coarse = energy_drift<double, 2>(options, 200);
  EXPECT_LT(coarse, 2e-3);
  EXPECT_GT(coarse, 1e-7) << "the gravity is too weak to say anything";
  options.dt /= 4;
  const double fine = energy_drift<double, 2>(options, 800);
  EXPECT_LT(fine, coarse / 10);
  EXPECT_GT(fine, coarse / 30);
}

// What a run tells at its end, as JSON.
std::string findings(const std::vector<std::pair<std::string, std::string>>& settings,
                     std::uint32_t n_nodes, const char* policy, tick::Tick ticks) {
  const auto app = make_nbody_app();
  tick::Parameters parameters;
  app->declare(parameters);
  for (const auto& [name, text] : settings)
    parameters.set(name, text);
  const auto problem = app->build();
  std::vector<Bytes> parts;
  tick::SimulationOptions options;
  options.n_nodes = n_nodes;
  options.at_end = [&](tick::NodeId, tick::NodeRun& node) { parts.push_back(app->finding(node)); };
  (void)tick::simulate(*problem, tick::Policy::parse(policy), ticks, options);
  io::JsonWriter json;
  app->findings(parts)->to_json(json);
  return json.text();
}

TEST(NBodyDrift, a_run_tells_the_same_bits_on_any_number_of_nodes) {
  for (const char* dimensions : {"2", "3"}) {
    const std::vector<std::pair<std::string, std::string>> settings{{"bodies", "500"},
                                                                    {"clusters", "2"},
                                                                    {"dimensions", dimensions},
                                                                    {"partition", "quadtree"}};
    const std::string one = findings(settings, 1, "local", 7);
    EXPECT_NE(one.find("\"energy\""), std::string::npos) << one;
    EXPECT_EQ(one.find("momentum z") != std::string::npos, *dimensions == '3') << one;
    EXPECT_EQ(findings(settings, 3, "k2m2", 7), one);
    EXPECT_EQ(findings(settings, 4, "d2", 7), one);
  }
  const std::string none = findings({{"bodies", "500"}}, 2, "local", 0);
  EXPECT_EQ(none.find("energy"), std::string::npos) << none;
  EXPECT_NE(none.find("momentum y"), std::string::npos) << none;
}

TEST(NBodyDrift, the_momentum_of_a_torus_is_kept) {
  NBodyOptions options = swarm();
  options.clusters = 3;
  const Model<float, 2> model{NBody<float, 2>(options)};
  const auto run = tick::run_reference(model, model.everything(), 100);
  NBodyDrift drift(100, 2);
  model.user().for_each_start(0, 1, [&](const auto& body) { drift.add_start(body); });
  for (const auto& body : run.state)
    drift.add_end(body);
  for (const std::size_t d : {0U, 1U}) {
    EXPECT_LT(std::abs(drift.momentum_drift(d)), 1e-6);
    EXPECT_NE(drift.momentum_drift(d), 0) << "rounding leaves something";
  }
}

template <class T, int D>
void expect_bits_on_many_nodes(std::uint64_t first_seed) {
  for (std::uint64_t seed = first_seed; seed < first_seed + 6; ++seed) {
    NBodyOptions options = swarm();
    options.seed = seed;
    options.periodic = seed % 2 != 0;
    options.clusters = seed % 3;
    tick::testing::RunCase c = tick::testing::random_run(seed);
    c.ticks = 12;
    const Model<T, D> model(NBody<T, D>(options), {tick::PointsPartition::quadtree});
    const auto reference = tick::run_reference(model, model.everything(), c.ticks);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + tick::testing::describe(c));
    (void)tick::testing::expect_equal_run<tick::PointsStore<NBody<T, D>>>(model, c, seed,
                                                                          reference);
  }
}

TEST(NBody, many_nodes_have_the_bits_of_one) {
  expect_bits_on_many_nodes<float, 2>(1);
  expect_bits_on_many_nodes<double, 3>(20);
}

TEST(NBody, clusters_crowd_a_part_of_the_world_and_move_through_it) {
  NBodyOptions options;
  options.n = 700;
  options.clusters = 1;
  options.cover = 0.1;
  const Model<float, 2> model{NBody<float, 2>(options)};
  // The middle of the mass on a torus, as an angle along x.
  const double width = double{model.user().world().box.width(0)};
  const auto middle = [&](const State<float, 2>& state) {
    double s = 0;
    double c = 0;
    for (const auto& body : state) {
      s += std::sin(double{body.position[0]} / width * 2 * M_PI);
      c += std::cos(double{body.position[0]} / width * 2 * M_PI);
    }
    EXPECT_GT(std::hypot(s, c), 0.8 * double(options.n)) << "they are everywhere";
    return std::atan2(s, c) / (2 * M_PI) * width;
  };
  const State<float, 2> start = model.init(model.everything());
  const double vx = [&] {
    double sum = 0;
    for (const auto& body : start)
      sum += double{body.velocity[0]};
    return sum / double(options.n);
  }();
  const auto run = tick::run_reference(model, model.everything(), 60);
  EXPECT_NEAR(std::remainder(middle(run.state) - middle(start) - vx * 60 * options.dt, width), 0,
              0.05);
  EXPECT_GT(std::abs(vx) * 60 * options.dt, 0.2);
}

// A start file in the test's own folder.
class StartFile {
 public:
  explicit StartFile(const std::string& text)
      : path_(::testing::TempDir() + "nbody_start_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv") {
    std::ofstream(path_) << text;
  }
  ~StartFile() { std::remove(path_.c_str()); }
  StartFile(const StartFile&) = delete;
  StartFile& operator=(const StartFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(NBody, what_a_run_has_written_goes_on_in_the_bits_of_one_run) {
  NBodyOptions options = swarm();
  options.width = 10;
  const Model<float, 3> model{NBody<float, 3>(options)};
  const auto half = tick::run_reference(model, model.everything(), 9);
  const auto whole = tick::run_reference(model, model.everything(), 20);
  std::string text = "id,x,y,z,vx,vy,vz,mass,potential\n";
  for (const auto& body : half.state) {
    text += std::to_string(body.id);
    for (const float x : body.position)
      text += "," + io::number_text(x);
    for (const float v : body.velocity)
      text += "," + io::number_text(v);
    text += "," + io::number_text(body.mass) + "," + io::number_text(body.potential) + "\n";
  }
  const StartFile file(text);
  options.start = file.path();
  options.staggered = true;
  const Model<float, 3> later{NBody<float, 3>(options)};
  const auto rest = tick::run_reference(later, later.everything(), 11);
  ASSERT_EQ(rest.state.size(), whole.state.size());
  for (std::size_t i = 0; i < rest.state.size(); ++i) {
    EXPECT_EQ(rest.state[i].position, whole.state[i].position);
    EXPECT_EQ(rest.state[i].velocity, whole.state[i].velocity);
    EXPECT_EQ(rest.state[i].kinetic, whole.state[i].kinetic);
  }
}

NBodyOptions from(const StartFile& file) {
  NBodyOptions options;
  options.start = file.path();
  options.width = 50;
  return options;
}

template <int D = 2>
std::string error_of(const NBodyOptions& options, int ticks = 0) {
  try {
    const Model<float, D> model{NBody<float, D>(options)};
    (void)tick::run_reference(model, model.everything(), ticks);
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

void expect_in(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in: " << text;
}

TEST(NBody, a_start_file_gives_each_query_and_each_part_its_bodies) {
  const StartFile file("mass,id,x,y,vx,vy\n3,7,1,2,3,4\n,9,40.5,41,-1,0\n0,11,26,1,0,0\n");
  const Model<double, 2> model{NBody<double, 2>(from(file))};
  const auto all = model.init(model.everything());
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].id, 7U);
  EXPECT_EQ(all[0].mass, 3);
  EXPECT_EQ(all[0].velocity, (std::array<double, 2>{3, 4}));
  EXPECT_EQ(all[1].mass, 1);
  EXPECT_EQ(all[2].mass, 0);
  EXPECT_EQ(model.user().speed_limit(), 20) << "four times the fastest";
  std::size_t n_queried = 0;
  std::size_t n_parts = 0;
  for (const auto& query : model.part(3))
    n_queried += model.init(query).size();
  for (std::uint32_t i = 0; i < 4; ++i)
    model.user().for_each_start(i, 4, [&](const auto&) { ++n_parts; });
  EXPECT_EQ(n_queried, 3U);
  EXPECT_EQ(n_parts, 3U);
}

TEST(NBody, broken_start_files_are_errors_with_their_place) {
  const std::string head = "id,x,y,vx,vy\n";
  expect_in(error_of(from(StartFile(head))), {"0 bodies"});
  expect_in(error_of(from(StartFile(head + "1,1,1,1,1\n2,60,1,1,1\n"))),
            {"line 3", "(x)", "[0, 50)"});
  expect_in(error_of(from(StartFile(head + "1,nan,1,1,1\n"))), {"line 2", "(x)"});
  expect_in(error_of(from(StartFile(head + "1,1,1,1\n"))), {"line 2"});
  expect_in(error_of(from(StartFile(head + "4,1,1,1,1\n4,2,2,1,1\n"))),
            {"line 3", "an id of its own", "4"});
  expect_in(error_of(from(StartFile("id,x,y,vx,vy,mass\n1,1,1,1,1,-2\n"))),
            {"line 2", "(mass)", "a mass from 0 to 1e9", "-2"});
  expect_in(error_of(from(StartFile("id,x,y,vx\n1,1,1,1\n"))), {"vy"});
  expect_in(error_of(from(StartFile("id,x,y,vx,vy,maas\n1,1,1,1,1,1\n"))), {"maas", "mass"});
  expect_in(error_of(from(StartFile("id,x,y,z,vx,vy,vz\n1,1,1,1,1,1,1\n"))),
            {"column \"z\"", "--dimensions 3"});
  expect_in(error_of<3>(from(StartFile(head + "1,1,1,1,1\n"))), {"\"z\""});
  NBodyOptions no_width = from(StartFile(head + "1,1,1,1,1\n"));
  const StartFile file(head + "1,1,1,1,1\n");
  no_width.width = 0;
  expect_in(error_of(no_width), {"--width", "--reflecting"});
  no_width.periodic = false;
  EXPECT_EQ(error_of(no_width), "no error");
}

TEST(NBody, a_body_that_is_too_fast_ends_the_run_with_its_name_and_the_limit) {
  const StartFile file("id,x,y,vx,vy\n5,20,20,0,0\n6,20.1,20,0,0\n7,30,30,0,0\n");
  NBodyOptions options = from(file);
  options.gravity = -1000;
  options.speed_limit = 3;
  options.softening = 0.1;
  expect_in(error_of(options, 5), {"tick 1: body 5 moves at", "--speed-limit 3"});
  options.gravity = 0;
  EXPECT_EQ(error_of(options, 5), "no error");
  const StartFile fast("id,x,y,vx,vy\n5,20,20,3,4\n");
  options.start = fast.path();
  expect_in(error_of(options), {"--speed-limit", "up to 5", "found 3"});
  options.speed_limit = 5000;
  expect_in(error_of(options), {"--speed-limit", "as far as 50 in a tick", "50 wide"});
}

TEST(NBody, parameters_out_of_range_are_errors_by_name) {
  const auto with = [](auto change) {
    NBodyOptions options;
    change(options);
    return error_of(options);
  };
  expect_in(with([](NBodyOptions& o) { o.n = 0; }), {"0 bodies", "expected 1 to"});
  expect_in(with([](NBodyOptions& o) { o.softening = 0; }), {"softening is 0", "0.001"});
  expect_in(with([](NBodyOptions& o) { o.dt = 0; }), {"dt is 0"});
  expect_in(with([](NBodyOptions& o) { o.gravity = std::nan(""); }), {"gravity"});
  expect_in(with([](NBodyOptions& o) { o.cover = 2; }), {"cover is 2"});
  expect_in(with([](NBodyOptions& o) { o.clusters = 2'000'000; }), {"2000000 clusters"});
  expect_in(with([](NBodyOptions& o) { o.staggered = true; }), {"--staggered", "--start"});
  expect_in(with([](NBodyOptions& o) { o.depth = 3; }), {"--depth", "--dimensions 3"});
  expect_in(with([](NBodyOptions& o) { o.n = 30; }),
            {"--width 3.01 or more", "--bodies", "--reflecting"});
  expect_in(with([](NBodyOptions& o) {
              o.width = 9;
              o.height = 2;
            }),
            {"--height: the world is 2 wide"});
}

}  // namespace
}  // namespace rubato::models

// fish against a second implementation, and its input.

#include "rubato/models/fish.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/shuffle_driver.hpp"

namespace rubato::models {
namespace {

using Model = tick::PointsModel<FishModel>;
using State = Model::State;

struct Vec {
  double x = 0;
  double y = 0;
};
double length(Vec v) {
  return std::sqrt(v.x * v.x + v.y * v.y);
}
Vec unit(Vec v) {
  return {v.x / length(v), v.y / length(v)};
}

// The formulas of the paper in double precision, all pairs, with the C library's functions.
class Verifier {
 public:
  Verifier(const FishOptions& options, const FishModel::World& world)
      : o_(options),
        width_{world.box.high[0] - world.box.low[0]},
        height_{world.box.high[1] - world.box.low[1]},
        low_{world.box.low[0], world.box.low[1]} {}

  struct Next {
    Vec position;
    Vec heading;
    bool near_a_border;  // a neighbour is so near to alpha or rho that rounding decides
  };
  [[nodiscard]] Next step(const State& all, const Fish& fish, tick::Tick t) const {
    Next next{{}, {}, false};
    Vec away;
    Vec with{fish.heading[0], fish.heading[1]};
    bool close = false;
    for (const Fish& other : all) {
      if (other.id == fish.id) continue;
      const Vec to = way(fish, other);
      const double distance = length(to);
      if (std::abs(distance - o_.alpha) < 1e-4 || std::abs(distance - o_.rho) < 1e-4) {
        next.near_a_border = true;
      }
      if (distance < o_.alpha) {
        close = true;
        away = {away.x - to.x / distance, away.y - to.y / distance};
      }
      if (distance <= o_.rho) {
        with = {with.x + to.x / distance + other.heading[0],
                with.y + to.y / distance + other.heading[1]};
      }
    }
    Vec d = close ? away : with;
    // Nearly no direction: rounding decides.
    if (length(d) < 1e-2) next.near_a_border = true;
    d = unit(d);
    if (fish.informed != 0) {
      d = unit({d.x + o_.omega * std::cos(o_.direction), d.y + o_.omega * std::sin(o_.direction)});
    }
    const double wanted = std::atan2(d.y, d.x) + noise(fish.id, t);
    const double now = std::atan2(double{fish.heading[1]}, double{fish.heading[0]});
    const double turn = std::remainder(wanted - now, 2 * M_PI);
    if (std::abs(std::abs(turn) - M_PI) < 1e-3) next.near_a_border = true;
    const double most = o_.theta * o_.dt;
    const double angle = now + std::clamp(turn, -most, most);
    next.heading = {std::cos(angle), std::sin(angle)};
    next.position = {fish.position[0] + next.heading.x * o_.speed * o_.dt,
                     fish.position[1] + next.heading.y * o_.speed * o_.dt};
    keep_inside(next.position.x, next.heading.x, low_.x, width_);
    keep_inside(next.position.y, next.heading.y, low_.y, height_);
    return next;
  }

 private:
  [[nodiscard]] Vec way(const Fish& from, const Fish& to) const {
    Vec v{double{to.position[0]} - double{from.position[0]},
          double{to.position[1]} - double{from.position[1]}};
    if (o_.periodic) v = {std::remainder(v.x, width_), std::remainder(v.y, height_)};
    return v;
  }
  [[nodiscard]] double noise(std::uint64_t id, tick::Tick t) const {
    const auto words = random_words(o_.seed, id, static_cast<std::uint64_t>(t));
    if (o_.noise == FishNoise::uniform) {
      return (double{unit_float(words[0])} - 0.5) * std::sqrt(12.0) * o_.sigma;
    }
    double sum = 0;
    for (const std::uint32_t word : words) {
      for (int i = 0; i < 3; ++i)
        sum += static_cast<double>(word >> (10 * i) & 1023) - 511.5;
    }
    return sum / 1024 * o_.sigma;
  }
  void keep_inside(double& x, double& heading, double low, double width) const {
    if (o_.periodic) {
      x -= std::floor((x - low) / width) * width;
    } else if (x < low) {
      x = 2 * low - x;
      heading = -heading;
    } else if (x > low + width) {
      x = 2 * (low + width) - x;
      heading = -heading;
    }
  }

  FishOptions o_;
  double width_;
  double height_;
  Vec low_;
};

void expect_verified(FishOptions options) {
  const Model model{FishModel(options)};
  const Verifier verifier(options, model.user().world());
  State state = model.init(model.everything());
  ASSERT_EQ(state.size(), options.n);
  std::size_t n_compared = 0;
  for (tick::Tick t = 0; t < 6; ++t) {
    const State next = model.step(state, state, t);
    ASSERT_EQ(next.size(), state.size());
    for (std::size_t i = 0; i < state.size(); ++i) {
      const auto expected = verifier.step(state, state[i], t);
      if (expected.near_a_border) continue;
      ++n_compared;
      EXPECT_EQ(next[i].id, state[i].id);
      EXPECT_NEAR(double{next[i].heading[0]}, expected.heading.x, 2e-4)
          << "fish " << i << " at " << t;
      EXPECT_NEAR(double{next[i].heading[1]}, expected.heading.y, 2e-4)
          << "fish " << i << " at " << t;
      const double width = double{model.user().world().box.width(0)};
      EXPECT_LT(std::abs(std::remainder(double{next[i].position[0]} - expected.position.x, width)),
                2e-4);
      EXPECT_LT(std::abs(std::remainder(double{next[i].position[1]} - expected.position.y, width)),
                2e-4);
    }
    state = next;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(n_compared, options.n * 4) << "too few fish could be compared";
}

FishOptions school() {
  FishOptions options;
  options.n = 400;
  options.neighbours = 12;
  options.informed = 0.3;
  options.direction = 1.1;
  options.sigma = 0.05;
  return options;
}

TEST(Fish, a_periodic_school_follows_the_formulas_of_the_paper) {
  expect_verified(school());
}

TEST(Fish, a_school_between_walls_follows_the_formulas_of_the_paper) {
  FishOptions options = school();
  options.periodic = false;
  options.noise = FishNoise::uniform;
  options.seed = 5;
  options.speed = 4;
  expect_verified(options);
}

TEST(Fish, free_turning_and_loud_noise_follow_the_formulas_of_the_paper) {
  FishOptions options = school();
  options.theta = 100;
  options.sigma = 2;
  options.omega = 3;
  expect_verified(options);
}

// All fish at the end of a run on several nodes.
State run_on_nodes(const Model& model, const tick::Policy& policy, std::uint32_t n_nodes,
                   tick::Tick ticks) {
  using Query = Model::Query;
  const std::vector<Query> parts = model.part(n_nodes);
  std::vector<std::unique_ptr<tick::TypedPlan<Query>>> plans;
  std::vector<std::unique_ptr<tick::PointsStore<FishModel>>> stores;
  std::vector<std::unique_ptr<tick::Dataflow>> flows;
  std::vector<core::Engine*> engines;
  for (std::uint32_t node = 0; node < n_nodes; ++node) {
    plans.push_back(std::make_unique<tick::TypedPlan<Query>>(
        build_plan(model, std::span<const Query>(parts), node, policy)));
    stores.push_back(std::make_unique<tick::PointsStore<FishModel>>(model, *plans.back()));
    flows.push_back(std::make_unique<tick::Dataflow>(plans.back()->plan, *stores.back(),
                                                     tick::Dataflow::Options{ticks}));
    engines.push_back(flows.back().get());
  }
  tick::testing::ShuffleDriver(engines, 2, n_nodes).run();
  State state;
  for (const auto& store : stores)
    model.merge(state, store->own_state(ticks));
  return state;
}

TEST(Fish, a_school_on_many_nodes_has_the_bits_of_one) {
  FishOptions options = school();
  for (const bool periodic : {true, false}) {
    options.periodic = periodic;
    const Model model(FishModel(options), {tick::PointsPartition::quadtree});
    const auto reference = tick::run_reference(model, model.everything(), 12);
    for (const char* policy : {"bulk", "local", "schedule(2)", "k2m3d2", "k3m2"}) {
      EXPECT_TRUE(run_on_nodes(model, tick::Policy::parse(policy), 3, 12) == reference.state)
          << policy << (periodic ? ", periodic" : ", between walls");
    }
  }
}

TEST(Fish, noise_has_the_asked_deviation) {
  // One fish alone and without a goal keeps its heading but for noise.
  for (const FishNoise noise : {FishNoise::gaussian, FishNoise::uniform}) {
    FishOptions options;
    options.n = 1;
    options.width = 100;
    options.informed = 0;
    options.sigma = 0.05;
    options.noise = noise;
    const Model model{FishModel(options)};
    State state = model.init(model.everything());
    double sum = 0;
    double squares = 0;
    const int n = 4000;
    for (int t = 0; t < n; ++t) {
      const State next = model.step(state, state, t);
      const auto& a = state[0].heading;
      const auto& b = next[0].heading;
      const double angle =
          std::atan2(double{a[0] * b[1] - a[1] * b[0]}, double{a[0] * b[0] + a[1] * b[1]});
      sum += angle;
      squares += angle * angle;
      state = next;
    }
    EXPECT_NEAR(sum / n, 0, 0.004);
    EXPECT_NEAR(std::sqrt(squares / n), 0.05, 0.002);
    EXPECT_NEAR(std::hypot(double{state[0].heading[0]}, double{state[0].heading[1]}), 1, 1e-6);
  }
}

TEST(Fish, the_informed_lead_the_others) {
  FishOptions options;
  options.n = 100;
  options.width = 60;
  options.neighbours = 40;
  options.informed = 0.2;
  options.direction = 0.5;
  const Model model{FishModel(options)};
  const auto run = tick::run_reference(model, model.everything(), 300);
  double along = 0;
  for (const Fish& fish : run.state)
    along += double{fish.heading[0]} * std::cos(0.5) + double{fish.heading[1]} * std::sin(0.5);
  EXPECT_GT(along / 100, 0.8);
}

// A start file in the test's own folder.
class StartFile {
 public:
  explicit StartFile(const std::string& text)
      : path_(::testing::TempDir() + "fish_start_" +
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

FishOptions from(const StartFile& file) {
  FishOptions options;
  options.start = file.path();
  options.width = 50;
  return options;
}

TEST(Fish, a_start_file_gives_each_query_its_fish) {
  const StartFile file("id,x,y,vx,vy,informed\n7,1,2,3,4,1\n9,40.5,41,-1,0,\n11,26,1,0,2,0\n");
  const Model model{FishModel(from(file))};
  EXPECT_EQ(model.user().expected_tuples(), 3U);
  const State all = model.init(model.everything());
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].id, 7U);
  EXPECT_FLOAT_EQ(all[0].heading[0], 0.6F);
  EXPECT_FLOAT_EQ(all[0].heading[1], 0.8F);
  EXPECT_EQ(all[0].informed, 1U);
  EXPECT_FLOAT_EQ(all[0].omega, 0.5F);
  EXPECT_EQ(all[1].informed, 0U);
  std::size_t n = 0;
  for (const auto& query : model.part(3))
    n += model.init(query).size();
  EXPECT_EQ(n, 3U);
}

std::string error_of(const FishOptions& options) {
  try {
    const Model model{FishModel(options)};
    (void)model.init(model.everything());
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

void expect_error(const FishOptions& options, const std::vector<std::string>& parts) {
  const std::string text = error_of(options);
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in: " << text;
}

TEST(Fish, broken_start_files_are_errors_with_their_place) {
  const std::string head = "id,x,y,vx,vy\n";
  expect_error(from(StartFile(head)), {"0 fish"});
  expect_error(from(StartFile(head + "1,1,1,1,1\n2,60,1,1,1\n")), {"line 3", "[0.0"});
  expect_error(from(StartFile(head + "1,nan,1,1,1\n")), {"line 2", "(x)"});
  expect_error(from(StartFile(head + "1,1,1,0,0\n")), {"line 2", "not both 0"});
  expect_error(from(StartFile(head + "1,1,1,1\n")), {"line 2"});
  expect_error(from(StartFile(head + "4,1,1,1,1\n4,2,2,1,1\n")),
               {"line 3", "an id of its own", "4"});
  expect_error(from(StartFile("id,x,y,vx\n1,1,1,1\n")), {"vy"});
  expect_error(from(StartFile("id,x,y,vx,vy,infromed\n1,1,1,1,1,1\n")), {"infromed", "informed"});
}

TEST(Fish, parameters_out_of_range_are_errors) {
  FishOptions options;
  options.n = 0;
  expect_error(options, {"0 fish"});
  options.n = 10;
  options.alpha = 7;
  expect_error(options, {"alpha", "7"});
  options.alpha = std::nan("");
  expect_error(options, {"alpha"});
}

TEST(Fish, a_torus_in_which_one_is_seen_from_two_sides_names_what_would_do) {
  FishOptions options;
  options.n = 45;
  expect_error(options, {"--fish: the world of 45 fish that see 16 others", "--fish 46 or more",
                         "--width 18.1 or more", "--reflecting"});
  options.n = 46;
  EXPECT_EQ(error_of(options), "no error");
  options.n = 3;
  options.width = 18.1;
  EXPECT_EQ(error_of(options), "no error");
  options.height = 17;
  expect_error(options, {"--height: the world is 17 wide", "--height 18.1 or more"});
  options.periodic = false;
  EXPECT_EQ(error_of(options), "no error");
}

}  // namespace
}  // namespace rubato::models

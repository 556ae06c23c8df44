// Branches: runs that go on from a checkpoint with other parameters.

#include "rubato/tools/run/resume_test.hpp"

namespace rubato::tools {
namespace {

class Branch : public Resume {};

TEST_F(Branch, has_other_parameters_where_these_may_change) {
  ASSERT_EQ(run({"heat", "--width", "40", "--height", "30", "--edge", "20", "--ticks", "20",
                 "--checkpoint-every", "10", "--checkpoint", folder_})
                .code,
            0);
  const std::string from = folder_ + "/tick-00000010";
  const std::string same = checksum_of(run({"heat", "--resume", from}));
  const std::string warm = checksum_of(run({"heat", "--resume", from, "--edge", "30"}));
  EXPECT_NE(warm, same);
  EXPECT_EQ(checksum_of(run({"heat", "--resume", from, "--edge", "30", "--simulate", "5"})), warm);
  // Its checkpoints would take the place of those that it began with.
  expect_refused(
      {"heat", "--resume", folder_, "--edge", "30", "--checkpoint-every", "5", "--ticks", "30"}, 2,
      "--checkpoint: expected a folder for the checkpoints of this branch");
  EXPECT_EQ(checksum_of(run({"heat", "--resume", from, "--edge", "30", "--checkpoint-every", "5",
                             "--checkpoint", folder_ + "/branch"})),
            warm);
  EXPECT_EQ(checksum_of(run({"heat", "--resume", from})), same);
}

// As if it had begun with what was there at tick 10, which a run can be told to.
TEST_F(Branch, of_heat_has_other_walls_and_goes_on_in_time) {
  const std::vector<std::string> before = {"heat",   "--width", "40",      "--height", "30",
                                           "--edge", "20",      "--ticks", "10"};
  const std::string plate = scratch("plate");
  ASSERT_EQ(
      run(before, {"--output", plate, "--checkpoint-every", "10", "--checkpoint", folder_}).code,
      0);
  const std::string walls = scratch("walls.csv");
  const std::string material = scratch("material.csv");
  const std::string image = scratch("material.pgm");
  {
    std::ofstream file(walls);
    std::ofstream other(material);
    std::ofstream gray(image);
    gray << "P2 40 30 255\n";
    for (int y = 0; y < 30; ++y) {
      for (int x = 0; x < 40; ++x) {
        const char* comma = x > 0 ? "," : "";
        file << comma << (x == 17 && y < 20 ? 0 : 1);
        other << comma << (x + y) % 5 * 0.25;
        gray << 6 * x << " ";
      }
      file << "\n";
      other << "\n";
    }
  }
  const std::vector<std::string> from = {"heat", "--resume", folder_ + "/tick-00000010"};
  std::set<std::string> found{checksum_of(run(from, {"--ticks", "30"}))};
  const std::vector<std::vector<std::string>> others = {
      {"--walls", walls},
      {"--time-step", "0.2"},
      {"--edges", "insulated"},
      {"--conductivity", material, "--walls", walls},
      {"--conductivity", image},
      {"--conductivity", image, "--conductivity-high", "0.5", "--time-step", "0.2"}};
  for (const auto& other : others) {
    const std::string here =
        checksum_of(run(with(from, {"--ticks", "30", "--simulate", "3"}), other));
    EXPECT_TRUE(here.starts_with("checksum ")) << here;
    EXPECT_TRUE(found.insert(here).second) << other[0];
    EXPECT_EQ(
        here,
        checksum_of(run(
            {"heat", "--edge", "20", "--ticks", "20", "--start-file", plate + "/heat.csv"}, other)))
        << other[0];
  }
  fs::remove_all(plate);
  expect_refused({"heat", "--resume", folder_, "--sources", walls}, 2, "--sources: expected");
}

// What a run reads must be what it has read before: an edited file is no other parameter.
TEST_F(Branch, is_not_begun_by_a_file_that_was_edited) {
  const std::string b = scratch("b.txt");
  const auto write = [](const std::string& path, double value) {
    std::ofstream file(path);
    for (int row = 0; row < 200; ++row)
      file << value + row << "\n";
  };
  write(b, 1);
  ASSERT_EQ(run({"jacobi", "--rows", "200", "--b", b, "--ticks", "20", "--tolerance", "0",
                 "--checkpoint-every", "10", "--checkpoint", folder_})
                .code,
            0);
  const std::vector<std::string> from = {"jacobi", "--resume", folder_ + "/tick-00000010"};
  const std::string same = checksum_of(run(from));
  write(b, 2);
  for (const auto& words : {from, with(from, {"--b", b})}) {
    expect_refused(words, 2,
                   "--b: expected the file " + b +
                       " as it was for the checkpoint, found "
                       "another; for a branch with what it has now, give it another name");
  }
  const std::string other = scratch("other.txt");
  write(other, 2);
  const std::string branch = checksum_of(run(from, {"--b", other}));
  EXPECT_TRUE(branch.starts_with("checksum ")) << branch;
  EXPECT_NE(branch, same);
  write(b, 1);
  EXPECT_EQ(checksum_of(run(from)), same);
}

TEST_F(Branch, of_jacobi_has_another_right_side_tolerance_and_norm) {
  ASSERT_EQ(run({"jacobi", "--rows", "500", "--tolerance", "0", "--ticks", "60",
                 "--checkpoint-every", "10", "--checkpoint", folder_})
                .code,
            0);
  const std::vector<std::string> from = {"jacobi", "--resume", folder_ + "/tick-00000050"};
  const std::vector<std::string> stops = {"--tolerance",     "1e-2", "--norm",     "max",
                                          "--test-interval", "1",    "--test-lag", "2"};
  const Answer here = run(from, stops);
  ASSERT_EQ(here.code, 0) << here.err;
  EXPECT_NE(here.err.find("stop condition: reached"), std::string::npos) << here.err;
  EXPECT_NE(checksum_of(here), checksum_of(run(from)));
  EXPECT_EQ(checksum_of(run(from, with(stops, {"--simulate", "5"}))), checksum_of(here));
  expect_refused(with(from, {"--dominance", "3"}), 2, "--dominance: expected");
  const std::string other_b = checksum_of(run(from, {"--b", "random"}));
  EXPECT_NE(other_b, checksum_of(run(from)));
  EXPECT_EQ(checksum_of(run(from, {"--b", "random", "--simulate", "3"})), other_b);
}

TEST_F(Branch, of_nbody_has_another_force) {
  ASSERT_EQ(run({"nbody", "--bodies", "400", "--ticks", "20", "--checkpoint-every", "10",
                 "--checkpoint", folder_})
                .code,
            0);
  const std::vector<std::string> from = {"nbody", "--resume", folder_ + "/tick-00000010"};
  const std::string same = checksum_of(run(from));
  // How the world is cut, and what a body costs, is no matter of the state.
  EXPECT_EQ(checksum_of(run(from, {"--partition", "quadtree", "--ns-per-pair", "7"})), same);
  for (const char* name : {"--gravity", "--softening"}) {
    const std::vector<std::string> other = with(from, {name, "0.5"});
    const std::string here = checksum_of(run(other));
    EXPECT_TRUE(here.starts_with("checksum ")) << here;
    EXPECT_NE(here, same) << name;
    EXPECT_EQ(checksum_of(run(other, {"--simulate", "5"})), here) << name;
  }
  // Velocities are half a tick old.
  expect_refused(with(from, {"--dt", "0.02"}), 2, "--dt: expected");
}

}  // namespace
}  // namespace rubato::tools

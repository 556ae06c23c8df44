// Checkpoints of whole runs in the simulator, on random networks: taken while the run goes on, and
// resumed on other numbers of nodes with other policies; and what is said of files that are not
// whole, or of another run.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/tick/checkpoint/checkpoints.hpp"
#include "rubato/tick/checkpoint/folder.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/testing/grid_worlds.hpp"
#include "rubato/tick/testing/late_run.hpp"
#include "rubato/tick/testing/property.hpp"
#include "rubato/tick/testing/swarm_model.hpp"

namespace rubato::tick {
namespace {

namespace fs = std::filesystem;
using testing::SwarmModel;

using Swarm = ProblemOf<SwarmModel, FragmentStore<SwarmModel>>;
using Grid = testing::MixingGrid<2, 1, 2, false>;
using GridProblem = ProblemOf<GridModel<Grid>, GridStore<Grid>, GridStoreOptions>;

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override { remove(); }
  void TearDown() override { remove(); }
  void remove() const { fs::remove_all(folder_); }

  [[nodiscard]] CheckpointOptions options_of(const testing::RunCase& c) const {
    CheckpointOptions options;
    options.folder = folder_;
    options.about.model = "test";
    options.about.ticks = c.ticks;
    return options;
  }
  // The union of what the nodes own at the end is in `state`.
  template <class P>
  RunResult run(const P& problem, const testing::RunCase& c, SimulationOptions options,
                typename P::State& state) {
    options.n_nodes = c.n_nodes;
    options.n_cores = c.n_cores;
    options.at_end = [&](NodeId, NodeRun& node) {
      auto& typed = dynamic_cast<typename P::Node&>(node);
      problem.model().merge(state, typed.store().own_state(typed.engine().end()));
    };
    return simulate(problem, c.policy, c.ticks, options);
  }
  template <class P>
  void expect_equal(const P& problem, const testing::RunCase& c, SimulationOptions options,
                    const ReferenceRun<typename P::State>& reference) {
    typename P::State state;
    RunResult result;
    ASSERT_NO_THROW((result = run(problem, c, std::move(options), state)));
    EXPECT_EQ(result.ticks, reference.ticks);
    EXPECT_TRUE(state == reference.state);
  }
  // Each whole checkpoint of the folder, on n nodes with another policy.
  template <class P>
  void expect_equal_when_resumed(const P& problem, testing::RunCase c, RandomStream& random,
                                 const ReferenceRun<typename P::State>& reference) {
    for (const CheckpointEntry& entry : list_checkpoints(folder_)) {
      ASSERT_TRUE(entry.whole) << entry.path;
      const CheckpointSource source(entry.path, read_manifest(manifest_path(entry.path)));
      for (const std::uint32_t n_nodes : {1U, 3U, 7U}) {
        testing::RunCase again = testing::random_run(random);
        again.n_nodes = n_nodes;
        again.ticks = std::min(c.ticks, source.manifest().ends_at);
        SCOPED_TRACE("resumed at tick " + std::to_string(entry.tick) + " with " +
                     testing::describe(again));
        SimulationOptions options;
        options.start = &source;
        expect_equal(problem, again, std::move(options), reference);
      }
    }
  }

  const std::string folder_ =
      ::testing::TempDir() + "/rubato-checkpoints-" + std::to_string(::getpid());
};

SwarmModel::Options random_world(std::uint64_t seed, RandomStream& random) {
  SwarmModel::Options world;
  world.seed = seed;
  world.width = static_cast<std::int32_t>(random.between(20, 60));
  world.height = static_cast<std::int32_t>(random.between(20, 60));
  world.visibility = static_cast<std::int32_t>(random.between(0, 4));
  world.reachability = static_cast<std::int32_t>(random.between(0, 3));
  world.n_agents = static_cast<std::uint32_t>(random.between(0, 80));
  world.death_in = random.between(0, 1) != 0 ? 30 : 0;
  world.birth_in = random.between(0, 1) != 0 ? 35 : 0;
  if (random.between(0, 2) == 0) {
    world.stop_interval = random.between(1, 4);
    world.stop_lag = random.between(0, 6);
    world.stop_below = 0xfc000000;
  }
  return world;
}

SimulationOptions late_network(std::uint64_t seed, std::uint32_t n_nodes, RandomStream& random) {
  SimulationOptions options;
  options.n_nodes = n_nodes;
  options.profile = net::parse_profile(testing::random_profile(random));
  options.seed = seed;
  return options;
}

TEST_F(CheckpointTest, runs_saved_on_4_nodes_go_on_with_the_same_bits_on_1_3_and_7) {
  std::int64_t n_saved = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() / 4 && !HasFailure(); ++seed) {
    RandomStream random(seed, 41);
    const SwarmModel::Options world = random_world(seed, random);
    testing::RunCase c = testing::random_run(random);
    c.n_nodes = 4;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + testing::describe(c));
    const Swarm problem{SwarmModel(world)};
    const auto reference = run_reference(problem.model(), problem.model().everything(), c.ticks);
    SimulationOptions options = late_network(seed, c.n_nodes, random);
    if (seed % 3 == 0) options.sharing.epoch = random.between(1, 9);
    CheckpointOptions checkpoint = options_of(c);
    checkpoint.every = random.between(1, 8);
    const auto checkpoints = add_checkpoints(options, checkpoint);
    expect_equal(problem, c, options, reference);
    const Tick n_expected = reference.ticks / checkpoint.every;
    EXPECT_EQ(checkpoints->n_whole(), static_cast<std::uint64_t>(n_expected));
    EXPECT_EQ(list_checkpoints(folder_).size(),
              static_cast<std::size_t>(std::min<Tick>(n_expected, 2)));
    n_saved += n_expected;
    expect_equal_when_resumed(problem, c, random, reference);
    remove();
  }
  EXPECT_GT(5 * n_saved, static_cast<std::int64_t>(n_seeds()));
}

TEST_F(CheckpointTest, grids_saved_on_4_nodes_go_on_with_the_same_bits_on_1_3_and_7) {
  for (std::uint64_t seed = 0; seed < n_seeds() / 4 && !HasFailure(); ++seed) {
    RandomStream random(seed, 42);
    Grid user;
    user.seed = random();
    user.grid = {{random.between(8, 24), random.between(8, 24)},
                 {random.between(0, 1) != 0, random.between(0, 1) != 0}};
    const GridProblem problem{GridModel<Grid>(user, random.between(1, 60))};
    testing::RunCase c = testing::random_run(random);
    c.n_nodes = 4;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + testing::describe(c));
    const auto reference = run_reference(problem.model(), problem.model().everything(), c.ticks);
    SimulationOptions options = late_network(seed, c.n_nodes, random);
    CheckpointOptions checkpoint = options_of(c);
    checkpoint.every = random.between(1, 8);
    const auto checkpoints = add_checkpoints(options, checkpoint);
    expect_equal(problem, c, options, reference);
    expect_equal_when_resumed(problem, c, random, reference);
    remove();
  }
}

// A tick that nodes agree on while they run, some far ahead of others.
TEST_F(CheckpointTest, checkpoints_by_time_are_of_one_tick_and_whole) {
  std::uint64_t n_saved = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() / 4 && !HasFailure(); ++seed) {
    RandomStream random(seed, 43);
    const SwarmModel::Options world = random_world(seed, random);
    testing::RunCase c = testing::random_run(random);
    c.n_nodes = static_cast<std::uint32_t>(random.between(1, 7));
    c.ticks = 60;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + testing::describe(c));
    const Swarm problem{SwarmModel(world)};
    const auto reference = run_reference(problem.model(), problem.model().everything(), c.ticks);
    SimulationOptions options = late_network(seed, c.n_nodes, random);
    if (seed % 3 == 0) options.sharing.epoch = random.between(1, 9);
    CheckpointOptions checkpoint = options_of(c);
    checkpoint.interval = random.between(20, 400) * kMicrosecond;
    checkpoint.answer = random.between(0, 100) * kMicrosecond;
    const auto checkpoints = add_checkpoints(options, checkpoint);
    expect_equal(problem, c, options, reference);
    n_saved += checkpoints->n_whole();
    expect_equal_when_resumed(problem, c, random, reference);
    remove();
  }
  EXPECT_GT(n_saved, n_seeds() / 4);
}

// A small run with checkpoints at ticks 4 and 8, for what is wrong with files.
class CheckpointFiles : public CheckpointTest {
 protected:
  void SetUp() override {
    CheckpointTest::SetUp();
    Grid user;
    user.grid = {{12, 10}, {false, false}};
    problem_.emplace(GridModel<Grid>(user), GridStoreOptions{});
    SimulationOptions options;
    options.n_nodes = c_.n_nodes;
    CheckpointOptions checkpoint = options_of(c_);
    checkpoint.every = 4;
    const auto checkpoints = add_checkpoints(options, checkpoint);
    GridProblem::State state;
    (void)run(*problem_, c_, options, state);
    ASSERT_EQ(checkpoints->last(), path_);
  }
  // What is said when the run goes on from tick 8 with `problem`.
  std::string said(const GridProblem& problem) {
    try {
      const CheckpointSource source(path_, read_manifest(manifest_path(path_)));
      SimulationOptions options;
      options.start = &source;
      GridProblem::State state;
      (void)run(problem, c_, options, state);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  }
  std::string said() { return said(*problem_); }
  static std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static void replace(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  const testing::RunCase c_{Policy::parse("k2m2d1"), 3, 1, 9};
  const std::string path_ = checkpoint_path(folder_, 8);
  std::optional<GridProblem> problem_;
};

TEST_F(CheckpointFiles, a_cut_or_changed_file_is_named_wherever_it_is_cut_or_changed) {
  EXPECT_EQ(said(), "nothing");
  for (const std::string& path : {manifest_path(path_), part_path(path_, 1)}) {
    const std::string whole = content(path);
    ASSERT_GT(whole.size(), 100U);
    for (std::size_t n = 0; n < whole.size(); n += 1 + whole.size() / 40) {
      replace(path, whole.substr(0, n));
      EXPECT_TRUE(said().starts_with(path)) << n << ": " << said();
      std::string changed = whole;
      changed[n] = static_cast<char>(changed[n] ^ 0x10);
      replace(path, changed);
      EXPECT_TRUE(said().find(path) != std::string::npos) << n << ": " << said();
    }
    fs::remove(path);
    EXPECT_NE(said().find(path + ": No such file"), std::string::npos) << said();
    replace(path, whole);
    EXPECT_EQ(said(), "nothing");
  }
}

TEST_F(CheckpointFiles, parts_of_another_checkpoint_or_node_are_refused) {
  const std::string part = part_path(path_, 0);
  const std::string other = part_path(checkpoint_path(folder_, 4), 0);
  replace(part, content(other));
  EXPECT_NE(said().find(part + ": expected part 0 of the checkpoint of tick 8"), std::string::npos)
      << said();
}

TEST_F(CheckpointFiles, the_hash_of_a_file_is_that_of_its_bytes_however_many) {
  const std::string path = folder_ + "/input";
  for (const std::size_t n : {0U, 1U, 240U, 241U, 1U << 20, (1U << 20) + 1, 3'500'000U}) {
    std::string bytes(n, '\0');
    for (std::size_t i = 0; i < n; ++i)
      bytes[i] = static_cast<char>(i * i >> 3);
    replace(path, bytes);
    EXPECT_EQ(hash_of_file(path), piece_hash(std::as_bytes(std::span(bytes)))) << n;
  }
  EXPECT_EQ(hash_of_file(folder_), 0U);
  EXPECT_EQ(hash_of_file(folder_ + "/none"), 0U);
}

TEST_F(CheckpointFiles, a_grid_of_another_size_is_refused) {
  for (const std::int64_t width : {11, 13}) {
    Grid user;
    user.grid = {{width, 10}, {false, false}};
    EXPECT_NE(said(GridProblem{GridModel<Grid>(user)}).find("is it of another size?"),
              std::string::npos);
  }
}

TEST_F(CheckpointFiles, a_folder_with_checkpoints_is_neither_overwritten_nor_taken_for_empty) {
  EXPECT_EQ(find_checkpoint(folder_).path, path_);
  EXPECT_EQ(find_checkpoint(checkpoint_path(folder_, 4)).tick, 4);
  EXPECT_THROW((void)prepare_checkpoints(folder_, ""), Error);
  EXPECT_THROW((void)prepare_checkpoints(folder_, checkpoint_path(folder_, 4)), Error);
  // What a killed run has left.
  fs::create_directories(checkpoint_path(folder_, 12));
  replace(part_path(checkpoint_path(folder_, 12), 0), "half");
  (void)prepare_checkpoints(folder_, path_);
  EXPECT_EQ(list_checkpoints(folder_).size(), 2U);
  EXPECT_FALSE(fs::exists(checkpoint_path(folder_, 12)));
  fs::remove(manifest_path(path_));
  EXPECT_EQ(find_checkpoint(folder_).tick, 4);
  fs::remove(manifest_path(checkpoint_path(folder_, 4)));
  EXPECT_THROW((void)find_checkpoint(folder_), Error);
  EXPECT_THROW((void)find_checkpoint(folder_ + "/none"), Error);
}

TEST_F(CheckpointFiles, what_no_run_has_written_is_not_removed) {
  const std::string mine = checkpoint_path(folder_, 12) + "/part-list.csv";
  fs::create_directories(checkpoint_path(folder_, 12));
  replace(part_path(checkpoint_path(folder_, 12), 0), "half");
  replace(mine, "precious");
  try {
    (void)prepare_checkpoints(folder_, path_);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("tick-00000012 is no checkpoint"), std::string::npos)
        << error.what();
  }
  // Nor what lies in an old one.
  const std::string old = checkpoint_path(folder_, 4);
  replace(old + "/notes", "mine");
  remove_unfinished_checkpoints(folder_);
  remove_old_checkpoints(folder_, 1);
  EXPECT_EQ(content(mine), "precious");
  EXPECT_FALSE(fs::exists(part_path(checkpoint_path(folder_, 12), 0)));
  EXPECT_EQ(content(old + "/notes"), "mine");
  EXPECT_FALSE(fs::exists(part_path(old, 0)));
  // What is left of the old one is in nobody's way.
  fs::remove_all(checkpoint_path(folder_, 12));
  EXPECT_NE(prepare_checkpoints(folder_, path_), nullptr);
  EXPECT_EQ(content(old + "/notes"), "mine");
}

TEST_F(CheckpointFiles, what_is_damaged_gives_way_to_a_run_from_an_older_one) {
  const std::string older = checkpoint_path(folder_, 4);
  const std::string part = part_path(path_, 1);
  const std::string whole = content(part);
  replace(part, whole.substr(1));
  const std::string damage = damage_of(path_);
  EXPECT_TRUE(damage.starts_with(part + ": expected " + std::to_string(whole.size()) + " bytes"))
      << damage;
  EXPECT_EQ(damage_of(older), "");
  EXPECT_NE(said().find("; the one before it is whole: --resume " + older), std::string::npos)
      << said();
  // Another run does not touch it; one that goes on from the older one has it out of its way.
  EXPECT_THROW((void)prepare_checkpoints(folder_, ""), Error);
  EXPECT_TRUE(fs::exists(path_));
  (void)prepare_checkpoints(folder_, older);
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_EQ(content(folder_ + "/damaged-" + fs::path(part).parent_path().filename().string() + "/" +
                    fs::path(part).filename().string()),
            whole.substr(1));
  EXPECT_EQ(list_checkpoints(folder_).size(), 1U);
}

TEST_F(CheckpointFiles, a_job_goes_on_from_its_own_newest_without_damage) {
  const std::string older = checkpoint_path(folder_, 4);
  std::vector<std::string> passed;
  EXPECT_EQ(find_checkpoint_of_job(folder_, "a", passed), "");
  for (const std::string& path : {older, path_}) {
    Manifest manifest = read_manifest(manifest_path(path));
    manifest.job = "a";
    write_manifest(manifest_path(path), manifest);
  }
  EXPECT_EQ(find_checkpoint_of_job(folder_, "a", passed), path_);
  EXPECT_TRUE(passed.empty());
  fs::remove(part_path(path_, 0));
  EXPECT_EQ(find_checkpoint_of_job(folder_, "a", passed), older);
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_NE(passed[0].find("No such file"), std::string::npos) << passed[0];
  replace(manifest_path(older), "else");
  EXPECT_EQ(find_checkpoint_of_job(folder_, "a", passed), "");
}

TEST_F(CheckpointFiles, a_changed_byte_is_damage_like_a_missing_one) {
  const std::string older = checkpoint_path(folder_, 4);
  for (const std::string& path : {older, path_}) {
    Manifest manifest = read_manifest(manifest_path(path));
    manifest.job = "a";
    write_manifest(manifest_path(path), manifest);
  }
  const std::string part = part_path(path_, 1);
  const std::string whole = content(part);
  for (std::size_t n = 0; n < whole.size(); n += 1 + whole.size() / 40) {
    std::string changed = whole;
    changed[n] = static_cast<char>(changed[n] ^ 0x10);
    replace(part, changed);
    EXPECT_TRUE(damage_of(path_).starts_with(part + ": ")) << n << ": " << damage_of(path_);
    EXPECT_NE(said().find("; the one before it is whole: --resume " + older), std::string::npos)
        << n << ": " << said();
    std::vector<std::string> passed;
    EXPECT_EQ(find_checkpoint_of_job(folder_, "a", passed), older) << n;
    EXPECT_EQ(passed, std::vector<std::string>{damage_of(path_)}) << n;
  }
  // The last of them is in the middle of a piece.
  EXPECT_NE(said().find(": expected the checksum "), std::string::npos) << said();
  // An older one that is damaged as well is nothing to advise.
  const std::string before = part_path(older, 0);
  std::string changed = content(before);
  changed.back() = static_cast<char>(changed.back() ^ 1);
  replace(before, changed);
  EXPECT_EQ(said().find("--resume"), std::string::npos) << said();
  std::vector<std::string> passed;
  EXPECT_EQ(find_checkpoint_of_job(folder_, "a", passed), "");
  EXPECT_EQ(passed.size(), 2U);
}

// A run that goes on from the older one has what is newer and changed out of its way.
TEST_F(CheckpointFiles, a_changed_checkpoint_is_renamed_by_a_run_from_an_older_one) {
  const std::string part = part_path(path_, 2);
  std::string changed = content(part);
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  replace(part, changed);
  EXPECT_THROW((void)prepare_checkpoints(folder_, ""), Error);
  (void)prepare_checkpoints(folder_, checkpoint_path(folder_, 4));
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_EQ(list_checkpoints(folder_).size(), 1U);
}

TEST_F(CheckpointFiles, a_folder_is_one_run_s_as_long_as_that_lives) {
  auto first = prepare_checkpoints(folder_, path_);
  // What that is writing.
  fs::create_directories(checkpoint_path(folder_, 12));
  try {
    (void)prepare_checkpoints(folder_, path_);
    FAIL() << "the folder was given away twice";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what())
                  .find("another run writes to " + folder_ + " (process " +
                        std::to_string(::getpid()) + " on "),
              std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(fs::exists(checkpoint_path(folder_, 12)));
  first.reset();
  EXPECT_FALSE(fs::exists(folder_ + "/lock"));
  // A lock that nobody holds, as a killed run leaves it.
  replace(folder_ + "/lock", "process 1 on nowhere\n");
  EXPECT_NE(prepare_checkpoints(folder_, path_), nullptr);
}

// The disk takes no part of tick 12: a file stands where its folder would.
TEST_F(CheckpointFiles, what_cannot_be_written_ends_the_run_and_leaves_the_last_checkpoint_whole) {
  const CheckpointSource source(path_, read_manifest(manifest_path(path_)));
  replace(checkpoint_path(folder_, 12), "in the way");
  SimulationOptions options;
  options.n_nodes = c_.n_nodes;
  options.start = &source;
  testing::RunCase longer = c_;
  longer.ticks = 30;
  CheckpointOptions checkpoint = options_of(longer);
  checkpoint.every = 6;
  checkpoint.resumed = path_;
  const auto checkpoints = add_checkpoints(options, checkpoint);
  // That removes what is no checkpoint, so it comes again.
  replace(checkpoint_path(folder_, 12), "in the way");
  GridProblem::State state;
  try {
    (void)run(*problem_, longer, options, state);
    FAIL() << "the run has not ended";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failed);
    EXPECT_NE(std::string(error.what()).find("writing " + checkpoint_path(folder_, 12)),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(find_checkpoint(folder_).tick, 8);
  EXPECT_EQ(said(), "nothing");
}

// One job is done and fails, one waits, and who would post a third waits for room: nobody takes the
// one that waits after a failure, so it is dropped, and there is room.
TEST(Background, gives_room_to_who_waits_for_it_when_a_job_fails) {
  for (int round = 0; round < 100; ++round) {
    std::promise<void> begun;
    std::promise<void> fails;
    detail::Background background(true);  // its thread uses the others
    background.post([&] {
      begun.set_value();
      fails.get_future().wait();
      throw Error("no");
    });
    begun.get_future().wait();
    background.post([] { FAIL() << "a job was done after one had failed"; });
    std::promise<void> waits;
    std::thread waiter([&] {
      waits.set_value();
      background.wait_for_room();
    });
    waits.get_future().wait();
    std::this_thread::yield();
    fails.set_value();
    waiter.join();
    EXPECT_TRUE(background.error().has_value());
  }
}

TEST(Background, does_at_any_rate_what_completes_what_was_done) {
  for (int round = 0; round < 100; ++round) {
    int n_done = 0;
    {
      std::promise<void> fails;
      detail::Background background(true);
      background.post([&] {
        fails.get_future().wait();
        throw Error("first");
      });
      background.post([&] { ++n_done; }, true);
      background.post([] { FAIL() << "a job was done after one had failed"; });
      fails.set_value();
      if (round % 2 == 0) {
        while (!background.error())
          std::this_thread::yield();
        background.post([] { throw Error("second"); }, true);
        background.post([&] { ++n_done; }, true);
        background.end();
        EXPECT_STREQ(background.error()->what(), "first");
      }
    }
    EXPECT_EQ(n_done, round % 2 == 0 ? 2 : 1);
  }
}

TEST_F(CheckpointFiles, what_is_not_whole_goes_with_the_run_that_has_written_it) {
  SimulationOptions options;
  options.n_nodes = c_.n_nodes;
  CheckpointOptions checkpoint = options_of(c_);
  checkpoint.resumed = path_;
  auto checkpoints = add_checkpoints(options, checkpoint);
  fs::create_directories(checkpoint_path(folder_, 12));
  replace(part_path(checkpoint_path(folder_, 12), 0), "one part of three");
  checkpoints.reset();
  EXPECT_FALSE(fs::exists(checkpoint_path(folder_, 12)));
  EXPECT_EQ(find_checkpoint(folder_).tick, 8);
}

}  // namespace
}  // namespace rubato::tick

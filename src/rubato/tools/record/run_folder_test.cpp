#include "rubato/tools/record/run_folder.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace rubato::tools {
namespace {

namespace fs = std::filesystem;

class RunFolder : public ::testing::Test {
 protected:
  RunFolder() : root_(::testing::TempDir() + "/run-folder-" + std::to_string(getpid())) {
    fs::create_directories(root_);
  }
  ~RunFolder() override { fs::remove_all(root_); }

  // A run of that status, which began at that second.
  [[nodiscard]] std::string put(const std::string& name, RunStatus status, int second = 0) const {
    std::string folder = root_ + "/" + name;
    fs::create_directories(folder);
    RunFile run;
    run.model = "heat";
    run.start.status = status;
    run.start.began = "2026-11-21T23:15:0" + std::to_string(second) + "Z";
    write_run_file(folder, run);
    return folder;
  }
  static std::string message_of(const std::string& folder) {
    try {
      (void)read_run(folder);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::string root_;
};

TEST_F(RunFolder, a_run_whose_process_is_gone_is_lost) {
  const std::string folder = put("a", RunStatus::running);
  EXPECT_EQ(read_run(folder).file.start.status, RunStatus::lost);
  {
    RunLock lock;
    ASSERT_TRUE(lock.try_hold(folder));
    EXPECT_EQ(read_run(folder).file.start.status, RunStatus::running);
    RunLock other;
    EXPECT_FALSE(other.try_hold(folder));
  }
  EXPECT_EQ(read_run(folder).file.start.status, RunStatus::lost);
  EXPECT_FALSE(fs::exists(folder + "/.lock"));
}

TEST_F(RunFolder, is_lost_where_a_lock_file_is_left_that_nobody_holds) {
  const std::string folder = put("a", RunStatus::running);
  std::ofstream(folder + "/.lock") << "";
  EXPECT_EQ(read_run(folder).file.start.status, RunStatus::lost);
  RunLock lock;
  EXPECT_TRUE(lock.try_hold(folder));
}

TEST_F(RunFolder, what_is_no_run_is_named) {
  EXPECT_EQ(message_of(root_),
            root_ +
                ": expected the folder of a recorded run, with run.json, found a folder without "
                "it");
  EXPECT_EQ(message_of(root_ + "/no"),
            root_ +
                "/no: expected the folder of a recorded run, with run.json, found nothing of "
                "that name");
  std::ofstream(root_ + "/file") << "";
  EXPECT_NE(message_of(root_ + "/file").find("found a file"), std::string::npos);
  const std::string folder = put("a", RunStatus::done);
  std::ofstream(figures_path(folder)) << "{}\n";
  EXPECT_EQ(message_of(folder),
            folder + "/figures.json: \"begin\": expected a whole number, found nothing");
}

TEST_F(RunFolder, the_list_is_by_time_and_leaves_out_what_cannot_be_read) {
  (void)put("a", RunStatus::done, 2);
  (void)put("b", RunStatus::failed, 1);
  (void)put("c", RunStatus::done, 3);
  fs::create_directories(root_ + "/other");
  std::ofstream(run_file_path(root_ + "/c")) << "{";
  std::vector<std::string> problems;
  const std::vector<RecordedRun> runs = list_runs(root_, problems);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].folder, root_ + "/b");
  EXPECT_EQ(runs[1].folder, root_ + "/a");
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].find(root_ + "/c/run.json: expected an object"), std::string::npos);
  EXPECT_THROW((void)list_runs(root_ + "/no", problems), Error);
}

TEST_F(RunFolder, a_launcher_says_how_a_run_has_ended_that_could_not) {
  const auto closed = [&](RunStatus status, ExitCode code, const std::string& error) {
    const std::string folder = put("a", status);
    close_run(folder, code, error);
    return read_run(folder).file.start;
  };
  const RunStart lost = closed(RunStatus::running, ExitCode::node_lost, "node 1 was lost");
  EXPECT_EQ(lost.status, RunStatus::lost);
  EXPECT_EQ(lost.exit_code, 5);
  EXPECT_EQ(lost.error, "node 1 was lost");
  EXPECT_FALSE(lost.ended.empty());
  // Node 0 was ended by a signal because another node was lost, or Ctrl-C came to the launcher.
  EXPECT_EQ(closed(RunStatus::interrupted, ExitCode::node_lost, "x").status, RunStatus::lost);
  EXPECT_EQ(closed(RunStatus::interrupted, ExitCode::interrupted, "").exit_code, 130);
  EXPECT_EQ(closed(RunStatus::interrupted, ExitCode::interrupted, "").error, "interrupted");
  EXPECT_EQ(closed(RunStatus::running, ExitCode::failed, "").status, RunStatus::failed);
  // What node 0 has said stays, whatever the rest of the job did.
  EXPECT_EQ(closed(RunStatus::done, ExitCode::failed, "x").status, RunStatus::done);
  EXPECT_EQ(closed(RunStatus::checkpointed, ExitCode::checkpointed, "").exit_code, 0);
  EXPECT_EQ(closed(RunStatus::failed, ExitCode::ok, "").status, RunStatus::failed);
}

TEST_F(RunFolder, a_launcher_leaves_alone_what_another_process_runs_in) {
  const std::string folder = put("a", RunStatus::running);
  RunLock lock;
  ASSERT_TRUE(lock.try_hold(folder));
  close_run(folder, ExitCode::node_lost, "x");
  EXPECT_EQ(read_run(folder).file.start.status, RunStatus::running);
}

TEST(RunId, has_the_date_in_front_and_is_new_each_time) {
  const std::string id = new_run_id();
  ASSERT_EQ(id.size(), 22U) << id;
  EXPECT_EQ(id.substr(0, 2), "20");
  EXPECT_EQ(id[8], '-');
  EXPECT_EQ(id[15], '-');
  EXPECT_NE(new_run_id(), id);
  EXPECT_EQ(default_run_folder("heat", "x"), "runs/heat-x");
}

}  // namespace
}  // namespace rubato::tools

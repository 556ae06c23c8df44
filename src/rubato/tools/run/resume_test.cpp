// Checkpoints through the program: taken on 4 nodes, gone on from on others, ended by signals.

#include "rubato/tools/run/resume.hpp"

#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/wait.h>

#include "rubato/base/time.hpp"
#include "rubato/tick/checkpoint/folder.hpp"
#include "rubato/tools/run/resume_test.hpp"

namespace rubato::tools {
namespace {

// Small instances, with what their worlds depend on set.
const std::vector<std::vector<std::string>>& small_runs() {
  static const std::vector<std::vector<std::string>> runs = {
      {"heat", "--width", "60", "--height", "40", "--edge", "20", "--ticks", "30"},
      {"fish", "--fish", "600", "--seed", "7", "--ticks", "30"},
      {"traffic", "--columns", "6", "--rows", "6", "--seed", "3", "--ticks", "30"},
      {"nbody", "--bodies", "300", "--dimensions", "3", "--ticks", "30"},
      {"jacobi", "--rows", "400", "--tolerance", "0", "--ticks", "30"},
      {"pagerank", "--vertices", "500", "--tolerance", "0", "--ticks", "30"}};
  return runs;
}

TEST_F(Resume, what_4_nodes_have_saved_goes_on_with_the_same_bits_on_1_3_and_7) {
  for (const auto& words : small_runs()) {
    SCOPED_TRACE(words.front());
    const std::string whole = checksum_of(run(words));
    ASSERT_TRUE(whole.starts_with("checksum ")) << whole;
    EXPECT_EQ(checksum_of(run(words, {"--simulate", "4", "--policy", "k2m2d1", "--checkpoint-every",
                                      "9", "--checkpoint", folder_})),
              whole);
    for (const char* tick : {"tick-00000018", "tick-00000027"}) {
      const std::vector<std::string> again = {words.front(), "--resume", folder_ + "/" + tick};
      for (const char* n_nodes : {"1", "3", "7"}) {
        EXPECT_EQ(checksum_of(run(again, {"--simulate", n_nodes, "--policy", "k3m2d2"})), whole)
            << tick << " on " << n_nodes;
      }
      EXPECT_EQ(checksum_of(run(again, {"--cores", "2"})), whole) << tick;
    }
    fs::remove_all(folder_);
  }
}

TEST_F(Resume, what_pieces_have_saved_goes_on_with_and_without_them) {
  const std::vector<std::string> heat = {"heat", "--width", "70", "--height",
                                         "50",   "--ticks", "30"};
  const std::string whole = checksum_of(run(heat));
  EXPECT_EQ(checksum_of(run(heat, {"--simulate", "4", "--policy", "asytick-plb", "--pieces", "40",
                                   "--epoch", "5", "--slowdown", "4@1", "--ns-per-cell", "2000",
                                   "--checkpoint-every", "9", "--checkpoint", folder_})),
            whole);
  const std::vector<std::string> again = {"heat", "--resume", folder_ + "/tick-00000018"};
  EXPECT_EQ(checksum_of(run(again, {"--simulate", "3", "--policy", "k3m2d2"})), whole);
  EXPECT_EQ(checksum_of(run(again, {"--simulate", "7", "--policy", "asytick", "--pieces", "21"})),
            whole);
  EXPECT_EQ(checksum_of(run(again, {"--cores", "2", "--policy", "asytick"})), whole);
}

TEST_F(Resume, a_stop_condition_ends_a_resumed_run_at_the_same_tick) {
  const std::vector<std::string> words = {"heat", "--width", "40",  "--height",
                                          "30",   "--edge",  "20",  "--tolerance",
                                          "0.05", "--ticks", "5000"};
  const Answer whole = run(words);
  ASSERT_NE(whole.err.find("stop condition: reached"), std::string::npos) << whole.err;
  const Answer saved =
      run(words, {"--simulate", "4", "--checkpoint-every", "7", "--checkpoint", folder_});
  EXPECT_EQ(checksum_of(saved), checksum_of(whole));
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_EQ(checksum_of(run({"heat", "--resume", entry.path().string(), "--simulate", "3"})),
              checksum_of(whole));
  }
}

TEST_F(Resume, a_number_is_the_same_however_it_is_written) {
  const std::vector<std::string> words = {"nbody", "--bodies",     "100",  "--dt",
                                          "0.01",  "--ticks",      "6",    "--checkpoint-every",
                                          "3",     "--checkpoint", folder_};
  const Answer whole = run(words);
  const std::string saved = folder_ + "/tick-00000003";
  const auto resumed = [&](const char* dt) {
    return run({"nbody", "--bodies", "0100", "--dt", dt, "--ticks", "6", "--resume", saved});
  };
  EXPECT_EQ(checksum_of(resumed("1e-2")), checksum_of(whole));
  const Answer other = resumed("0.011");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("\"0.01\" as the checkpoint has it, found \"0.011\""), std::string::npos)
      << other.err;
}

TEST_F(Resume, a_run_that_goes_on_after_the_decision_says_that_it_was_stopped) {
  const std::vector<std::string> words = {"heat", "--width", "40",  "--height",
                                          "30",   "--edge",  "20",  "--tolerance",
                                          "0.05", "--ticks", "5000"};
  const auto stop_of = [](const Answer& answer) {
    const auto json = nlohmann::json::parse(answer.out);
    return std::pair(json.at("stopped").get<bool>(), json.at("ticks").get<std::int64_t>());
  };
  const auto whole = stop_of(run(words, {"--json"}));
  ASSERT_TRUE(whole.first);
  // Both are past the test that ends the run.
  const std::string before = std::to_string(whole.second - 1);
  for (const std::string& tick : {before, std::to_string(whole.second)}) {
    EXPECT_EQ(
        run(words, {"--simulate", "3", "--checkpoint-every", tick, "--checkpoint", folder_}).code,
        0);
    EXPECT_EQ(stop_of(run({"heat", "--resume", folder_, "--json"})), whole) << tick;
    if (tick != before) continue;
    // A run that ends earlier is not stopped.
    const auto shorter = stop_of(run({"heat", "--resume", folder_, "--ticks", before, "--json"}));
    EXPECT_EQ(shorter, (std::pair<bool, std::int64_t>(false, whole.second - 1)));
    // One that was to end later is, and so is one that goes on from what that has saved.
    const std::string again = folder_ + "-again";
    for (const std::string& from : {folder_, again}) {
      EXPECT_EQ(stop_of(run({"heat", "--resume", from, "--ticks", "9000", "--checkpoint-every", "1",
                             "--checkpoint", again, "--json"})),
                whole);
    }
    fs::remove_all(again);
    fs::remove_all(folder_);
  }
}

TEST_F(Resume, a_series_for_paraview_has_the_ticks_of_the_run_before) {
  const std::string output = folder_ + "-output";
  const std::string series = output + "/heat.pvd";
  const std::vector<std::string> heat = {"heat", "--width", "40", "--height", "30", "--edge", "20"};
  const std::vector<std::string> files = {"--output", output, "--format", "vtk", "--every", "4"};
  const auto with_files = [&](std::vector<std::string> words) {
    words.insert(words.end(), files.begin(), files.end());
    return words;
  };
  ASSERT_EQ(run(heat, with_files({"--ticks", "30"})).code, 0);
  const std::string whole = content(series);
  ASSERT_NE(whole.find("heat-00000008.vti"), std::string::npos) << whole;
  fs::remove_all(output);
  // Saved at ticks 6 and 12, gone on from both: one is written, the other is not.
  ASSERT_EQ(
      run(heat, with_files({"--ticks", "14", "--checkpoint-every", "6", "--checkpoint", folder_}))
          .code,
      0);
  EXPECT_NE(content(series), whole);
  for (const char* tick : {"/tick-00000006", "/tick-00000012"}) {
    for (const char* n_nodes : {"1", "3"}) {
      ASSERT_EQ(run({"heat", "--resume", folder_ + tick},
                    with_files({"--ticks", "30", "--simulate", n_nodes}))
                    .code,
                0);
      EXPECT_EQ(content(series), whole) << tick << " on " << n_nodes;
    }
  }
  // A run from the beginning has nothing before it.
  ASSERT_EQ(run(heat, with_files({"--ticks", "4"})).code, 0);
  EXPECT_EQ(content(series).find("heat-00000008.vti"), std::string::npos);
  fs::remove_all(output);
}

TEST_F(Resume, a_second_run_into_one_folder_is_refused_until_the_first_is_dead) {
  const std::vector<std::string> words = {
      "heat",  "--width",      "300",       "--height",
      "200",   "--ticks",      "100000000", "--checkpoint-every",
      "200ms", "--checkpoint", folder_};
  std::vector<std::string> all = words;
  all.insert(all.begin(), {RUBATO_PROGRAM, "run"});
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    execute(all);
    _exit(99);
  }
  const Nanos begin = steady_now();
  while (!fs::exists(folder_ + "/lock") && steady_now() - begin < 10 * kSecond)
    nap(20 * kMillisecond);
  nap(kSecond);
  const std::string holder =
      "another run writes to " + folder_ + " (process " + std::to_string(child) + " on ";
  expect_refused(words, 2, holder);
  expect_refused({"heat", "--resume", folder_, "--checkpoint-every", "9"}, 2, holder);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(fs::exists(folder_ + "/lock"));
  const std::string newest = tick::find_checkpoint(folder_).path;
  const std::string ticks = std::to_string(20 + std::stoll(newest.substr(newest.rfind('-') + 1)));
  const std::vector<std::string> again = {"heat", "--resume", folder_, "--checkpoint-every",
                                          "9",    "--ticks",  ticks};
  const Answer answer = run(again);
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_FALSE(fs::exists(folder_ + "/lock"));
}

TEST_F(Resume, a_damaged_checkpoint_says_how_to_go_on_and_that_works) {
  const std::vector<std::string> words = {"heat", "--width", "60", "--height", "40"};
  ASSERT_EQ(run(words, {"--checkpoint-every", "10", "--checkpoint", folder_, "--ticks", "30"}).code,
            0);
  const std::string part = folder_ + "/tick-00000030/part-00000";
  fs::resize_file(part, fs::file_size(part) / 2);
  const std::vector<std::string> again = {"--checkpoint-every", "10", "--ticks", "50"};
  const std::string advice = "--resume " + folder_ + "/tick-00000020";
  expect_refused({words.front(), "--resume", folder_}, 3, advice);
  const Answer answer = run({words.front(), "--resume", folder_ + "/tick-00000020"}, again);
  EXPECT_EQ(checksum_of(answer), checksum_of(run(words, {"--ticks", "50"})));
  EXPECT_TRUE(fs::exists(folder_ + "/damaged-tick-00000030/part-00000"));
  EXPECT_EQ(tick::find_checkpoint(folder_).tick, 50);
}

// As a launcher starts it after a node was lost.
TEST_F(Resume, a_job_that_starts_again_passes_by_what_is_damaged) {
  const std::vector<std::string> words = {"heat", "--width", "60", "--height", "40"};
  const std::vector<std::string> saving = {"--checkpoint-every", "10", "--checkpoint", folder_};
  const auto start = [&](const char* ticks) {
    std::vector<std::string> more = saving;
    more.insert(more.end(), {"--ticks", ticks});
    return run(words, more);
  };
  const std::string whole = checksum_of(run(words, {"--ticks", "50"}));
  ::setenv(kRunIdVariable, "20261125-120000-0a1b2c", 1);
  const Answer first = start("30");
  const std::string part = folder_ + "/tick-00000030/part-00000";
  fs::resize_file(part, fs::file_size(part) / 2);
  ::setenv(kRestartVariable, "1", 1);
  const Answer second = start("50");
  ::unsetenv(kRestartVariable);
  ::unsetenv(kRunIdVariable);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(checksum_of(second), whole);
  EXPECT_NE(second.err.find(part + ": expected "), std::string::npos) << second.err;
  EXPECT_NE(second.err.find("; going on from " + folder_ + "/tick-00000020"), std::string::npos)
      << second.err;
}

TEST_F(Resume, a_full_disk_ends_the_run_and_leaves_what_was_whole) {
  expect_whole_on_full_disk(RUBATO_PROGRAM, 1);
}

TEST_F(Resume, a_limit_of_a_file_s_size_ends_the_run_and_leaves_what_was_whole) {
  const std::vector<std::string> words = {"heat", "--width", "400", "--height",
                                          "400",  "--edge",  "20"};  // 1.28 MB
  ASSERT_EQ(run(words, {"--ticks", "20", "--checkpoint-every", "10", "--checkpoint", folder_}).code,
            0);
  const Finished finished =
      run_program({"sh", "-c",
                   "ulimit -f 1000; exec " RUBATO_PROGRAM " run heat --resume " + folder_ +
                       " --ticks 50 --checkpoint-every 10 2>" + folder_ + "-said"});
  EXPECT_EQ(finished.code, 1);
  const std::string said = content(folder_ + "-said");
  EXPECT_NE(said.find("writing " + folder_ + "/tick-00000030/part-00000: File too large"),
            std::string::npos)
      << said;
  expect_whole_at_20(words);
  fs::remove(folder_ + "-said");
}

TEST_F(Resume, what_does_not_fit_is_refused_by_name) {
  ASSERT_EQ(run({"heat", "--width", "40", "--height", "30", "--ticks", "20", "--checkpoint-every",
                 "5", "--checkpoint", folder_})
                .code,
            0);
  const std::string newest = folder_ + "/tick-00000020";
  expect_refused({"fish", "--resume", folder_}, 3,
                 newest + ": expected a checkpoint of the model fish, found one of heat");
  expect_refused({"heat", "--resume", folder_, "--width", "41"}, 2,
                 "--width: expected \"40\" as the checkpoint has it, found \"41\"");
  expect_refused({"heat", "--resume", folder_, "--ticks", "19"}, 2, "--ticks: expected 20 or more");
  expect_refused({"heat", "--resume", folder_ + "-none"}, 3, "nothing of that name");
  expect_refused({"heat", "--checkpoint", folder_}, 2, "has a checkpoint of tick 20");
  expect_refused({"heat", "--checkpoint-every", "2x"}, 2, "--checkpoint-every: expected a number");
  fs::resize_file(newest + "/part-00000", 100);
  expect_refused({"heat", "--resume", folder_}, 3, newest + "/part-00000: expected");
  EXPECT_EQ(run({"heat", "--resume", folder_ + "/tick-00000015"}).code, 0);
}

TEST_F(Resume, what_places_work_keeps_the_decision_to_stop) {
  ASSERT_EQ(run({"heat", "--width",      "40",   "--height",   "30",   "--edge",
                 "20",   "--tolerance",  "0.05", "--ticks",    "5000", "--parts-x",
                 "2",    "--parts-y",    "2",    "--simulate", "4",    "--checkpoint-every",
                 "7",    "--checkpoint", folder_})
                .code,
            0);
  // The newest was taken when the test that ends the run had been made, but not heeded yet.
  const std::vector<std::string> from = {"heat", "--resume", folder_};
  const Answer same = run(from, {"--simulate", "4"});
  EXPECT_NE(same.err.find("stop condition: reached"), std::string::npos) << same.err;
  const std::string end = same.out.substr(0, same.out.find(" ticks"));
  for (const auto& other : std::vector<std::vector<std::string>>{
           {"--parts-x", "3", "--parts-y", "1", "--simulate", "3"},
           {"--ns-per-cell", "3", "--simulate", "4"}}) {
    const Answer there = run(from, other);
    EXPECT_EQ(checksum_of(there), checksum_of(same));
    EXPECT_NE(there.out.find(end.substr(end.rfind(' ')) + " ticks"), std::string::npos)
        << there.out << same.out;
  }
}

TEST_F(Resume, an_empty_name_is_no_run_from_the_beginning) {
  expect_refused({"heat", "--resume", ""}, 2, "--resume: expected a name");
  expect_refused({"heat", "--checkpoint", ""}, 2, "--checkpoint: expected a name");
}

// The model takes longer to build than the signal to come.
TEST_F(Resume, a_signal_before_the_first_tick_has_the_run_saved_too) {
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    execute({RUBATO_PROGRAM, "run", "pagerank", "--vertices", "60000", "--tolerance", "0",
             "--ticks", "100000000", "--checkpoint", folder_});
    _exit(99);
  }
  nap(kSecond / 2);
  kill(child, SIGUSR1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(exit_code_of(status), 75);
  EXPECT_TRUE(tick::find_checkpoint(folder_).whole);
}

TEST_F(Resume, a_signal_has_the_run_saved_and_ended_with_exit_75) {
  const std::vector<std::string> words = {
      RUBATO_PROGRAM, "run", "heat",    "--width",   "300",          "--height", "200",
      "--edge",       "20",  "--ticks", "100000000", "--checkpoint", folder_};
  for (const int signal : {SIGTERM, SIGUSR1}) {
    const pid_t child = fork();
    if (child == 0) {
      std::freopen("/dev/null", "w", stderr);
      execute(words);
      _exit(99);
    }
    nap(kSecond);
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(exit_code_of(status), 75);
    ASSERT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
    const std::string path = fs::directory_iterator(folder_)->path().string();
    const std::string ticks = std::to_string(20 + std::stoll(path.substr(path.rfind('-') + 1)));
    EXPECT_EQ(checksum_of(run({"heat", "--resume", folder_, "--ticks", ticks})),
              checksum_of(run({"heat", "--width", "300", "--height", "200", "--edge", "20",
                               "--ticks", ticks})));
    fs::remove_all(folder_);
  }
}

class ResumeJob : public Resume, public ::testing::WithParamInterface<std::string> {
 protected:
  static Answer launch(const std::string& n_nodes, const std::vector<std::string>& words) {
    std::vector<std::string> all = {"launch",   "-n", n_nodes,        "--mpi",
                                    GetParam(), "--", RUBATO_PROGRAM, "run"};
    all.insert(all.end(), words.begin(), words.end());
    return call(all);
  }
};

TEST_P(ResumeJob, what_4_nodes_of_a_job_have_saved_goes_on_with_the_same_bits_on_1_3_and_7) {
  for (const auto& words : small_runs()) {
    SCOPED_TRACE(words.front());
    const std::string whole = checksum_of(run(words));
    std::vector<std::string> saved = words;
    for (const char* word : {"--cores", "1", "--checkpoint-every", "11", "--checkpoint"})
      saved.emplace_back(word);
    saved.push_back(folder_);
    EXPECT_EQ(checksum_of(launch("4", saved)), whole);
    const std::vector<std::string> again = {words.front(), "--resume", folder_, "--cores", "1"};
    EXPECT_EQ(checksum_of(launch("3", again)), whole);
    EXPECT_EQ(checksum_of(launch("7", again)), whole);
    EXPECT_EQ(checksum_of(run(again)), whole);
    fs::remove_all(folder_);
  }
}

// The job is lost before it has looked at the folder for the first time.
TEST_P(ResumeJob, a_job_that_starts_again_leaves_another_run_s_checkpoints_alone) {
  const std::vector<std::string> heat = {"heat", "--width", "40", "--height", "30", "--edge", "20"};
  const std::vector<std::string> saves = {"--checkpoint-every", "10", "--checkpoint", folder_};
  ASSERT_EQ(run(heat, with(saves, {"--ticks", "20"})).code, 0);
  std::string words;
  for (const std::string& word : with(heat, saves))
    words += " '" + word + "'";
  const Answer answer = call(
      {"launch", "-n", "2", "--mpi", GetParam(), "--restarts", "1", "--", "sh", "-c",
       "[ -z \"$RUBATO_RESTARTED\" ] && kill -9 $$; exec $0 run" + words + " --ticks 50 --cores 1",
       RUBATO_PROGRAM});
  EXPECT_EQ(answer.code, 2) << answer.err;
  EXPECT_NE(answer.err.find("has a checkpoint of tick 20"), std::string::npos) << answer.err;
  expect_whole_at_20(heat);
}

TEST_P(ResumeJob, nodes_that_would_begin_at_different_checkpoints_are_told_so) {
  ASSERT_EQ(run({"heat", "--width", "40", "--height", "30", "--ticks", "20", "--checkpoint-every",
                 "10", "--checkpoint", folder_})
                .code,
            0);
  const auto begin_at = [](const std::string& node_0, const std::string& others) {
    return call({"launch", "-n", "3", "--mpi", GetParam(), "--", "sh", "-c",
                 "from='" + others + "'; [ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ] && from='" +
                     node_0 +
                     "'; exec $0 run heat --width 40 --height 30 $from --ticks 30 "
                     "--cores 1",
                 RUBATO_PROGRAM});
  };
  const std::string ten = folder_ + "/tick-00000010";
  const std::string twenty = folder_ + "/tick-00000020";
  const Answer apart = begin_at("--resume " + ten, "--resume " + twenty);
  EXPECT_EQ(apart.code, 3) << apart.err;
  EXPECT_NE(apart.err.find("node 1 begins with " + twenty + ", node 0 with " + ten),
            std::string::npos)
      << apart.err;
  const Answer none = begin_at("--resume " + ten, "");
  EXPECT_EQ(none.code, 3) << none.err;
  EXPECT_NE(none.err.find("node 1 begins at tick 0, node 0 with " + ten), std::string::npos)
      << none.err;
}

// The job ends, and says which file it was of which node.
TEST_P(ResumeJob, a_full_disk_ends_the_job_and_leaves_what_was_whole) {
  expect_whole_on_full_disk(
      std::string(RUBATO_PROGRAM) + " launch -n 2 --mpi " + GetParam() + " -- " + RUBATO_PROGRAM,
      2);
}

// Each node has a folder of its own for what is to be one.
TEST_P(ResumeJob, parts_on_different_disks_are_no_checkpoint) {
  const Answer answer = call(
      {"launch", "-n", "2", "--mpi", GetParam(), "--", "sh", "-c",
       "d=" + folder_ +
           "/${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; mkdir -p $d && cd $d && "
           "exec $0 run heat --width 40 --height 30 --ticks 50 --checkpoint-every 5 --checkpoint c "
           "--cores 1",
       RUBATO_PROGRAM});
  EXPECT_EQ(answer.code, 1) << answer.err;
  EXPECT_NE(answer.err.find("do the nodes share this file system?"), std::string::npos)
      << answer.err;
  EXPECT_FALSE(fs::exists(folder_ + "/0/c/tick-00000005/manifest"));
}

INSTANTIATE_TEST_SUITE_P(Mpi, ResumeJob, ::testing::ValuesIn(installed_mpis()),
                         [](const auto& mpi) { return mpi.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ResumeJob);

}  // namespace
}  // namespace rubato::tools

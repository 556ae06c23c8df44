// The launcher with real processes under each MPI that is installed: sh plays the node.

#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/base/time.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::tools {
namespace {

constexpr Nanos kPatience = 15 * kSecond;

std::vector<std::string> installed_mpis() {
  std::vector<std::string> names;
  if (!find_program("mpirun.openmpi").empty()) names.emplace_back("openmpi");
  if (!find_program("mpirun.mpich").empty()) names.emplace_back("mpich");
  return names;
}

class Launch : public ::testing::TestWithParam<std::string> {
 protected:
  // Starts 3 nodes that run `script` with their rank in $r; their output goes to a file.
  void start(const std::string& script, const std::string& restarts = "0") {
    output_ = ::testing::TempDir() + "/launch-" + std::to_string(getpid());
    child_ = fork();
    if (child_ != 0) return;
    std::freopen(output_.c_str(), "w", stdout);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    execute({RUBATO_PROGRAM, "launch", "-n", "3", "--mpi", GetParam(), "--restarts", restarts, "--",
             "sh", "-c", "r=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; " + script});
    _exit(99);
  }

  // Waits for the text to appear in the output.
  bool wait_for(const std::string& text) {
    for (const Nanos begin = steady_now(); steady_now() - begin < kPatience; nap(kMillisecond)) {
      if (output().find(text) != std::string::npos) return true;
    }
    return false;
  }

  // How often the output has the text.
  std::size_t n_times(const std::string& text) const {
    const std::string all = output();
    std::size_t n = 0;
    for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1))
      ++n;
    return n;
  }

  std::string output() const {
    std::ostringstream text;
    text << std::ifstream(output_).rdbuf();
    return text.str();
  }

  int exit_code() {
    int status = 0;
    waitpid(child_, &status, 0);
    return exit_code_of(status);
  }

  void TearDown() override { std::remove(output_.c_str()); }

  pid_t child_ = -1;
  std::string output_;
};

TEST_P(Launch, RunsAllNodes) {
  start("echo node $r");
  EXPECT_EQ(exit_code(), 0);
  for (const char* line : {"node 0\n", "node 1\n", "node 2\n"}) {
    EXPECT_NE(output().find(line), std::string::npos) << output();
  }
}

TEST_P(Launch, ANodesExitCodeIsTheJobs) {
  start("[ $r = 1 ] && exit 3; sleep 60");
  EXPECT_EQ(exit_code(), 3) << output();
}

TEST_P(Launch, AKilledNodeEndsTheJobWithItsName) {
  start("[ $r = 2 ] && kill -9 $$; sleep 60");
  EXPECT_EQ(exit_code(), 5);
  EXPECT_NE(output().find("rubato: node 2 ("), std::string::npos) << output();
  EXPECT_NE(output().find("was lost: killed by signal 9"), std::string::npos) << output();
}

// As by the system that has no memory left: nobody is there to say so.
TEST_P(Launch, ANodeThatIsKilledWithItsGuardIsLost) {
  start("[ $r = 1 ] && kill -9 $PPID; sleep 60");
  EXPECT_EQ(exit_code(), 5) << output();
  EXPECT_NE(output().find("a node was lost"), std::string::npos) << output();
  start("[ $r = 1 ] && exit 9; sleep 60");
  EXPECT_EQ(exit_code(), 9) << output();
}

// Node 2 is lost at each start.
TEST_P(Launch, AJobThatHasNoRestartsLeftEndsAsALostNodeDoes) {
  start("[ $r = 2 ] && echo starts && sleep 0.3 && kill -9 $$; sleep 60", "1");
  EXPECT_EQ(exit_code(), 5) << output();
  EXPECT_EQ(n_times("starts\n"), 2U) << output();
  EXPECT_EQ(n_times("starting the job again"), 1U) << output();
  EXPECT_EQ(n_times("; starting the job again, 1 of 1 times\n"), 1U) << output();
  EXPECT_EQ(n_times("was lost: killed by signal 9"), 2U) << output();
}

// Another end of a node is none that a new start would mend.
TEST_P(Launch, AJobThatFailsDoesNotStartAgain) {
  start("[ $r = 1 ] && echo starts && exit 3; sleep 60", "3");
  EXPECT_EQ(exit_code(), 3) << output();
  EXPECT_EQ(n_times("starts\n"), 1U) << output();
  EXPECT_EQ(n_times("starting the job again"), 0U) << output();
}

TEST_P(Launch, SignalsEndNodesThatIgnoreThem) {
  for (const auto& [signal, code] : {std::pair{SIGTERM, 143}, {SIGINT, 130}}) {
    start("trap '' TERM INT; echo pid-$$-; sleep 60");
    ASSERT_TRUE(wait_for("pid-")) << output();
    kill(child_, signal);
    EXPECT_EQ(exit_code(), code) << output();
    const std::string text = output();
    for (std::size_t at = text.find("pid-"); at != std::string::npos;
         at = text.find("pid-", at + 1)) {
      const pid_t node = std::atoi(text.c_str() + at + 4);
      EXPECT_NE(kill(node, 0), 0) << "process " << node << " is still alive";
    }
  }
}

TEST_P(Launch, OutputThatIsLostIsAFailure) {
  const std::string command =
      "$0 launch -n 2 --mpi " + GetParam() + " -- echo lost 2>&1 >/dev/full";
  const Finished finished = run_program({"sh", "-c", command, RUBATO_PROGRAM});
  EXPECT_EQ(finished.code, 1);
  EXPECT_EQ(finished.out, "rubato: writing to standard output failed: is the disk full?\n");
}

TEST_P(Launch, AUsageErrorOfAllNodesIsSaidOnce) {
  for (const auto& [words, message] :
       {std::pair{"--policy k5m1", "policy"}, {"--wdth 3", "unknown flag \"--wdth\""}}) {
    const std::string command =
        "$0 launch -n 4 --mpi " + GetParam() + " -- $0 run heat " + words + " 2>&1";
    const Finished finished = run_program({"sh", "-c", command, RUBATO_PROGRAM});
    EXPECT_EQ(finished.code, 2);
    EXPECT_EQ(std::count(finished.out.begin(), finished.out.end(), '\n'), 1) << finished.out;
    EXPECT_NE(finished.out.find(message), std::string::npos) << finished.out;
  }
}

TEST_P(Launch, AHostThatNobodyKnowsIsNamedWithItsLine) {
  const std::string hosts = ::testing::TempDir() + "/hosts-" + std::to_string(getpid());
  std::ofstream(hosts) << "# ours\nno-such-host.invalid slots=2\n";
  const std::string command =
      "$0 launch --mpi " + GetParam() + " --hostfile " + hosts + " -- $0 run heat 2>&1";
  const Finished finished = run_program({"sh", "-c", command, RUBATO_PROGRAM});
  EXPECT_EQ(finished.code, 3);
  EXPECT_NE(finished.out.find("rubato: " + hosts + ":2: cannot find the host no-such-host.invalid"),
            std::string::npos)
      << finished.out;
  std::remove(hosts.c_str());
}

TEST_P(Launch, AProgramThatIsMissingIsAUsageError) {
  EXPECT_EQ(output_of({RUBATO_PROGRAM, "launch", "-n", "2", "--", "/no/such/program"}), "");
  start("exec /no/such/program");
  EXPECT_EQ(exit_code(), 127) << output();
}

INSTANTIATE_TEST_SUITE_P(Mpi, Launch, ::testing::ValuesIn(installed_mpis()),
                         [](const auto& mpi) { return mpi.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Launch);

}  // namespace
}  // namespace rubato::tools

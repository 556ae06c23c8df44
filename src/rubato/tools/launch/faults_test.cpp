// Nodes of a real model that are ended, lost or stalled, under each MPI that is installed.

#include <cerrno>
#include <map>

#include <signal.h>
#include <sys/wait.h>

#include "rubato/base/time.hpp"
#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

constexpr Nanos kPatience = 20 * kSecond;

class JobFaults : public ::testing::TestWithParam<std::string> {
 protected:
  // Starts 3 nodes of heat, which say their process ids first, and waits until all compute.
  void start(const std::string& ticks) {
    output_ = scratch("job");
    child_ = fork();
    if (child_ == 0) {
      std::freopen(output_.c_str(), "w", stdout);
      dup2(STDOUT_FILENO, STDERR_FILENO);
      execute({RUBATO_PROGRAM, "launch", "-n", "3", "--mpi", GetParam(), "--", "sh", "-c",
               "echo \"pid $$ of ${OMPI_COMM_WORLD_RANK:-$PMI_RANK}.\"; exec \"$0\" run heat "
               "--width 64 --height 64 --cores 1 --ticks " +
                   ticks,
               RUBATO_PROGRAM});
      _exit(99);
    }
    for (const Nanos begin = steady_now();
         nodes().size() < 3 && steady_now() - begin < kPatience;) {
      nap(10 * kMillisecond);
    }
    ASSERT_EQ(nodes().size(), 3U) << output();
    nap(kSecond);
  }

  // Their process ids by rank, as far as they have said them.
  [[nodiscard]] std::map<int, pid_t> nodes() const {
    std::map<int, pid_t> found;
    const std::string text = output();
    for (std::size_t at = text.find("pid "); at != std::string::npos;
         at = text.find("pid ", at + 1)) {
      int pid = 0;
      int rank = 0;
      char dot = 0;
      if (std::sscanf(text.c_str() + at, "pid %d of %d%c", &pid, &rank, &dot) == 3)
        found[rank] = pid;
    }
    return found;
  }
  [[nodiscard]] std::string output() const {
    std::ostringstream text;
    text << std::ifstream(output_).rdbuf();
    return text.str();
  }

  // The job's exit code, and what it took from now on.
  std::pair<int, Nanos> end() {
    const Nanos begin = steady_now();
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return {exit_code_of(status), steady_now() - begin};
  }
  void expect_nobody_left() const {
    for (const auto& [rank, pid] : nodes())
      EXPECT_FALSE(kill(pid, 0) == 0 && errno != ESRCH) << "node " << rank << " is still alive";
  }
  void TearDown() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    std::remove(output_.c_str());
  }

  pid_t child_ = -1;
  std::string output_;
};

constexpr const char* kForEver = "1000000000";

TEST_P(JobFaults, signals_end_every_node_within_two_seconds) {
  for (const auto& [signal, code] : {std::pair{SIGTERM, 143}, {SIGINT, 130}}) {
    start(kForEver);
    kill(child_, signal);
    const auto [found, took] = end();
    EXPECT_EQ(found, code) << output();
    // Twice that: the machine may be busy with other tests.
    EXPECT_LT(took, 4 * kSecond);
    expect_nobody_left();
  }
}

TEST_P(JobFaults, a_killed_node_ends_the_job_with_exit_5_and_its_name) {
  for (const int rank : {0, 2}) {
    start(kForEver);
    kill(nodes()[rank], SIGKILL);
    const auto [code, took] = end();
    EXPECT_EQ(code, 5) << output();
    EXPECT_LT(took, 10 * kSecond);
    EXPECT_NE(output().find("rubato: node " + std::to_string(rank) + " ("), std::string::npos)
        << output();
    expect_nobody_left();
  }
}

TEST_P(JobFaults, a_node_that_stands_still_for_seconds_is_not_lost) {
  start("3000");
  const pid_t node = nodes()[1];
  kill(node, SIGSTOP);
  nap(4 * kSecond);
  kill(node, SIGCONT);
  EXPECT_EQ(end().first, 0) << output();
  EXPECT_NE(output().find("heat local: 3000 ticks"), std::string::npos) << output();
}

INSTANTIATE_TEST_SUITE_P(Mpi, JobFaults, ::testing::ValuesIn(installed_mpis()),
                         [](const auto& mpi) { return mpi.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(JobFaults);

}  // namespace
}  // namespace rubato::tools

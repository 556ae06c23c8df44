#include "rubato/tools/process.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/base/time.hpp"

namespace rubato::tools {
namespace {

TEST(CodesOf, ProgramsThatRunSideBySide) {
  const Nanos begin = steady_now();
  const std::vector<int> codes = codes_of({{"sh", "-c", "exit 3"},
                                           {"/nowhere/program"},
                                           {"sleep", "60"},
                                           {"sh", "-c", "sleep 0.2; exit 0"},
                                           {"sh", "-c", "kill -9 $$"}},
                                          kSecond);
  EXPECT_EQ(codes, (std::vector<int>{3, -1, -1, 0, 137}));
  EXPECT_LT(steady_now() - begin, 20 * kSecond);
  EXPECT_TRUE(codes_of({}, kSecond).empty());
}

TEST(CodesOf, ManyProgramsRunAFewAtATime) {
  const std::vector<int> codes =
      codes_of(std::vector<std::vector<std::string>>(100, {"sh", "-c", "exit 7"}), 20 * kSecond);
  EXPECT_EQ(std::ranges::count(codes, 7), 100);
}

TEST(CodesOf, ASignalThatWaitsToEndThisProcessEndsThem) {
  const pid_t child = fork();
  if (child == 0) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    raise(SIGTERM);
    _exit(codes_of({{"sleep", "60"}}, 60 * kSecond) == std::vector<int>{-1} ? 0 : 1);
  }
  int status = 0;
  const Nanos begin = steady_now();
  waitpid(child, &status, 0);
  EXPECT_EQ(exit_code_of(status), 0);
  EXPECT_LT(steady_now() - begin, 30 * kSecond);
}

}  // namespace
}  // namespace rubato::tools

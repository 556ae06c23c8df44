#include "rubato/flow/program/detail/watch.hpp"

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::content_of;
using program_testing::quiet;
using program_testing::script;
using program_testing::TempFolder;

// By then a script has said what it does about signals, also on a busy machine.
constexpr Nanos kStartTime = 800 * kMillisecond;

// The process whose number stands in a file has ended, or is a zombie that nobody reaped yet.
bool has_gone(const std::string& path) {
  const std::string number = content_of(path);
  const std::string stat = content_of("/proc/" + number.substr(0, number.find('\n')) + "/stat");
  return stat.empty() || contains(stat, ") Z ") || contains(stat, ") X ");
}

// Until a program has written its first line; the time-out of the test is the bound.
void wait_for(Launcher& launcher, const std::string& path) {
  while (!contains(content_of(path), "\n") && launcher.pause(kMillisecond)) {
  }
}

TEST(Watch, names_the_signal_that_ended_a_program) {
  Launcher launcher(quiet());
  const ProgramEnd killed = launcher.run(script("kill -9 $$"));
  EXPECT_EQ(killed.code, 137);
  EXPECT_TRUE(contains(killed.problem, "SIGKILL, which this node did not send")) << killed.problem;
  const ProgramEnd ended = launcher.run(script("kill -SEGV $$"));
  EXPECT_EQ(ended.code, 139);
  EXPECT_TRUE(contains(ended.problem, "was ended by SIGSEGV")) << ended.problem;
  EXPECT_FALSE(ended.timed_out);
}

TEST(Watch, keeps_the_last_lines_of_the_errors) {
  Launcher launcher(quiet());
  const ProgramEnd end = launcher.run(script("seq 100000 >&2; echo 'cannot go on' >&2; exit 3"));
  EXPECT_EQ(end.code, 3);
  EXPECT_LE(end.last_errors.size(), 4096U);
  EXPECT_GT(end.last_errors.size(), 4000U);
  EXPECT_TRUE(end.last_errors.ends_with("\n99999\n100000\ncannot go on"));
  // Whole lines: each has six digits here but the last two.
  EXPECT_EQ(end.last_errors.find('\n'), 5U);
  EXPECT_TRUE(end.problem.ends_with(end.last_errors));
}

TEST(LastLines, are_whole_lines_where_one_fits) {
  EXPECT_EQ(program_detail::last_lines("one\ntwo\nthree\n", 10), "two\nthree");
  EXPECT_EQ(program_detail::last_lines("one\ntwo\nthree\n", 9), "three");
  EXPECT_EQ(program_detail::last_lines("abcdefgh", 3), "fgh");
  EXPECT_EQ(program_detail::last_lines("abc\n\n", 9), "abc");
  EXPECT_EQ(program_detail::last_lines("", 9), "");
}

TEST(Watch, ends_a_program_whose_time_is_over) {
  Launcher launcher(quiet());
  ProgramCall call{.words = {"sleep", "100"}};
  call.timeout = 50 * kMillisecond;
  const ProgramEnd end = launcher.run(call);
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.code, 143);
  EXPECT_EQ(end.problem, "sleep 100 was ended by SIGTERM: its time of 0.050 s was over");
  EXPECT_GE(end.wall, call.timeout);
  EXPECT_LT(end.wall, 10 * kSecond);
}

// Its time is over, and some of what it has started does not end when it is asked to.
void run_until_killed(const TempFolder& folder, const std::string& text) {
  ProgramCall call = script(text);
  call.folder = folder.path();
  call.timeout = kStartTime;
  LauncherOptions options = quiet();
  options.grace = 200 * kMillisecond;
  Launcher launcher(options);
  const ProgramEnd end = launcher.run(call);
  EXPECT_TRUE(end.timed_out);
  EXPECT_GE(end.wall, kStartTime + options.grace);
}

TEST(Watch, ends_the_children_of_children_too) {
  const TempFolder folder;
  // The innermost ignores the request and so has to be killed.
  run_until_killed(
      folder,
      "sh -c 'sh -c \"trap : TERM; echo \\$\\$ > inner; while :; do sleep 0.05; done\" & "
      "echo $$ > middle; wait; sleep 100' & wait");
  EXPECT_TRUE(has_gone(folder / "inner"));
  EXPECT_TRUE(has_gone(folder / "middle"));
}

TEST(Watch, ends_children_that_have_left_the_group) {
  const TempFolder folder;
  // One goes at once, one has to be killed, and one has a child of its own.
  run_until_killed(
      folder,
      "setsid sh -c 'echo $$ > quiet; exec sleep 100' & "
      "setsid sh -c 'trap \"\" TERM; echo $$ > deaf; while :; do sleep 0.05; done' & "
      "setsid sh -c 'setsid sh -c \"echo \\$\\$ > inner; exec sleep 100\" & wait' & wait");
  for (const char* name : {"quiet", "deaf", "inner"}) {
    EXPECT_TRUE(contains(content_of(folder / name), "\n")) << name;
    EXPECT_TRUE(has_gone(folder / name)) << name;
  }
}

TEST(Watch, lets_children_that_have_left_the_group_go_on_when_a_program_ends) {
  const TempFolder folder;
  Launcher launcher(quiet());
  ProgramCall call = script(
      "setsid sh -c 'echo $$ > stays; exec sleep 100' & "
      "while [ ! -s stays ]; do sleep 0.01; done");
  call.folder = folder.path();
  EXPECT_EQ(launcher.run(call).code, 0);
  EXPECT_FALSE(has_gone(folder / "stays"));
  ::kill(std::stoi(content_of(folder / "stays")), SIGKILL);
}

TEST(Watch, kills_what_does_not_end_within_the_grace) {
  LauncherOptions options = quiet();
  options.grace = 50 * kMillisecond;
  Launcher launcher(options);
  ProgramCall call = script("trap '' TERM; while :; do sleep 0.01; done");
  call.timeout = kStartTime;
  const ProgramEnd end = launcher.run(call);
  EXPECT_EQ(end.code, 137);
  EXPECT_TRUE(contains(end.problem, "did not end within 0.050 s after SIGTERM")) << end.problem;
}

TEST(Watch, fails_a_program_that_answers_its_time_out_by_a_zero) {
  Launcher launcher(quiet());
  ProgramCall call = script("trap 'exit 0' TERM; while :; do sleep 0.01; done");
  call.timeout = kStartTime;
  const ProgramEnd end = launcher.run(call);
  EXPECT_EQ(end.code, 124);
  EXPECT_TRUE(end.timed_out);
}

TEST(Watch, ends_a_stopped_program) {
  Launcher launcher(quiet());
  ProgramCall call = script("kill -STOP $$; sleep 100");
  call.timeout = 100 * kMillisecond;
  EXPECT_EQ(launcher.run(call).code, 143);
}

TEST(Watch, does_not_wait_for_what_a_program_leaves_behind) {
  const TempFolder folder;
  Launcher launcher(quiet());
  ProgramCall call = script("sleep 100 & echo $! > left");
  call.folder = folder.path();
  const ProgramEnd end = launcher.run(call);
  EXPECT_TRUE(end.well());
  EXPECT_LT(end.wall, 10 * kSecond);
  // Killed before run() returned; the kernel needs a moment to carry it out.
  while (!has_gone(folder / "left") && launcher.pause(kMillisecond)) {
  }
}

TEST(Watch, kills_all_at_the_end_of_a_run) {
  const TempFolder folder;
  LauncherOptions options = quiet();
  options.n_at_once = 2;
  auto launcher = std::make_unique<Launcher>(options);
  std::vector<ProgramEnd> ends(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    threads.emplace_back([&, i] {
      // Two of them run, two wait for their turn.
      ends[i] = launcher->run(script("sleep 100 & echo $! >> " + folder / "pids" + "; wait"));
    });
  }
  wait_for(*launcher, folder / "pids");
  launcher->kill_all(kSecond);
  EXPECT_TRUE(has_gone(folder / "pids"));
  for (std::thread& thread : threads)
    thread.join();
  for (const ProgramEnd& end : ends) {
    EXPECT_TRUE(end.stopped);
    EXPECT_EQ(end.code, 143) << end.problem;
  }
  EXPECT_TRUE(launcher->run({.words = {"true"}}).stopped);
  EXPECT_FALSE(launcher->pause(100 * kSecond));
}

TEST(Watch, kills_at_once_when_asked_a_second_time) {
  const TempFolder folder;
  Launcher launcher(quiet());
  ProgramEnd end;
  std::thread runner([&] {
    end = launcher.run(
        script("trap '' TERM; echo >> " + folder / "up" + "; while :; do sleep 0.01; done"));
  });
  wait_for(launcher, folder / "up");
  std::thread patient([&] { launcher.kill_all(1000 * kSecond); });
  launcher.kill_all(0);
  runner.join();
  // Whichever came last, a kill with no grace ends it.
  patient.join();
  EXPECT_EQ(end.code, 137);
}

}  // namespace
}  // namespace rubato::flow

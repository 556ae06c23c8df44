#include "rubato/flow/program/program.hpp"

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::content_of;
using program_testing::n_descriptors;
using program_testing::quiet;
using program_testing::script;
using program_testing::TempFolder;

TEST(Launcher, says_nothing_of_a_program_that_ended_well) {
  Launcher launcher(quiet());
  const ProgramEnd end = launcher.run({.words = {"true"}});
  EXPECT_TRUE(end.well());
  EXPECT_TRUE(end.started);
  EXPECT_EQ(end.problem, "");
  EXPECT_GT(end.wall, 0);
  EXPECT_GT(end.resident_bytes_max, 0);
}

TEST(Launcher, returns_the_exit_code) {
  Launcher launcher(quiet());
  EXPECT_EQ(launcher.run({.words = {"false"}}).code, 1);
  const ProgramEnd end = launcher.run(script("exit 42"));
  EXPECT_EQ(end.code, 42);
  EXPECT_EQ(end.problem, "sh -c 'exit 42' ended with code 42");
}

TEST(Launcher, hands_words_on_as_they_are) {
  const TempFolder folder;
  Launcher launcher(quiet());
  ProgramCall call{.words = {"printf", "<%s>", "a b", "", "$HOME", "*", "'\"", "\xc3\xa4"}};
  call.stdout_path = folder / "out";
  EXPECT_TRUE(launcher.run(call).well());
  EXPECT_EQ(content_of(folder / "out"), "<a b><><$HOME><*><'\"><\xc3\xa4>");
}

TEST(Launcher, redirects_the_standard_streams) {
  const TempFolder folder;
  folder.file("in", "3\n1\n2\n");
  Launcher launcher(quiet());
  ProgramCall call = script("sort; echo wrong >&2");
  call.folder = folder.path();
  call.stdin_path = "in";  // relative to the folder
  call.stdout_path = "out";
  call.stderr_path = "err";
  const ProgramEnd end = launcher.run(call);
  EXPECT_TRUE(end.well()) << end.problem;
  EXPECT_EQ(content_of(folder / "out"), "1\n2\n3\n");
  EXPECT_EQ(content_of(folder / "err"), "wrong\n");
  EXPECT_EQ(end.last_errors, "");
}

TEST(Launcher, lets_two_streams_share_a_file) {
  const TempFolder folder;
  Launcher launcher(quiet());
  ProgramCall call = script("echo a; echo b >&2; echo c");
  call.stdout_path = call.stderr_path = folder / "all";
  EXPECT_TRUE(launcher.run(call).well());
  EXPECT_EQ(content_of(folder / "all"), "a\nb\nc\n");
}

TEST(Launcher, gives_an_empty_input_where_none_is_named) {
  Launcher launcher(quiet());
  ProgramCall call = script("test -z \"$(cat)\"");
  call.timeout = 10 * kSecond;
  EXPECT_TRUE(launcher.run(call).well());
}

TEST(Launcher, changes_the_environment_of_the_call_alone) {
  Launcher launcher(quiet());
  ProgramCall call =
      script("test \"$RUBATO_A\" = 'x=y z' && test -z \"$HOME\" && test -n \"$PATH\"");
  call.environment = {{"RUBATO_A", "x=y z"}};
  call.environment_removed = {"HOME"};
  const ProgramEnd end = launcher.run(call);
  EXPECT_TRUE(end.well()) << end.problem;
  EXPECT_TRUE(launcher.run(script("test -z \"$RUBATO_A\" && test -n \"$HOME$PATH\"")).well());
}

TEST(Launcher, looks_in_the_path_of_the_call) {
  const TempFolder folder;
  folder.program("mine", "#!/bin/sh\nexit 7\n");
  Launcher launcher(quiet());
  ProgramCall call{.words = {"mine"}};
  EXPECT_EQ(launcher.run(call).code, 127);
  call.environment = {{"PATH", folder.path()}};
  EXPECT_EQ(launcher.run(call).code, 7);
}

TEST(Launcher, finds_a_program_again_that_was_moved) {
  const TempFolder folder;
  const std::string here = folder.program("a/tool", "#!/bin/sh\nexit 1\n");
  folder.program("b/tool", "#!/bin/sh\nexit 2\n");
  Launcher launcher(quiet());
  ProgramCall call{.words = {"tool"}};
  call.environment = {{"PATH", folder / "a" + ":" + folder / "b"}};
  EXPECT_EQ(launcher.run(call).code, 1);
  std::filesystem::remove(here);
  EXPECT_EQ(launcher.run(call).code, 2);
}

TEST(Launcher, names_the_nearest_program_in_path) {
  const TempFolder folder;
  folder.program("simulate", "#!/bin/sh\n");
  folder.file("simulatr", "no program");
  Launcher launcher(quiet());
  ProgramCall call{.words = {"simluate", "x"}};
  call.environment = {{"PATH", folder.path()}};
  const ProgramEnd end = launcher.run(call);
  EXPECT_EQ(end.code, 127);
  EXPECT_FALSE(end.started);
  EXPECT_EQ(end.problem,
            "simluate x was not begun: there is no program \"simluate\" in PATH "
            "(did you mean \"simulate\"?)");
}

TEST(Launcher, says_what_is_wrong_with_a_program_of_a_path) {
  const TempFolder folder;
  folder.file("data", "x");
  folder.program("no-line", "exit 1\n");
  folder.program("no-shell", "#!/no/such/shell\n");
  Launcher launcher(quiet());
  const auto problem_of = [&](const std::string& name) {
    ProgramCall call{.words = {"./" + name}};
    call.folder = folder.path();
    return launcher.run(call).problem;
  };
  EXPECT_TRUE(contains(problem_of("dta"), "No such file or directory (did you mean \"data\"?)"));
  EXPECT_TRUE(contains(problem_of("data"), "found a file that may not be executed"));
  EXPECT_TRUE(contains(problem_of(""), "found a folder"));
  EXPECT_TRUE(contains(problem_of("no-line"), "a script that begins with #!, found neither"));
  EXPECT_TRUE(contains(problem_of("no-shell"), "that is not there: \"#!/no/such/shell\""));
}

TEST(Launcher, names_the_file_that_cannot_be_used) {
  const TempFolder folder;
  Launcher launcher(quiet());
  ProgramCall call{.words = {"true"}};
  call.stdin_path = folder / "in";
  const ProgramEnd end = launcher.run(call);
  EXPECT_EQ(end.code, 126);
  EXPECT_TRUE(contains(end.problem, "reading " + folder / "in" + ": No such file")) << end.problem;
  call = {.words = {"true"}};
  call.stdout_path = folder / "no/out";
  EXPECT_TRUE(contains(launcher.run(call).problem, "writing " + folder / "no/out" + ": No such"));
  call = {.words = {"true"}};
  call.folder = folder / "nowhere";
  EXPECT_TRUE(contains(launcher.run(call).problem, "running in " + folder / "nowhere"));
}

TEST(Launcher, refuses_words_that_no_system_takes) {
  Launcher launcher(quiet());
  EXPECT_TRUE(contains(launcher.run({}).problem, "expected the name of a program, found none"));
  EXPECT_TRUE(contains(launcher.run({.words = {"echo", std::string("ab\0c", 4)}}).problem,
                       "found one at byte 3 of \"ab\""));
  ProgramCall call{.words = {"true"}};
  call.environment = {{"A=B", "c"}};
  EXPECT_TRUE(contains(launcher.run(call).problem, "without '=', found \"A=B\""));
  EXPECT_TRUE(contains(launcher.run({.words = {"true", std::string(1 << 22, 'x')}}).problem,
                       "longer than the system takes"));
}

TEST(Launcher, runs_as_many_at_once_as_it_was_told) {
  const TempFolder folder;
  LauncherOptions options = quiet();
  options.n_at_once = 2;
  Launcher launcher(options);
  std::vector<std::thread> threads;
  std::atomic<int> n_well = 0;
  // Each makes a folder of its own, counts, and removes it: more than two would be seen.
  const ProgramCall call = [&] {
    ProgramCall made =
        script("mkdir r$$; n=$(ls -d r* | wc -l); sleep 0.02; rmdir r$$; test $n -le 2");
    made.folder = folder.path();
    return made;
  }();
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { n_well += launcher.run(call).well() ? 1 : 0; });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(n_well, 8);
}

TEST(Launcher, runs_two_hundred_programs_of_eight_threads) {
  const TempFolder folder;
  Launcher launcher(quiet());
  std::atomic<int> n_right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const int code = (t * 25 + i) % 100;
        n_right += launcher.run(script("exit " + std::to_string(code))).code == code ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(n_right, 200);
}

TEST(Launcher, leaves_no_descriptor_open) {
  const TempFolder folder;
  Launcher launcher(quiet());
  EXPECT_TRUE(launcher.run({.words = {"true"}}).well());
  const std::size_t before = n_descriptors();
  ProgramCall full{.words = {"true"}};
  full.folder = folder.path();
  full.stdout_path = "out";
  full.stderr_path = "err";
  for (int i = 0; i < 500; ++i) {
    ProgramCall call{.words = {i % 3 == 0 ? "true" : "no-such-program-here"}};
    if (i % 3 == 1) call.words[0] = "/no/such/program";
    EXPECT_EQ(launcher.run(i % 5 == 0 ? full : call).well(), i % 5 == 0 || i % 3 == 0);
  }
  EXPECT_EQ(n_descriptors(), before);
}

TEST(Launcher, hands_no_descriptor_to_a_program) {
  const TempFolder folder;
  // As a library would that knows nothing of close-on-exec.
  const int leaky = ::open("/dev/null", O_RDONLY);
  Launcher launcher(quiet());
  ProgramCall call{.words = {"ls", "/proc/self/fd"}};
  call.stdout_path = folder / "out";
  EXPECT_TRUE(launcher.run(call).well());
  ::close(leaky);
  // The fourth is the folder that ls reads.
  EXPECT_EQ(content_of(folder / "out"), "0\n1\n2\n3\n");
}

TEST(Launcher, gives_programs_default_signals) {
  Launcher launcher(quiet());
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  EXPECT_EQ(launcher.run(script("kill -TERM $$; exit 3")).code, 143);
  EXPECT_EQ(launcher.run(script("kill -PIPE $$; exit 3")).code, 141);
  sigaction(SIGPIPE, &before, nullptr);
  pthread_sigmask(SIG_UNBLOCK, &usr1, nullptr);
}

TEST(Launcher, gives_programs_all_processors_of_the_node) {
  const TempFolder folder;
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  Launcher launcher(quiet());
  ProgramCall call{.words = {"grep", "Cpus_allowed_list", "/proc/self/status"}};
  call.stdout_path = folder / "wide";
  EXPECT_TRUE(launcher.run(call).well());
  std::thread([&] {
    int first = 0;
    while (!CPU_ISSET(first, &all))
      ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    call.stdout_path = folder / "bound";
    EXPECT_TRUE(launcher.run(call).well());
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&after, &one));
  }).join();
  EXPECT_EQ(content_of(folder / "bound"), content_of(folder / "wide"));
}

// Whether it has not ended; a zombie has.
bool lives(pid_t process) {
  const std::string stat = content_of("/proc/" + std::to_string(process) + "/stat");
  const std::size_t close = stat.rfind(')');
  return close != std::string::npos && close + 2 < stat.size() && stat[close + 2] != 'Z';
}

// Of a file that a program writes, when it is whole.
pid_t number_in(const std::string& path, Launcher& clock) {
  for (int i = 0; i < 1000; ++i) {
    const std::string text = content_of(path);
    if (text.ends_with('\n')) return std::stoi(text);
    static_cast<void>(clock.pause(10 * kMillisecond));
  }
  return 0;
}

TEST(Launcher, its_programs_end_when_their_node_is_killed) {
  const TempFolder folder;
  // A shell and what that has started.
  const std::string text = "sleep 1000 & echo $! > second; echo $$ > first; wait";
  const pid_t node = ::fork();
  if (node == 0) {
    Launcher launcher(quiet());
    ProgramCall call = script(text);
    call.folder = folder.path();
    static_cast<void>(launcher.run(call));
    ::_exit(0);
  }
  Launcher clock(quiet());
  const pid_t first = number_in(folder / "first", clock);
  const pid_t second = number_in(folder / "second", clock);
  ASSERT_TRUE(lives(first) && lives(second));
  // By then the node has written down what it has started (detail/warden.hpp).
  static_cast<void>(clock.pause(200 * kMillisecond));
  ::kill(node, SIGKILL);
  for (int i = 0; i < 1000 && (lives(first) || lives(second)); ++i)
    static_cast<void>(clock.pause(10 * kMillisecond));
  EXPECT_FALSE(lives(first));
  EXPECT_FALSE(lives(second));
  ::waitpid(node, nullptr, 0);
}

TEST(Launcher, tries_again_while_a_program_is_written) {
  const TempFolder folder;
  std::filesystem::copy_file("/bin/true", folder / "tool");
  const int writer = ::open((folder / "tool").c_str(), O_WRONLY | O_CLOEXEC);
  LauncherOptions options = quiet();
  options.n_start_tries = 3;
  Launcher impatient(options);
  const ProgramEnd end = impatient.run({.words = {folder / "tool"}});
  EXPECT_EQ(end.code, 126);
  EXPECT_TRUE(contains(end.problem, "Text file busy (tries: 3 within 0.003 s)")) << end.problem;
  Launcher launcher(quiet());
  std::thread closer([&] {
    EXPECT_TRUE(launcher.pause(20 * kMillisecond));
    ::close(writer);
  });
  EXPECT_TRUE(launcher.run({.words = {folder / "tool"}}).well());
  closer.join();
}

TEST(Launcher, tries_again_while_descriptors_are_missing) {
  LauncherOptions options = quiet();
  options.n_start_tries = 2;
  Launcher launcher(options);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  const int next = ::dup(STDIN_FILENO);
  ::close(next);
  few.rlim_cur = static_cast<rlim_t>(next) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const ProgramEnd end = launcher.run({.words = {"true"}});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(contains(end.problem, "Too many open files (tries: 2 within 0.001 s)"))
      << end.problem;
  EXPECT_TRUE(launcher.run({.words = {"true"}}).well());
}

}  // namespace
}  // namespace rubato::flow

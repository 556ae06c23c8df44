#include "rubato/flow/program/program_task.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include <sched.h>

#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/loop.hpp"
#include "rubato/flow/program/detail/node_programs.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::content_of;
using program_testing::TempFolder;

// On some shapes of virtual nodes, and on the cores of this machine.
template <class F>
void everywhere(const F& main) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const FlowResult result = simulate_flow(seed, main);
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
  }
  const FlowResult result = run_flow_here(2, main);
  ASSERT_EQ(result.text(), "");
  ASSERT_EQ(result.n_data_held, 0U);
}

// Why getting the future fails.
template <class T>
std::string failure_of(const Future<T>& future) {
  return program_testing::error_of([&] { static_cast<void>(future.get()); });
}

TEST(ProgramTask, hands_values_of_all_kinds_as_words) {
  everywhere([] {
    const auto two = async([] { return 2; })();
    const auto half = async([] { return 0.5; })();
    auto [files, insert] = make_container<FileName>();
    insert.insert(7, FileName{"a b.txt"});
    const auto said = async_program({.captures_stdout = true})(
        "echo", "-n", 1, two, half, true, files[7], std::vector<std::string>{"x", "y"},
        joined("--n=", two, "/", 3), std::vector<Future<int>>{two, two});
    EXPECT_EQ(said.text.get(), "1 2 0.5 true a b.txt x y --n=2/3 2 2");
  });
}

TEST(ProgramTask, sets_its_outputs_for_those_that_need_them) {
  const TempFolder folder;
  everywhere([&folder] {
    const auto sorted = async_program({.folder = folder.path()})(
        "sh", "-c", "printf '3\\n1\\n2\\n' | sort > \"$0\"", output("sorted.txt"));
    const auto first =
        async_program({.captures_stdout = true})("head", "-n1", sorted.file("sorted.txt"));
    EXPECT_EQ(first.text.get(), "1\n");
    EXPECT_EQ(sorted.files[0].get().path, folder / "sorted.txt");
    EXPECT_EQ(content_of(folder / "sorted.txt"), "1\n2\n3\n");
  });
}

TEST(ProgramTask, captures_both_standard_streams) {
  everywhere([] {
    const auto say = [](ProgramTaskOptions options) {
      return async_program(std::move(options))("sh", "-c", "echo 1; echo 2 >&2; echo 3");
    };
    const auto both = say({.captures_stdout = true, .captures_stderr = true});
    EXPECT_EQ(both.text.get() + both.errors.get(), "1\n3\n2\n");
    const auto one = say({.captures_stdout = true, .text_has_errors = true});
    EXPECT_EQ(one.text.get(), "1\n2\n3\n");
    ProgramTask twice({.captures_stderr = true});
    EXPECT_NE(program_testing::error_of([&] { twice.add(stderr_to("file")); }), "");
  });
}

TEST(ProgramTask, joins_standard_streams_by_files) {
  const TempFolder folder;
  everywhere([&folder] {
    const auto letters =
        async_program({.folder = folder.path()})("printf", "b\na\n", stdout_to("letters"));
    const auto sorted = async_program({.folder = folder.path()})(
        "sh", "-c", "sort; echo said >&2", stdin_from(letters.files[0]), stdout_to("sorted"),
        stderr_to("errors"));
    sorted.done.get();
    EXPECT_EQ(content_of(folder / "sorted"), "a\nb\n");
    EXPECT_EQ(content_of(folder / "errors"), "said\n");
    EXPECT_EQ(sorted.file("errors").get().path, folder / "errors");
  });
}

TEST(ProgramTask, writes_to_files_whose_names_come_late) {
  const TempFolder folder;
  everywhere([&folder] {
    const auto named = [](const char* stem) {
      return async([](const std::string& s) { return s + std::to_string(6 * 7); })(
          std::string(stem));
    };
    const Future<std::string> sorted_name = named("sorted-");
    const auto sorted = async_program({.folder = folder.path()})(
        "sh", "-c", "echo said >&2; printf '3\\n1\\n' | tee \"$0\" | sort; echo $1 >\"$1\"",
        output("plain"), joined("", output(named("made-"))), stdout_to(sorted_name),
        stderr_to(named("errors-")), needs(sorted_name));
    EXPECT_EQ(sorted.files.size(), 4U);
    EXPECT_EQ(sorted.files[1].get().path, folder / "made-42");
    const auto read = async_program({.captures_stdout = true})(
        "cat", sorted.files[2], sorted.files[3], sorted.file("plain"));
    EXPECT_EQ(read.text.get(), "1\n3\nsaid\n3\n1\n");
    EXPECT_EQ(sorted.paths, (std::vector<std::string>{"plain", "", "", ""}));
    const auto names = folder.names();
    EXPECT_EQ(names, (std::vector<std::string>{"errors-42", "made-42", "plain", "sorted-42"}));
    for (const std::string& name : names)
      std::filesystem::remove(folder / name);
    // The same future is the same file.
    const auto both = async_program({.folder = folder.path()})(
        "sh", "-c", "echo out; echo err >&2", stdout_to(sorted_name), stderr_to(sorted_name));
    EXPECT_EQ(both.files.size(), 1U);
    EXPECT_EQ(content_of(both.files[0].get().path), "out\nerr\n");
  });
}

TEST(ProgramTask, fails_if_the_name_of_an_output_does) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      const auto name = async([]() -> std::string { throw Error("no name for it"); })();
      const auto made = async_program()("touch", output(name));
      EXPECT_TRUE(contains(failure_of(made.files[0]), "no name for it"));
      const auto twice = async([] { return std::string("twice"); });
      EXPECT_TRUE(
          contains(failure_of(async_program()("touch", output(twice()), output("twice")).done),
                   "expected outputs of different names, found it twice"));
    });
    EXPECT_EQ(result.n_failures, 2U) << result.text();
    EXPECT_EQ(result.n_data_held, 0U);
  }
}

TEST(ProgramTask, waits_for_what_is_no_word) {
  const TempFolder folder;
  everywhere([&folder] {
    const auto made = async_program({.folder = folder.path()})("sh", "-c", "echo here > made");
    const auto read = async_program({.folder = folder.path(), .captures_stdout = true})(
        "cat", "made", made.done, needs(async([] { return 5; })()));
    EXPECT_EQ(read.text.get(), "here\n");
    std::filesystem::remove(folder / "made");
  });
}

TEST(ProgramTask, says_why_it_failed_and_runs_nothing_that_needs_it) {
  const auto main = [] {
    const auto bad = async_program({.name = "draw"})("sh", "-c", "echo no ink >&2; exit 3",
                                                     output("/nowhere/map.png"));
    const auto next = async_program()("cat", bad.files[0]);
    const auto last = async([](const std::string& s) { return s; })(
        async_program({.captures_stdout = true})("cat", bad.files[0]).text);
    const std::string why = failure_of(last);
    EXPECT_TRUE(contains(why, "task 'draw' of ")) << why;
    EXPECT_TRUE(contains(why, "program_task_test.cpp:")) << why;
    EXPECT_EQ(failure_of(next.done), why);
    const auto good = async_program({.captures_stdout = true})("echo", "well");
    EXPECT_EQ(good.text.get(), "well\n");
  };
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const FlowResult result = simulate_flow(seed, main);
    EXPECT_EQ(result.n_failures, 1U) << result.text();
    EXPECT_EQ(result.counters.n_skipped, 3U);
    EXPECT_EQ(result.n_data_held, 0U);
    EXPECT_TRUE(result.waiting.empty());
  }
}

TEST(ProgramTask, fails_with_the_code_and_the_last_errors_of_the_program) {
  const FlowResult result = run_flow_here(2, [] {
    const auto bad = async_program()("sh", "-c", "echo no ink >&2; exit 3");
    const std::string why = failure_of(bad.done);
    EXPECT_TRUE(contains(why, "ended with code 3; the last lines of its errors:\nno ink")) << why;
    EXPECT_TRUE(contains(failure_of(async_program()("no-such-program").done),
                         "no-such-program was not begun: "));
    EXPECT_TRUE(contains(failure_of(async_program()("sh", "-c", ":", output("o.txt")).done),
                         "output o.txt: expected that the program writes it as "));
    EXPECT_TRUE(contains(failure_of(async_program({.timeout = kMillisecond})("sleep", 60).done),
                         "its time of 0.001 s was over"));
  });
  EXPECT_EQ(result.n_failures, 4U);
}

TEST(ProgramTask, is_tried_again_and_leaves_nothing_of_a_failed_try) {
  const TempFolder folder;
  const FlowResult result = run_flow_here(2, [&] {
    const auto third =
        async_program({.folder = folder.path(), .retry = {.n_tries = 5, .pause = kMillisecond}})(
            "sh", "-c", "echo x >> tries; echo > \"$0\"; test $(wc -l < tries) -eq 3", output("o"));
    third.done.get();
    const auto never =
        async_program({.folder = folder.path(), .retry = {.n_tries = 2, .pause = kMillisecond}})(
            "false", output("p"));
    const std::string why = failure_of(never.files[0]);
    EXPECT_TRUE(contains(why, "failed 2 times:\n  try 1: false ")) << why;
  });
  EXPECT_EQ(result.n_failures, 1U);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"o", "tries"}));
}

TEST(ProgramTask, refuses_two_files_for_a_stream_and_outputs_that_are_none) {
  const FlowResult result = run_flow_here(1, [] {
    using program_testing::error_of;
    EXPECT_TRUE(contains(error_of([] { async_program()("x", stdout_to("a"), stdout_to("b")); }),
                         "one file for each standard stream"));
    EXPECT_TRUE(
        contains(error_of([] { async_program({.captures_stdout = true})("x", stdout_to("a")); }),
                 "expected stdout_to() or captures_stdout"));
    const auto started = async_program()("true", needs(output("map.png").path));
    EXPECT_EQ(error_of([&] { static_cast<void>(started.file("map.png")); }),
              "output map.png: expected an output of the program");
    const std::vector<double> blob{1, 2};
    ProgramTask task;
    task.add("echo").add_input(detail::Argument<std::vector<double>>::put(blob));
    EXPECT_TRUE(contains(failure_of(task.start().done),
                         "a word of a program: expected text, a number or a file, found blob"));
  });
  EXPECT_EQ(result.n_failures, 1U);
}

TEST(ProgramTask, is_ended_when_its_text_is_too_long) {
  const FlowResult result = run_flow_here(1, [] {
    const auto why = [](ProgramTaskOptions options, const char* command) {
      options.timeout = 20 * kSecond;
      options.retry.n_tries = 2;
      return failure_of(async_program(options)("sh", "-c", command).done);
    };
    const std::string out = why({.captures_stdout = true}, "trap '' TERM; yes");
    EXPECT_TRUE(
        contains(out, "its standard output, taken as text: expected at most 67108864 bytes"))
        << out;
    const std::string errors = why({.captures_stdout = true, .captures_stderr = true}, "yes >&2");
    EXPECT_TRUE(contains(errors, "its standard error, taken as text: expected at most")) << errors;
  });
  EXPECT_EQ(result.n_failures, 2U);
}

TEST(ProgramTask, runs_hundreds_beside_other_tasks) {
  const FlowResult result = run_flow_here(2, [] {
    std::vector<Future<std::string>> texts;
    for (int i = 0; i < 200; ++i)
      texts.push_back(async_program({.captures_stdout = true})("echo", i).text);
    // Those that wait for their turn keep no core: this one runs meanwhile.
    EXPECT_EQ(async([] { return 5; })().get(), 5);
    for (int i = 0; i < 200; ++i)
      EXPECT_EQ(texts[static_cast<std::size_t>(i)].get(), std::to_string(i) + "\n");
  });
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(result.n_data_held, 0U);
}

TEST(ProgramTask, deals_hundreds_out_to_all_nodes) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      std::vector<Future<void>> done;
      for (int i = 0; i < 60; ++i)
        done.push_back(async_program()("true", i).done);
      for (const Future<void>& each : done)
        each.get();
    });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(ProgramTask, gives_programs_all_processors_though_its_core_has_one) {
  const FlowResult result = run_flow_here(1, [] {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t i = 0; CPU_COUNT(&one) == 0; ++i) {
      if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const auto n = async_program({.captures_stdout = true})("nproc");
    EXPECT_EQ(n.text.get(), std::to_string(CPU_COUNT(&all)) + "\n");
    ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  });
  EXPECT_EQ(result.text(), "");
}

TEST(ProgramTask, takes_as_many_cores_as_it_says) {
  const FlowResult result = simulate_flow(6, [] {  // 2 nodes of 2 cores
    const auto good = async_program({.n_cores = 2, .captures_stdout = true})("echo", "two");
    EXPECT_EQ(good.text.get(), "two\n");
    const auto many = async_program({.n_cores = 99})("echo", "never");
    EXPECT_THROW(many.done.get(), Error);
  });
  EXPECT_EQ(result.n_failures, 1U);
  EXPECT_NE(result.text().find("99 cores at a time, expected 1 to 2"), std::string::npos)
      << result.text();
}

TEST(ProgramTask, is_tried_again_elsewhere) {
  const TempFolder folder;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 4);
    FlowResult result;
    global::simulate_seed(n_nodes, 2, seed, [&] {
      result = run([&] {
        ProgramTaskOptions options;
        options.retry = {.n_tries = 3, .pause = 0, .elsewhere = true};
        options.captures_stdout = true;
        const std::string mark = folder / ("tried" + std::to_string(seed));
        const auto third = async_program(options)(
            "sh", "-c", "n=$(cat $0 | wc -l); echo >> $0; [ $n = 2 ] && echo well", mark);
        EXPECT_EQ(third.text.get(), "well\n");
        const std::string why = failure_of(async_program(options)("sh", "-c", "exit 7").done);
        EXPECT_TRUE(contains(why, "failed 3 times:")) << why;
        std::uint32_t n_named = 0;
        for (std::uint32_t node = 0; node < n_nodes; ++node)
          n_named += contains(why, "on node " + std::to_string(node)) ? 1 : 0;
        EXPECT_EQ(n_named, n_nodes > 1 ? std::min(n_nodes, 3U) : 0) << why;
        // What this node cannot start, another one may.
        const std::string missing = failure_of(async_program(options)("no-such-program").done);
        EXPECT_EQ(contains(missing, "failed 3 times:"), n_nodes > 1) << missing;
        // It has to run where it does.
        options.core = 0;
        EXPECT_FALSE(contains(failure_of(async_program(options)("false").done), "on node"));
      });
    });
    EXPECT_EQ(result.n_failures, 3U) << result.text();
    EXPECT_EQ(result.counters.n_run, 4U);
    EXPECT_EQ(result.n_data_held, 0U);
  }
}

// A loop makes them faster than they can begin: it waits for them, with the tasks that a core has.
TEST(ProgramTask, of_a_loop_are_made_as_they_are_run) {
  static std::atomic<int> n_made;
  static std::atomic<int> n_ended;
  static std::atomic<int> n_most;
  constexpr int kPrograms = 6000;
  const FlowResult result = run_flow_here(1, [] {
    program_detail::CorePrograms::here().set_kept_most(16);
    async_for(0, kPrograms,
              [](std::int64_t /*i*/) {
                const StartedProgram started = async_program({})("true");
                async([] { ++n_ended; })(started.done);
                n_most = std::max(n_most.load(), ++n_made - n_ended.load());
              },
              {.grain = 8})();
  });
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(n_ended, kPrograms);
  EXPECT_LT(n_most, 450);
}

// What is on its way already has the threads; all that is in line waits for the urgent one.
TEST(ProgramTask, of_a_larger_priority_begins_before_those_in_line) {
  const TempFolder folder;
  constexpr int kPrograms = 120;
  const FlowResult result = run_flow_here(1, [&folder] {
    const auto note = [&folder](int i, std::int32_t priority) {
      return async_program({.priority = priority, .folder = folder.path()})(
          "sh", "-c", "sleep 0.01; echo $0 >> begun", i);
    };
    for (int i = 0; i < kPrograms; ++i)
      note(i, 0);
    // It becomes ready when all others are in line.
    const StartedProgram first = async_program({.priority = 1})("sleep", "0.1");
    async([note] { note(-1, 1); })(first.done);
  });
  EXPECT_EQ(result.text(), "");
  const std::string begun = "\n" + content_of(folder / "begun");
  EXPECT_EQ(std::ranges::count(begun, '\n'), kPrograms + 2);
  const std::string before = begun.substr(0, begun.find("\n-1\n"));
  EXPECT_LT(std::ranges::count(before, '\n'), kPrograms * 2 / 3) << begun;
}

}  // namespace
}  // namespace rubato::flow

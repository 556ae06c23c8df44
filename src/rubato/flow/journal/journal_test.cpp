// What a run has done is not done again, unless what it stands on has changed.

#include "rubato/flow/journal/journal.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "rubato/base/random.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/flow/journal/journal_files.hpp"
#include "rubato/flow/program/detail/testing.hpp"
#include "rubato/flow/program/program_task.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::content_of;
using program_testing::TempFolder;
using program_testing::write_to;

TaskIdentity task(const std::string& name, const std::string& input, const std::string& output) {
  TaskIdentity task(name, "");
  task.add(name);
  task.add_input(input);
  task.add_output(output);
  return task;
}

std::atomic<int> n_calls = 0;
std::atomic<bool> is_broken = false;
std::atomic<bool> simulates = false;  // then leaves run in tasks
std::atomic<Nanos> first_call = 0;
std::atomic<Nanos> last_call = 0;
std::int64_t squared(std::int64_t n) {
  if (simulates) {
    last_call = CoreContext::here().clock();
    if (n_calls == 0) first_call = last_call.load();
  }
  ++n_calls;
  if (n == 3 && is_broken) throw Error("fails in this run");
  return n * n;
}
// By all cores of a team.
std::int64_t ranks_and(const global::Team& team, std::int64_t n) {
  ++n_calls;
  const auto sum = team.allreduce(std::int64_t{team.rank()}, std::plus<>{});
  if (n == 3 && is_broken && team.rank() == 1) throw Error("fails in this run");
  return sum + 100 * n;
}
[[maybe_unused]] const bool kLeaves =
    register_leaf("squared", &squared) && register_leaf("ranks_and", &ranks_and);

class Journals : public testing::Test {
 protected:
  void SetUp() override { simulates = false; }
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  [[nodiscard]] JournalOptions options(bool resume) const {
    const JournalOptions options{path("journal"), resume};
    return Journal::numbered(options);
  }
  TempFolder folder_;
};

TEST_F(Journals, find_what_was_done) {
  write_to(path("in"), "1");
  write_to(path("out"), "2");
  const auto one = [&] { return task("one", path("in"), path("out")); };
  {
    Journal first(options(false), 0);
    EXPECT_FALSE(first.find(one()));
    first.add(one(), {Value::integer(7), Value::text(Kind::blob, std::string("\0x", 2))});
    EXPECT_EQ(first.counts().n_new, 1U);
  }
  {
    Journal second(options(true), 3);
    const auto done = second.find(one());
    ASSERT_TRUE(done);
    EXPECT_EQ(done->at(0).as_integer(), 7);
    EXPECT_EQ(done->at(1).as_text(), std::string("\0x", 2));
    EXPECT_FALSE(second.find(task("two", path("in"), path("other"))));
    EXPECT_FALSE(second.find(task("two", path("in"), path("out"))));
    EXPECT_EQ(second.counts().n_done, 1U);
    EXPECT_EQ(second.counts().n_new, 1U);
    ASSERT_EQ(second.counts().n_again, 1U);
    EXPECT_EQ(second.counts().why[0], "two: its command or what it is given has changed");
  }
  write_to(path("in"), "other");
  {
    Journal third(options(true), 0);
    EXPECT_FALSE(third.find(one()));
    EXPECT_EQ(third.counts().why.at(0), "one: its input " + path("in") + " has changed");
    third.add(one(), {});
  }
  std::filesystem::remove(path("out"));
  Journal fourth(options(true), 0);
  EXPECT_FALSE(fourth.find(one()));
  EXPECT_EQ(fourth.counts().why.at(0), "one: its output " + path("out") + " is gone");
}

TEST_F(Journals, leave_out_what_is_torn) {
  write_to(path("in"), "1");
  const auto number = [&](int i) {
    const std::string out = path("out" + std::to_string(i));
    write_to(out, "x");
    return task("task" + std::to_string(i), path("in"), out);
  };
  std::vector<TaskIdentity> tasks;
  for (int i = 0; i < 5; ++i)
    tasks.push_back(number(i));
  const JournalOptions first = options(false);
  const std::string file = path("journal/run-0001-node-0000.journal");
  std::vector<std::uintmax_t> ends;
  {
    Journal journal(first, 0);
    for (const TaskIdentity& each : tasks) {
      journal.add(each, {});
      ends.push_back(std::filesystem::file_size(file));
    }
  }
  const std::string whole = content_of(file);
  for (std::size_t n = 0; n <= whole.size(); n += 7) {
    std::ofstream(file, std::ios::binary) << whole.substr(0, n);
    Journal journal(options(true), 0);
    std::size_t n_whole = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const bool is_whole = ends[i] <= n;
      n_whole += is_whole ? 1U : 0U;
      EXPECT_EQ(journal.find(tasks[i]).has_value(), is_whole) << n << " bytes, task " << i;
    }
    EXPECT_EQ(journal.counts().n_done, n_whole);
    std::filesystem::remove(path("journal/run-0002-node-0000.journal"));
  }
  // One that is wrong in the middle ends it, too.
  std::string wrong = whole;
  wrong[ends[2] + 20] ^= 1;
  std::ofstream(file, std::ios::binary) << wrong;
  Journal journal(options(true), 0);
  EXPECT_TRUE(journal.find(tasks[2]));
  EXPECT_FALSE(journal.find(tasks[3]));
}

// Runs of several nodes, each of which does some tasks again: of each task the last entry counts.
TEST_F(Journals, of_many_nodes_become_one_file) {
  write_to(path("in"), "1");
  const auto number = [&](int i) {
    const std::string out = path("out" + std::to_string(i));
    if (!std::filesystem::exists(out)) write_to(out, "x");
    return task("task" + std::to_string(i), path("in"), out);
  };
  constexpr int kTasks = 12;
  for (std::uint32_t run = 1; run <= 4; ++run) {
    const JournalOptions how = options(run > 1);
    ASSERT_EQ(how.run, run);
    for (std::uint32_t node = 0; node < 3; ++node) {
      Journal journal(how, node);
      for (int i = 0; i < kTasks; ++i) {
        const std::int64_t before = run - 1;
        const auto found = journal.find(number(i));
        ASSERT_EQ(found.has_value(), run > 1) << "run " << run << ", task " << i;
        const std::int64_t value = found ? found->at(0).as_integer() : 0;
        EXPECT_EQ(value, run > 1 ? before * 100 + i : 0);
        if (i % 3 == static_cast<int>(node))
          journal.add(number(i), {Value::integer(std::int64_t{run} * 100 + i)});
      }
    }
    // Files of nodes stay; of those that are made of many, the last.
    for (std::uint32_t other = 1; other <= 4; ++other) {
      const std::string merged = path("journal/run-000" + std::to_string(other) + "-all.journal");
      EXPECT_EQ(std::filesystem::exists(merged), other == run && run > 1)
          << other << " in run " << run;
    }
  }
}

TEST_F(Journals, are_read_one_by_one_where_no_file_can_be_made_of_them) {
  write_to(path("in"), "1");
  write_to(path("out"), "x");
  const TaskIdentity one = task("one", path("in"), path("out"));
  const JournalOptions first = options(false);
  Journal(first, 0).add(one, {});
  { const Journal other(first, 1); }
  // In the way.
  std::filesystem::create_directories(path("journal/run-0002-all.journal/in the way"));
  Journal again(options(true), 0);
  EXPECT_TRUE(again.find(one));
  for (const auto& entry : std::filesystem::directory_iterator(path("journal")))
    EXPECT_FALSE(entry.path().string().ends_with(".new")) << entry.path();
}

// A second run begins while the first one goes on, and a third one needs what both have done.
TEST_F(Journals, have_what_a_run_writes_after_another_one_has_read_it) {
  write_to(path("in"), "1");
  write_to(path("out"), "x");
  const auto number = [&](int i) {
    return task("task" + std::to_string(i), path("in"), path("out"));
  };
  const JournalOptions first = options(false);
  Journal one(first, 0);
  Journal(first, 1).add(number(0), {});
  one.add(number(1), {});
  Journal two(options(true), 0);
  EXPECT_TRUE(two.find(number(1)));
  two.add(number(2), {});
  one.add(number(3), {});
  {
    Journal three(options(true), 0);
    one.add(number(4), {});
    for (int i = 0; i <= 3; ++i)
      EXPECT_TRUE(three.find(number(i))) << i;
  }
  // The file that the second run has read is gone, and it still has what was there.
  EXPECT_FALSE(std::filesystem::exists(path("journal/run-0002-all.journal")));
  EXPECT_TRUE(two.find(number(0)));
  Journal four(options(true), 0);
  for (int i = 0; i <= 4; ++i)
    EXPECT_TRUE(four.find(number(i))) << i;
}

TEST_F(Journals, lose_nothing_where_two_runs_make_one_file_of_many_at_once) {
  write_to(path("in"), "1");
  write_to(path("out"), "x");
  const auto number = [&](int i) {
    return task("task" + std::to_string(i), path("in"), path("out"));
  };
  constexpr int kTasks = 100;
  const JournalOptions first = options(false);
  {
    Journal a(first, 0);
    Journal b(first, 1);
    for (int i = 0; i < kTasks; ++i)
      (i % 2 == 0 ? a : b).add(number(i), {});
  }
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (std::uint32_t run = 2; run < 4; ++run)
      threads.emplace_back([&, run] { journal_files::merge(first.folder, run); });
    for (std::thread& thread : threads)
      thread.join();
    for (std::uint32_t run = 2; run < 4; ++run) {
      JournalOptions how = first;
      how.resume = true;
      how.run = run;
      Journal journal(how, static_cast<std::uint32_t>(round));
      for (int i = 0; i < kTasks; ++i)
        ASSERT_TRUE(journal.find(number(i))) << i;
    }
  }
}

TEST_F(Journals, say_what_is_wrong_with_a_folder) {
  const auto message = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_TRUE(contains(message([&] { static_cast<void>(options(true)); }), "found no folder"));
  { const Journal first(options(false), 0); }
  EXPECT_TRUE(contains(message([&] { static_cast<void>(options(false)); }), "found a run in"));
  write_to(path("journal/run-0001-node-0000.journal"), "something else entirely");
  EXPECT_TRUE(contains(message([&] { const Journal second(options(true), 0); }),
                       "run-0001-node-0000.journal: expected a journal"));
  std::filesystem::create_directory(path("empty"));
  EXPECT_TRUE(contains(message([&] {
                         static_cast<void>(Journal::next_run({path("empty"), true}));
                       }),
                       "found no run"));
  write_to(path("file"), "");
  EXPECT_TRUE(contains(message([&] {
                         static_cast<void>(Journal::next_run({path("file/sub"), false}));
                       }),
                       "journal: "));
}

TEST_F(Journals, go_on_when_the_disk_is_full) {
  write_to(path("in"), "1");
  std::vector<TaskIdentity> tasks;
  for (int i = 0; i < 40; ++i) {
    const std::string out = path("out" + std::to_string(i));
    write_to(out, "x");
    tasks.push_back(task("task" + std::to_string(i), path("in"), out));
  }
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto old = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  JournalCounts counts;
  {
    Journal journal(options(false), 0);
    for (const TaskIdentity& each : tasks)
      journal.add(each, {});
    counts = journal.counts();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old);
  EXPECT_TRUE(contains(counts.problem, "cannot write")) << counts.problem;
  Journal journal(options(true), 0);
  std::size_t n_done = 0;
  while (n_done < tasks.size() && journal.find(tasks[n_done]))
    ++n_done;
  EXPECT_GT(n_done, 2U);
  EXPECT_LT(n_done, tasks.size());
}

// --- scripts and flows

// Each program leaves a line in a log.
const char* const kScript = R"(
leaf squared(integer n) to (integer m)
app put(integer n) to (file f) { "sh" "-c" ("echo put >> FOLDER/log; echo " ++ n) stdout=f }
app glue(container<integer, file> all) to (file f) {
  "sh" "-c" "echo glue >> FOLDER/log; out=$1; shift; cat $@ > $out" "glue" f all
}
app count(file f) to (string s) { "sh" "-c" "echo count >> FOLDER/log; wc -l" stdin=f stdout=s }
container<integer, file> parts
for i in [1:5] {
  integer m
  when {} then {m} from {squared i}
  file part
  when {m} then {part} from {put m}
  insert parts[i] = part
}
file whole "FOLDER/whole"
when {parts} then {whole} from {glue parts}
string n
when {whole} then {n} from {count whole}
print("lines", trim(n))
)";

struct Ran {
  std::string out;
  FlowResult result;
  int n_leaves = 0;      // calls of C++
  std::string programs;  // that ran
};

class JournalScripts : public Journals {
 protected:
  Ran run(std::uint64_t seed, bool resume) {
    std::string text = kScript;
    for (std::size_t at = text.find("FOLDER"); at != std::string::npos; at = text.find("FOLDER"))
      text.replace(at, 6, folder_.path());
    Ran ran;
    n_calls = 0;
    write_to(path("log"), "");
    RunOptions how;
    how.journal = {path("journal"), resume};
    const auto main = [&] { ran.result = run_script(text, "test.tic", {}, how); };
    testing::internal::CaptureStdout();
    const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 4);
    try {
      if (seed == 0) {
        global::run_here(2, main);
      } else {
        global::simulate_seed(n_nodes, 1 + static_cast<std::uint32_t>(seed % 2), seed, main);
      }
    } catch (...) {
      static_cast<void>(testing::internal::GetCapturedStdout());
      throw;
    }
    ran.out = testing::internal::GetCapturedStdout();
    ran.n_leaves = n_calls;
    std::vector<std::string> lines;
    std::istringstream log(content_of(path("log")));
    for (std::string line; std::getline(log, line);)
      lines.push_back(line);
    std::ranges::sort(lines);
    for (const std::string& line : lines)
      ran.programs += line + " ";
    return ran;
  }
};

TEST_F(Journals, have_what_teams_have_done) {
  const char* const script = R"(
    leaf ranks_and(integer n) to (integer sum)
    container<integer, integer> c
    for n in [1 : 6] {
      integer sum
      when {} then {sum} from {ranks_and n} parallel (n + 1) / 2
      insert c[n] = sum
    }
    foreach x, i in c { print(i, x) }
  )";
  for (std::uint64_t seed = 1; seed < 12; ++seed) {
    std::filesystem::remove_all(path("journal"));
    const auto n_nodes = static_cast<std::uint32_t>(2 + seed % 3);
    const auto calls_of = [&](bool resume) {
      n_calls = 0;
      FlowResult result;
      RunOptions how;
      how.journal = {path("journal"), resume};
      testing::internal::CaptureStdout();
      global::simulate_seed(n_nodes, 2, seed,
                            [&] { result = run_script(script, "test.tic", {}, how); });
      static_cast<void>(testing::internal::GetCapturedStdout());
      EXPECT_EQ(result.n_failures, is_broken ? 1U : 0U) << result.text();
      return n_calls.load();
    };
    is_broken = true;
    EXPECT_EQ(calls_of(false), 1 + 1 + 2 + 2 + 3 + 3) << "seed " << seed;
    is_broken = false;
    EXPECT_EQ(calls_of(true), 2) << "seed " << seed;  // that of the team that failed
    EXPECT_EQ(calls_of(true), 0) << "seed " << seed;
  }
}

TEST_F(JournalScripts, do_not_run_again_what_is_done) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    std::filesystem::remove_all(path("journal"));
    is_broken = true;
    const Ran broken = run(seed, false);
    EXPECT_EQ(broken.result.n_failures, 1U) << broken.result.text();
    EXPECT_EQ(broken.out, "");
    EXPECT_EQ(broken.programs, "put put put put ") << seed;
    is_broken = false;
    // Another number of nodes.
    const Ran mended = run(seed + 1, true);
    ASSERT_EQ(mended.result.text(), "") << "seed " << seed;
    EXPECT_EQ(mended.out, "lines 5\n");
    EXPECT_EQ(content_of(path("whole")), "1\n4\n9\n16\n25\n");
    EXPECT_EQ(mended.n_leaves, 1) << "seed " << seed;
    EXPECT_EQ(mended.programs, "count glue put ") << "seed " << seed;
    EXPECT_EQ(mended.result.journal.n_done, 8U);
    EXPECT_EQ(mended.result.journal.n_new, 4U);
    const Ran nothing = run(seed + 2, true);
    ASSERT_EQ(nothing.result.text(), "") << "seed " << seed;
    EXPECT_EQ(nothing.out, "lines 5\n");
    EXPECT_EQ(nothing.n_leaves, 0);
    EXPECT_EQ(nothing.programs, "") << "seed " << seed;
    write_to(path("whole"), "somebody else wrote this\n");
    const Ran changed = run(seed, true);
    EXPECT_EQ(changed.programs, "count glue ") << "seed " << seed;
    EXPECT_EQ(changed.out, "lines 5\n");
    ASSERT_EQ(changed.result.journal.n_again, 2U);
    std::string why = changed.result.journal.why[0] + changed.result.journal.why[1];
    EXPECT_TRUE(contains(why, "its output " + path("whole") + " has changed since")) << why;
    EXPECT_TRUE(contains(why, "its input " + path("whole") + " has changed")) << why;
  }
}

TEST_F(Journals, of_a_run_that_cannot_begin_are_not_those_of_the_next) {
  // The file of node 1 cannot be made.
  std::filesystem::create_directories(path("journal/run-0001-node-0001.journal/in the way"));
  FlowResult result;
  global::simulate_seed(2, 2, 1, [&] {
    RunOptions how;
    how.journal = {path("journal"), false, 1};
    how.workers = Workers::parse({"gpu=1"});
    EXPECT_THROW(static_cast<void>(flow::run([] {}, how)), Error);
    EXPECT_FALSE(std::filesystem::exists(path("journal/run-0001-node-0000.journal")));
    result = flow::run([] {
      EXPECT_EQ(Flow::here().journal(), nullptr);
      EXPECT_THROW(static_cast<void>(work_type("gpu")), Error);
      static_cast<void>(async_program({.captures_stdout = true})("echo", "x").text.get());
    });
  });
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(result.journal.n_new, 0U);
}

const char* const kSquares = R"(
    leaf squared(integer n) to (integer m)
    container<integer, integer> first second
    for i in [1:12] {
      integer a
      when {} then {a} from {squared i}
      insert first[i] = a
      integer b
      when {a} then {b} from {squared (a + 100)}
      insert second[i] = b
    }
    integer last
    when {first second} then {last} from {squared (size(first) + size(second))}
    print(first[12], second[12], last)
  )";

// Whenever a node is lost, the next run has the same values and calls each leaf that is not written
// down, and only those.
TEST_F(Journals, lose_nothing_with_a_node) {
  constexpr int kCalls = 25;
  is_broken = false;
  const std::uint64_t n = n_seeds(150);
  std::uint64_t n_lost = 0;
  std::uint64_t n_resumed_some = 0;
  for (std::uint64_t seed = 0; seed < n; ++seed) {
    std::filesystem::remove_all(path("journal"));
    const auto n_nodes = static_cast<std::uint32_t>(2 + seed % 3);
    const auto go = [&](bool resume, std::vector<std::pair<core::NodeId, Nanos>> kills) {
      FlowResult result;
      n_calls = 0;
      RunOptions how;
      how.journal = {path("journal"), resume};
      simulates = true;
      global::simulate([&] { result = run_script(kSquares, "t.tic", {}, how); },
                       {.n_nodes = n_nodes,
                        .n_cores = 1 + static_cast<std::uint32_t>(seed % 2),
                        .seed = seed,
                        .shuffle = true,
                        .extra_delay_max = 5'000,
                        .kills = std::move(kills),
                        .program = {{}, global::kTestBytesACore}});
      EXPECT_EQ(result.text(), "");
    };
    testing::internal::CaptureStdout();
    bool was_lost = false;
    try {
      go(false, {});
      std::filesystem::remove_all(path("journal"));
      // While leaves run.
      const Nanos begin = first_call;
      const Nanos when = begin + static_cast<Nanos>(hash_words(seed, std::uint64_t{7}) %
                                                    static_cast<std::uint64_t>(last_call - begin));
      go(false, {{static_cast<core::NodeId>(seed / 3 % n_nodes), when}});
    } catch (const Error& error) {
      was_lost = error.code() == ExitCode::node_lost;
      EXPECT_TRUE(was_lost) << error.what();
    }
    static_cast<void>(testing::internal::GetCapturedStdout());
    if (!was_lost || !std::filesystem::exists(path("journal"))) continue;
    ++n_lost;
    const int n_before = n_calls;
    testing::internal::CaptureStdout();
    try {
      go(true, {});
    } catch (const Error& error) {
      // The first node was lost before any had begun.
      EXPECT_TRUE(contains(error.what(), "found no run in")) << error.what();
      n_calls = kCalls - n_before;
    }
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_EQ(out, out.empty() ? "" : "144 59536 576\n") << "seed " << seed;
    EXPECT_EQ(n_calls, kCalls - n_before) << "seed " << seed;
    n_resumed_some += n_before > 0 && n_before < kCalls ? 1 : 0;
  }
  EXPECT_GT(n_lost, n * 2 / 3);
  EXPECT_GT(n_resumed_some, n * 2 / 3);
}

TEST_F(Journals, are_of_programs_of_flows_in_cpp_too) {
  const auto go = [&](bool resume) {
    FlowResult result;
    RunOptions how;
    how.journal = {path("journal"), resume};
    global::run_here(2, [&] {
      result = run(
          [&] {
            const auto made = async_program({.folder = folder_.path()})(
                "sh", "-c", "echo ran >> log; cat > $0", output("made"),
                stdin_from(FileName{path("in")}));
            EXPECT_EQ(made.file("made").get().path, path("made"));
            const auto said = async_program({.captures_stdout = true})("cat", made.file("made"));
            EXPECT_EQ(said.text.get(), "text\n");
          },
          how);
    });
    EXPECT_EQ(result.text(), "");
    return result.journal;
  };
  write_to(path("in"), "text\n");
  EXPECT_EQ(go(false).n_new, 2U);
  EXPECT_EQ(go(true).n_done, 2U);
  EXPECT_EQ(content_of(path("log")), "ran\n");
  EXPECT_THROW(static_cast<void>(go(false)), Error);
}

}  // namespace
}  // namespace rubato::flow

// Equal tasks are as many tasks in the journal as they are in the script.

#include "rubato/flow/journal/equal_tasks.hpp"

#include <atomic>
#include <filesystem>
#include <set>
#include <sstream>

#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::content_of;
using program_testing::TempFolder;
using program_testing::write_to;

std::atomic<std::int64_t> n_tickets = 0;
std::atomic<std::int64_t> n_tickets_most = 0;
std::int64_t ticket() {
  const std::int64_t mine = ++n_tickets;
  if (mine > n_tickets_most) throw Error("there are no more");
  return mine;
}
std::int64_t ticket_of_team(const global::Team& team) {
  const std::int64_t mine = team.broadcast(team.rank() == 0 ? ++n_tickets : 0);
  if (mine > n_tickets_most) throw Error("there are no more");
  return mine;
}
[[maybe_unused]] const bool kLeaves =
    register_leaf("ticket", &ticket) && register_leaf("ticket_of_team", &ticket_of_team);

struct Ran {
  std::multiset<std::string> words;  // that were printed
  FlowResult result;
};

class EqualTasks : public testing::Test {
 protected:
  Ran run(const std::string& script, std::uint64_t seed, bool resume) {
    Ran ran;
    RunOptions how;
    how.journal = {folder_.path() + "/journal", resume};
    const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 4);
    testing::internal::CaptureStdout();
    const auto main = [&] { ran.result = run_script(script, "test.tic", {}, how); };
    global::simulate_seed(n_nodes, 1 + static_cast<std::uint32_t>(seed % 2), seed, main);
    std::istringstream out(testing::internal::GetCapturedStdout());
    for (std::string word; out >> word;)
      ran.words.insert(word);
    return ran;
  }
  void begin_again() const {
    for (const char* name : {"/journal", "/1", "/2", "/3", "/4", "/5", "/6"})
      std::filesystem::remove_all(folder_.path() + name);
    n_tickets = 0;
  }
  TempFolder folder_;
};

const std::multiset<std::string> kFive = {"1", "2", "3", "4", "5"};

// Three of five in one run, another one in the next, and then the last; on other numbers of nodes.
TEST_F(EqualTasks, are_as_many_calls_of_a_leaf) {
  for (const std::string leaf : {"ticket", "ticket_of_team"}) {
    const std::string script = "leaf " + leaf + R"(() to (integer n)
      for i in [1 : 5] {
        integer n
        when {} then {n} from {)" +
                               leaf + (leaf == "ticket" ? "}" : "} parallel 2") + R"(
        print(n)
      })";
    for (std::uint64_t seed = 1; seed < 1 + 2 * n_seeds(10); seed += 2) {
      begin_again();
      const auto go = [&](std::uint64_t run_seed, int n_most, bool resume) {
        n_tickets = n_tickets_most.load();
        n_tickets_most = n_most;
        return run(script, run_seed, resume);
      };
      n_tickets_most = 0;
      const Ran first = go(seed, 3, false);
      EXPECT_EQ(first.words, (std::multiset<std::string>{"1", "2", "3"})) << "seed " << seed;
      EXPECT_EQ(first.result.n_failures, 2U);
      const Ran second = go(seed + 4, 4, true);
      EXPECT_EQ(second.words, (std::multiset<std::string>{"1", "2", "3", "4"})) << "seed " << seed;
      EXPECT_EQ(second.result.journal.n_done, 3U);
      EXPECT_EQ(second.result.n_failures, 1U);
      const Ran third = go(seed + 2, 5, true);
      EXPECT_EQ(third.words, kFive) << "seed " << seed;
      EXPECT_EQ(third.result.journal.n_done, 4U);
      EXPECT_EQ(third.result.journal.n_new, 1U);
      const Ran fourth = go(seed + 8, 5, true);
      EXPECT_EQ(fourth.words, kFive) << "seed " << seed;
      EXPECT_EQ(fourth.result.journal.n_done, 5U);
      EXPECT_EQ(fourth.result.text(), "");
    }
  }
}

// Each takes the next number, of which there are so many. What they say is text, or a file.
TEST_F(EqualTasks, are_as_many_runs_of_a_program) {
  for (const std::string type : {"string", "file"}) {
    const std::string shown = type == "string" ? "trim(n)" : "trim(read(n))";
    const std::string script = R"(
      app ticket() to ()" + type +
                               R"( n) {
        "sh" "-c" ("cd ')" + folder_.path() +
                               R"('; i=1; while ! mkdir $i 2> /dev/null; do" ++
                   " i=$((i + 1)); done; test $i -le $(cat most) && echo $i") stdout=n
      }
      for i in [1 : 5] {
        )" + type + R"( n
        when {} then {n} from {ticket}
        print()" + shown + R"()
      })";
    for (std::uint64_t seed = 1; seed <= n_seeds(5); ++seed) {
      begin_again();
      write_to(folder_.path() + "/most", "3\n");
      const Ran first = run(script, seed, false);
      EXPECT_EQ(first.words, (std::multiset<std::string>{"1", "2", "3"})) << "seed " << seed;
      for (const char* name : {"/4", "/5"})
        std::filesystem::remove(folder_.path() + name);
      write_to(folder_.path() + "/most", "5\n");
      const Ran second = run(script, seed + 1, true);
      EXPECT_EQ(second.words, kFive) << "seed " << seed << ": " << second.result.text();
      EXPECT_EQ(second.result.journal.n_done, 3U);
      EXPECT_EQ(second.result.journal.n_new, 2U);
      for (std::uint64_t more = 0; more < 3; ++more) {
        const Ran other = run(script, seed + more, true);
        EXPECT_EQ(other.words, kFive) << "seed " << seed;
        EXPECT_EQ(other.result.journal.n_done, 5U);
      }
    }
  }
}

// Its number goes with it to other nodes.
TEST_F(EqualTasks, keep_their_numbers_when_they_are_tried_elsewhere) {
  const std::string script = R"(
    app ticket() to (string n) retries 5 elsewhere {
      "sh" "-c" ("cd ')" + folder_.path() +
                             R"('; i=1; while ! mkdir $i 2> /dev/null; do" ++
                 " i=$((i + 1)); done; test $i -gt 3 && echo $i") stdout=n
    }
    for i in [1 : 3] {
      string n
      when {} then {n} from {ticket}
      print(trim(n))
    })";
  for (std::uint64_t seed = 1; seed < 1 + 2 * n_seeds(4); seed += 2) {
    begin_again();
    const std::multiset<std::string> expected = {"4", "5", "6"};
    const Ran first = run(script, seed, false);
    EXPECT_EQ(first.words, expected) << "seed " << seed << ": " << first.result.text();
    const Ran second = run(script, seed + 1, true);
    EXPECT_EQ(second.words, expected) << "seed " << seed;
    EXPECT_EQ(second.result.journal.n_done, 3U) << "seed " << seed;
  }
}

// Journals of before equal tasks had numbers: of all equal ones there is one entry.
TEST_F(EqualTasks, have_the_entry_of_the_first_that_has_no_number) {
  TaskIdentity first("x", "");
  first.add("x");
  TaskIdentity second = first;
  second.set_number(1);
  EXPECT_NE(first.key(), second.key());
  second.set_number(0);
  EXPECT_EQ(first.key(), second.key());
  EXPECT_TRUE(first.may_have_equals());
  first.add_output("/folder/a name of its own");
  EXPECT_FALSE(first.may_have_equals());
  TaskIdentity other("x", "/folder");
  other.add_output("/folder/temporary");
  EXPECT_TRUE(other.may_have_equals());
}

TEST_F(EqualTasks, of_a_program_of_another_build_are_done_again) {
  const JournalOptions first = Journal::numbered({folder_.path() + "/journal", false});
  const auto task_of = [](const FileState& code, const std::string& called) {
    TaskIdentity task("leaf", "");
    task.add("leaf");
    if (!called.empty()) task.set_code(code, called);
    return task;
  };
  {
    Journal journal(first, 0);
    EXPECT_NE(journal.program().n_bytes, 0U);
    journal.add(task_of(journal.program(), "program"), {});
    EXPECT_FALSE(journal.find(task_of({}, "")));
  }
  const auto again = [&] { return Journal::numbered({folder_.path() + "/journal", true}); };
  Journal second(again(), 0);
  EXPECT_TRUE(second.find(task_of(second.program(), "program")));
  FileState other = second.program();
  ++other.n_bytes;
  EXPECT_FALSE(second.find(task_of(other, "program")));
  EXPECT_EQ(second.counts().why.at(0), "leaf: its program has changed");
  second.add(task_of({}, ""), {});
  Journal third(again(), 0);
  EXPECT_FALSE(third.find(task_of(other, "program")));
  EXPECT_EQ(third.counts().why.at(0),
            "leaf: an older Rubato did not write down which build its program was");
}

}  // namespace
}  // namespace rubato::flow

// Files that leaves write appear whole, as those of programs; and what the journal says of leaves.

#include "rubato/flow/interpret/leaf_runs.hpp"

#include <atomic>
#include <filesystem>

#include "rubato/flow/in_time.hpp"
#include "rubato/flow/interpret/run_script_test.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::content_of;
using program_testing::TempFolder;
using program_testing::write_to;

std::atomic<int> n_calls = 0;

const std::string& file_of(const LeafCall& call, std::size_t i) {
  return call.outputs.at(i).as_text();
}
// Writes as it says, and throws unless it was called often enough.
void write_half(LeafCall& call) {
  write_to(file_of(call, 0), "half");
  if (++n_calls < call.inputs.at(0).as_integer()) throw Error("no more ink");
  write_to(file_of(call, 0), "whole");
}
void write_first(LeafCall& call) {
  write_to(file_of(call, 0), "first");
}
void write_told(LeafCall& call) {
  write_to(call.inputs.at(0).as_text(), "told");
}
FileName write_and_name(std::string path) {
  write_to(path, "named");
  return {path};
}
void write_late(LeafCall& call) {
  write_to(file_of(call, 0), "late");
  while (!time_is_up()) {
  }
}
// The first of the team fails if it is told so.
void write_by_team(LeafCall& call, const global::Team& team) {
  if (team.rank() == team.size() - 1) write_to(file_of(call, 0), std::to_string(team.size()));
  team.barrier();
  if (call.inputs.at(0).as_integer() == 1 && team.rank() == 0) throw Error("no more ink");
}
std::int64_t count_to(std::int64_t n) {
  if (++n_calls < n) throw Error("not yet");
  return n;
}
// Of the file that a rule waits for, it gets the name.
std::int64_t length_of(std::string path) {
  ++n_calls;
  return static_cast<std::int64_t>(content_of(path).size());
}
std::int64_t throw_number(std::int64_t n) {
  if (n % 2 == 0) throw static_cast<int>(n);  // NOLINT(hicpp-exception-baseclass)
  return n;
}
[[maybe_unused]] const bool kLeaves =
    register_leaf("length_of", &length_of) && register_leaf("throw_number", &throw_number) &&
    register_leaf("write_half", {&write_half}) && register_leaf("write_first", {&write_first}) &&
    register_leaf("write_told", {&write_told}) && register_leaf("write_late", {&write_late}) &&
    register_leaf("write_and_name", &write_and_name) && register_leaf("count_to", &count_to) &&
    register_leaf("write_by_team", LeafFunction{{}, &write_by_team});

constexpr const char* kCallables = R"(
leaf write_half(integer n) to (file f)
leaf write_first(integer n) to (file f, file g)
leaf write_told(string name) to (file f)
leaf write_and_name(string name) to (file f)
leaf write_late(integer n) to (file f) timeout 0.02
leaf write_by_team(integer n) to (file f) parallel 2
leaf count_to(integer n) to (integer m)
leaf length_of(string name) to (integer n)
leaf throw_number(integer n) to (integer m)
)";

class LeafRuns : public testing::Test {
 protected:
  void SetUp() override { n_calls = 0; }
  // With FOLDER as the folder.
  [[nodiscard]] std::string script(std::string text) const {
    for (std::size_t at = text.find("FOLDER"); at != std::string::npos; at = text.find("FOLDER"))
      text.replace(at, 6, folder_.path());
    return kCallables + text;
  }
  [[nodiscard]] std::vector<std::string> names() const { return folder_.names(); }

  TempFolder folder_;
};

using Names = std::vector<std::string>;

TEST_F(LeafRuns, a_leaf_that_fails_leaves_the_old_file) {
  folder_.file("old", "old");
  const Ran ran = run_text(1, script(R"(
file old "FOLDER/old" none "FOLDER/none"
when { } then {old} from {write_half 9}
when { } then {none} from {write_half 9}
)"));
  EXPECT_EQ(ran.result.n_failures, 2U) << ran.result.text();
  EXPECT_EQ(names(), Names{"old"});
  EXPECT_EQ(content_of(folder_ / "old"), "old");
}

TEST_F(LeafRuns, files_appear_when_a_try_has_ended_well_in_folders_that_are_made) {
  const Ran ran = run_text(1, script(R"(
file f "FOLDER/some/where/f.txt"
when { } then {f} from {write_half 3} retries 2
print(filename(f) == "FOLDER/some/where/f.txt", read(f))
)"));
  EXPECT_EQ(ran.out, "true whole\n") << ran.result.text();
  Names all;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "some/where"))
    all.push_back(entry.path().filename().string());
  EXPECT_EQ(all, Names{"f.txt"});
}

TEST_F(LeafRuns, all_files_of_a_leaf_appear_or_none) {
  const Ran ran = run_text(1, script(R"(
file f "FOLDER/f" g "FOLDER/g"
when { } then {f g} from {write_first 1}
)"));
  EXPECT_EQ(names(), Names{});
  ASSERT_EQ(ran.result.n_failures, 1U);
  EXPECT_TRUE(contains(ran.result.text(),
                       "output " + folder_ / "g" + ": expected that the leaf writes it as "))
      << ran.result.text();
}

TEST_F(LeafRuns, what_a_leaf_writes_itself_is_taken_as_it_is) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Ran ran = run_text(seed, script(R"(
file f "FOLDER/f" g "FOLDER/g" h
when { } then {f} from {write_told filename(f)}
when { } then {g} from {write_and_name filename(g)}
when { } then {h} from {write_and_name "FOLDER/own"}
print(read(f), read(g), read(h), filename(f) == "FOLDER/f")
)"));
    ASSERT_EQ(ran.result.text(), "");
    ASSERT_EQ(ran.out, "told named named true\n");
    ASSERT_EQ(names(), (Names{"f", "g", "own"}));
  }
}

TEST_F(LeafRuns, what_comes_too_late_is_removed) {
  FlowResult result;
  global::run_here(1, [&] {
    result = run_script(script(R"(
file f "FOLDER/f"
when { } then {f} from {write_late 1}
)"),
                        "test.tic", {{}, folder_.path()});
  });
  EXPECT_EQ(result.n_failures, 1U) << result.text();
  EXPECT_EQ(names(), Names{});
}

TEST_F(LeafRuns, all_of_a_team_write_to_one_name) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    // 4 nodes of 3 cores.
    const Ran ran = run_text(11 + 12 * seed, script(R"(
file f "FOLDER/made/f" g "FOLDER/made/g"
when { } then {f} from {write_by_team 0}
when { } then {g} from {write_by_team 1} parallel 3
print(read(f))
)"));
    ASSERT_EQ(ran.out, "2\n") << ran.result.text();
    ASSERT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    ASSERT_FALSE(std::filesystem::exists(folder_ / "made/g"));
  }
}

// As often as it is tried.
TEST_F(LeafRuns, a_leaf_is_one_task_of_the_journal) {
  const TempFolder journal;
  const std::string text = script(R"(
integer m
when { } then {m} from {count_to 3} retries 4 timeout 10
file f "FOLDER/f"
when {m} then {f} from {write_half m} retries 4
)");
  for (const bool resume : {false, true}) {
    n_calls = 0;
    RunOptions options;
    options.journal.folder = journal / "journal";
    options.journal.resume = resume;
    FlowResult result;
    global::run_here(1, [&] { result = run_script(text, "test.tic", {}, options); });
    EXPECT_EQ(result.text(), "");
    EXPECT_EQ(result.journal.n_new, resume ? 0U : 2U);
    EXPECT_EQ(result.journal.n_done, resume ? 2U : 0U);
    EXPECT_EQ(n_calls, resume ? 0 : 4);
    EXPECT_EQ(content_of(folder_ / "f"), "whole");
  }
}

// A name alone says nothing of what is in the file; but its rule waits for the file.
TEST_F(LeafRuns,
       a_leaf_and_an_app_are_run_again_when_a_file_that_their_rule_waits_for_has_changed) {
  const TempFolder journal;
  const std::string text = script(R"(
app show(string name) to (string s) { "cat" name stdout=s }
file f "FOLDER/f"
integer n
string s
when {f} then {n} from {length_of filename(f)}
when {f} then {s} from {show filename(f)}
assert(length(s) == n, s)
)");
  for (const std::string content : {"one", "one", "another"}) {
    n_calls = 0;
    if (!std::filesystem::exists(folder_ / "f") || content_of(folder_ / "f") != content)
      write_to(folder_ / "f", content);
    RunOptions options;
    options.journal.folder = journal / "journal";
    options.journal.resume = std::filesystem::exists(options.journal.folder);
    const bool is_new = !options.journal.resume || content == "another";
    FlowResult result;
    global::run_here(1, [&] { result = run_script(text, "test.tic", {}, options); });
    EXPECT_EQ(result.text(), "") << content;
    EXPECT_EQ(result.journal.n_done, is_new ? 0U : 2U) << content;
    EXPECT_EQ(n_calls, is_new ? 1 : 0) << content;
  }
}

// What is thrown need not be a std::exception.
TEST_F(LeafRuns, a_leaf_that_throws_anything_fails_and_no_other) {
  const std::string text = script(R"(
container<integer, integer> c
for i in [1:6] {
  integer m
  when { } then {m} from {throw_number i}
  insert c[i] = m
}
)");
  FlowResult result;
  global::run_here(2, [&] { result = run_script(text, "test.tic"); });
  EXPECT_EQ(result.n_failures, 3U) << result.text();
  EXPECT_NE(result.text().find("an exception of unknown type"), std::string::npos) << result.text();
}

// Before anything runs, with the place of the leaf.
TEST(LeafSignature, is_held_against_what_the_script_says) {
  const auto told = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(run_text(2, text));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto expect_told = [&](const std::string& text, const std::string& what) {
    EXPECT_NE(told(text).find(what), std::string::npos) << told(text);
  };
  expect_told(
      "leaf count_to(string n) to (integer m)\ninteger m\nwhen { } then {m} from {count_to \"7\"}",
      "test.tic:1:6: leaf count_to has string 'n' as its input 1 in the script, expected "
      "integer, as its function has");
  expect_told(
      "leaf count_to(container<integer, integer> n) to (integer m)\ninteger m\n"
      "container<integer, integer> c\ninsert c[1] = 1\nwhen {c} then {m} from {count_to c}",
      "'n' as its input 1 in the script, expected integer");
  expect_told(
      "leaf count_to(integer n, integer k) to (integer m)\ninteger m\n"
      "when { } then {m} from {count_to 7 8}",
      "has 2 inputs in the script, expected 1");
  expect_told(
      "leaf count_to(integer n) to (string m)\nstring m\nwhen { } then {m} from {count_to 7}",
      "string 'm' as its output 1 in the script, expected integer");
  expect_told(
      "leaf count_to(integer n) to (integer m, integer k)\ninteger m k\n"
      "when { } then {m k} from {count_to 7}",
      "integer 'k' as its output 2 in the script, expected none");
  // An integer is a float, a file is written by its name.
  EXPECT_EQ(
      told("leaf count_to(integer n) to (float m)\nfloat m\nwhen { } then {m} from {count_to 7}"),
      "");
}

TEST(LeafTexts, have_the_arguments_in_short) {
  LeafCall leaf{"count", {}, {}, {}, {}};
  EXPECT_EQ(in_call(leaf), "");
  leaf.inputs = {Value::integer(7), Value::text(Kind::file, "words.txt"), Value(),
                 Value::text(Kind::string, std::string(59, 'a') + "\u00e9" + "b")};
  leaf.containers.resize(4);
  leaf.containers[2].emplace_back(Value::integer(0), Value::integer(1));
  EXPECT_EQ(in_call(leaf), "count(7, 'words.txt', 1 member, '" + std::string(59, 'a') + "..'): ");
  leaf.inputs.assign(9, Value::boolean(true));
  leaf.containers.assign(9, {});
  EXPECT_EQ(in_call(leaf), "count(true, true, true, true, true, true, true, true, ..): ");
}

}  // namespace
}  // namespace rubato::flow

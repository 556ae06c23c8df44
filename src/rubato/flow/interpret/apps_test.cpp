// Commands of apps: where their outputs stand in the words, and what their streams set.

#include <filesystem>

#include <gtest/gtest.h>

#include "rubato/flow/interpret/run_script_test.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::content_of;
using program_testing::TempFolder;

// A script with FOLDER as the folder.
Ran run_in(const TempFolder& folder, std::string text, std::uint64_t seed = 1) {
  for (std::size_t at = text.find("FOLDER"); at != std::string::npos; at = text.find("FOLDER"))
    text.replace(at, 6, folder.path());
  return run_text(seed, text);
}

// The files that are there, and what is in them.
std::string files_of(const TempFolder& folder) {
  std::string all;
  for (const std::string& name : folder.names())
    all += name + ": " + content_of(folder / name) + "\n";
  return all;
}

// In a folder, where names are short.
class Apps : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::current_path(folder_.path()); }
  void TearDown() override { std::filesystem::current_path(before_); }

  std::filesystem::path before_ = std::filesystem::current_path();
  TempFolder folder_;
};

TEST_F(Apps, names_of_outputs_are_no_text_of_other_words) {
  folder_.file("s1.csv", "in");
  const Ran ran = run_in(folder_, R"(
app copy(file i) to (file o) { "cat" i stdout=o }
app say(string text) to (file o) { "printf" "%s" "--format=output" text stdout=o }
app write(file i) to (file o) { "cp" i o }
file i "s1.csv"
file o "a" part "s1" out "out"
when {i} then {o} from {copy i}
when {i} then {part} from {write i}
when { } then {out} from {say "without"}
print(read(o), read(part), read(out))
)");
  EXPECT_EQ(ran.result.text(), "");
  EXPECT_EQ(ran.out, "in in --format=outputwithout\n");
}

TEST_F(Apps, words_and_options_read_members_and_fields_of_parameters) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Ran ran = run_in(folder_, R"(
struct point { integer x; string name; float y }
app show(container<integer, string> v, integer k) to (string s) retries size(v) {
  "echo" v[k] size(v) contains(v, 7) contains(v, k) v stdout=s
}
app at(point p, container<integer, integer> none) to (string s) retries p.x {
  "echo" p.x ("<" ++ p.name ++ ">") p.y size(none) stdout=s
}
container<integer, string> v
for i in [1:3] { insert v[i] = "s" ++ i }
point p
p.x = 1
p.name = "here"
p.y = 2
container<integer, integer> none
string s t
when {v} then {s} from {show v 2}
when {p none} then {t} from {at p none}
print(s ++ t)
)",
                           seed);
    ASSERT_EQ(ran.result.text(), "") << "seed " << seed;
    ASSERT_EQ(ran.out, sorted_lines("s2 3 false true s1 s2 s3\n1 <here> 2.0 0\n\n"))
        << "seed " << seed;
    ASSERT_EQ(ran.result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST_F(Apps, outputs_stand_in_words_as_often_as_they_are_named) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Ran ran = run_in(folder_, R"(
app twice(string text) to (file o) {
  "sh" "-c" ("printf " ++ text ++ " > " ++ filename(o) ++ "; printf 2 >> " ++ string(filename(o)))
}
app both() to (file a, file b) {
  "sh" "-c" ("printf a > " ++ filename(a) ++ " && printf b > " ++ filename(b))
}
app template(string command) to (file o) { "sh" "-c" replace(command, "@", filename(o)) }
app derived() to (file o) { "sh" "-c" "printf $0 > $1" replace(filename(o), ".txt", ".csv") o }
file o "o" a "a" ab "ab" t "t" d "d.txt"
when { } then {o} from {twice "1"}
when { } then {a ab} from {both}
when { } then {t} from {template "printf x > @; cat @ @ > @2; mv @2 @"}
when { } then {d} from {derived}
print(read(o), read(a), read(ab), read(t), read(d))
)",
                           seed);
    ASSERT_EQ(ran.result.text(), "") << seed;
    ASSERT_EQ(ran.out, "12 a b xx d.csv\n") << seed;
    ASSERT_EQ(files_of(folder_), "a: a\nab: b\nd.txt: d.csv\no: 12\nt: xx\n") << seed;
  }
}

TEST_F(Apps, set_strings_to_standard_error) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Ran ran = run_in(folder_, R"(
app errors() to (string e) { "sh" "-c" "printf out >&2" stderr=e }
app both() to (string s, string e) { "sh" "-c" "printf out; printf error >&2" stdout=s stderr=e }
app one() to (string s) { "sh" "-c" "printf 1; printf 2 >&2; printf 3" stdout=s stderr=s }
app mixed() to (file f, string e) { "sh" "-c" "printf out; printf error >&2" stdout=f stderr=e }
app fails() to (string e) { "sh" "-c" "echo the reason >&2; false" stderr=e }
string a b c d e g
file f "f"
when { } then {a} from {errors}
when { } then {b c} from {both}
when { } then {d} from {one}
when { } then {f e} from {mixed}
when { } then {g} from {fails}
print(a, b, c, d, e, read(f))
print(g)
)",
                           seed);
    ASSERT_EQ(ran.out, "out out error 123 error out\n") << seed << ran.result.text();
    ASSERT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    const std::string text = ran.result.text();
    ASSERT_NE(text.find("the last lines of its errors:\nthe reason"), std::string::npos) << text;
    ASSERT_EQ(ran.result.n_data_held, 0U);
  }
}

TEST_F(Apps, set_strings_to_standard_error_as_a_journal_has_it) {
  const std::string text = R"(
app both() to (string s, string e) {
  "sh" "-c" "echo ran >> ran; printf out; printf error >&2" stdout=s stderr=e
}
string s e
when { } then {s e} from {both}
assert(s == "out" and e == "error", s ++ " " ++ e)
)";
  for (const bool resume : {false, true}) {
    RunOptions options;
    options.journal.folder = folder_ / "journal";
    options.journal.resume = resume;
    FlowResult result;
    global::run_here(1, [&] { result = run_script(text, "test.tic", {}, options); });
    EXPECT_EQ(result.text(), "");
    EXPECT_EQ(result.journal.n_done, resume ? 1U : 0U);
  }
  EXPECT_EQ(content_of("ran"), "ran\n");
}

}  // namespace
}  // namespace rubato::flow

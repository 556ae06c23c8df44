// Files without a name of their own go with the last task that has them.

#include <gtest/gtest.h>

#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script_test.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::TempFolder;

constexpr const char* kApps = R"(
app make(integer n) to (file o) { "sh" "-c" "echo $0" n stdout=o }
app both_of(file a, file b) to (file o) { "cat" a b stdout=o }
app text(file a) to (string s) { "cat" a stdout=s }
app broken(file a) to (file o) { "sh" "-c" "cat $0; exit 3" a stdout=o }
app use(string name) to (string s) { "cat" name stdout=s }
)";

FileName same(const FileName& file) {
  return file;
}
[[maybe_unused]] const bool kLeaf = register_leaf("same", &same);

struct Left {
  Ran ran;
  std::vector<std::string> names;  // in the folder of such files, when the run has ended
};

Left run_in_folder(std::uint64_t seed, const std::string& text) {
  const TempFolder folder;
  Left left{run_text(shape_of(seed), kApps + text, folder.path()), {}};
  left.names = folder.names();
  return left;
}

TEST(TemporaryFiles, go_when_nobody_has_them_any_more) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const Left left = run_in_folder(seed, R"(
function both(integer n) to (file o) {
  file a b
  when {n} then {a} from {make n}
  when {n} then {b} from {make (n + 1)}
  when {a b} then {o} from {both_of a b}
}
function twice(file f) to (file o) { when {f} then {o} from {both_of f f} }
container<integer, string> texts
for i in [1:6] {
  file t u unused
  when { } then {t} from {both i}
  if i > 3 {
    when {t} then {u} from {twice t}
    wait (u) { when {u} then {texts[i]} from {text u} }
  } else {
    when {t} then {texts[i]} from {= read(t)}
  }
}
foreach s, i in texts { print(i, replace(s, "\n", ",")) }
)");
    ASSERT_EQ(left.ran.result.text(), "") << "seed " << seed;
    ASSERT_EQ(left.ran.out, "1 1,2,\n2 2,3,\n3 3,4,\n4 4,5,4,5,\n5 5,6,5,6,\n6 6,7,6,7,\n");
    ASSERT_EQ(left.ran.result.n_data_held, 0U);
    ASSERT_EQ(left.names, std::vector<std::string>()) << "seed " << seed;
  }
}

// Each round has one of them, which is gone a round or two later. On real cores: virtual ones run all
// rounds before they turn to what was started meanwhile.
TEST(TemporaryFiles, go_while_the_run_goes_on) {
  const TempFolder folder;
  const std::string count = "app count(file a) to (string s) { \"sh\" \"-c\" \"ls " +
                            folder.path() + " | wc -l\" a stdout=s }\n";
  const std::string text = kApps + count + R"(
integer most
loop (integer i = 0, integer m = 0) while i < 40 {
  file a
  string n
  when { } then {a} from {make i}
  when {a} then {n} from {count a}
  next (i + 1, max(m, int(trim(n))))
} to (most)
assert(most < 20, "at most " ++ most ++ " files at a time")
)";
  FlowResult result;
  global::run_here(2, [&] { result = run_script(text, "test.tic", {{}, folder.path()}); });
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(folder.names(), std::vector<std::string>());
}

TEST(TemporaryFiles, go_when_what_needs_them_has_failed) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const Left left = run_in_folder(seed, R"(
file a b c
string s
when { } then {a} from {make 1}
when {a} then {b} from {broken a}
when {a b} then {c} from {both_of a b}
when {c} then {s} from {text c}
print(s)
)");
    ASSERT_EQ(left.ran.result.n_failures, 1U) << left.ran.result.text();
    ASSERT_EQ(left.names, std::vector<std::string>()) << "seed " << seed;
  }
}

// Who has such a name may use it at any time.
TEST(TemporaryFiles, stay_if_their_names_go_elsewhere) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const Left left = run_in_folder(seed, R"(
struct pair { file f }
function name_of(file f) to (string s) { when {f} then {s} from {= filename(f)} }
function as_member(file f) to (container<integer, file> c) { insert c[1] = f }
file a b c d e
when { } then {a} from {make 1}
when { } then {b} from {make 2}
when { } then {c} from {make 3}
when { } then {d} from {make 4}
when { } then {e} from {make 5}
string name s t
when {a} then {name} from {= filename(a)}
when {a name} then {s} from {use name}
container<integer, file> all
insert all[1] = b
container<integer, file> some
when { } then {some} from {as_member c}
pair p
p.f = d
string of_e
when { } then {of_e} from {name_of e}
when {e of_e} then {t} from {use of_e}
foreach f in all { print("all", read(f)) }
foreach f in some { print("some", read(f)) }
print(read(p.f), s, t)
)");
    ASSERT_EQ(left.ran.result.text(), "") << "seed " << seed;
    ASSERT_EQ(left.names.size(), 5U) << "seed " << seed;
  }
}

TEST(TemporaryFiles, stay_if_a_leaf_may_have_returned_them) {
  for (std::uint64_t seed = 0; seed < n_seeds(8); ++seed) {
    const Left left = run_in_folder(seed, R"(
leaf same(file f) to (file g)
function other() to (file g) {
  file f
  when { } then {f} from {make 7}
  when {f} then {g} from {same f}
}
file g
string s
when { } then {g} from {other}
when {g} then {s} from {text g}
print(trim(s))
)");
    ASSERT_EQ(left.ran.result.text(), "") << "seed " << seed;
    ASSERT_EQ(left.ran.out, "7\n") << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::flow

// Containers that are members and fields: when they are there, and who sets them.

#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script_test.hpp"

namespace rubato::flow {
namespace {

[[maybe_unused]] const bool kLeaves = register_leaf(
    "next_in_container", +[](std::int64_t n) { return n + 1; });

TEST(InnerContainers, are_there_though_nothing_comes_into_them) {
  expect_lines(R"(
    struct box { container<integer, string> names; integer n }
    struct pair { box one }
    container<integer, container<integer, string>> hits
    function search(integer m) to (container<integer, string> found) {
      for i in [1:m] { insert found[i] = "hit " ++ i }
    }
    for m in [0:2] { when { } then {hits[m]} from {search m} }
    foreach h, m in hits { print(m, size(h)) }
    print("molecules", size(hits))

    function fill(integer n) to (box b) {
      b.n = n
      for i in [1:n] { insert b.names[i] = "x" ++ i }
    }
    for n in [0:1] {
      box b
      when { } then {b} from {fill n}
      when {b.names} then { } from {print "box" n size(b.names)}
    }
    container<integer, box> boxes
    when { } then {boxes[7]} from {fill 0}
    when {boxes[7].names} then { } from {print "boxed" size(boxes[7].names)}
    pair p
    p.one.n = 1
    for i in [1:0] { insert p.one.names[i] = "x" }
    print("pair", size(p.one.names))

    box none
    none.names = split("")
    print("none", size(none.names))
    container<string, container<integer, string>> d
    insert d["x"] = split("")
    foreach v, k in d { print(k, size(v)) }
    print("d", size(d))
    container<string, container<integer, integer>> all
    function make(integer n) to (container<integer, integer> c) { for i in [1:n] { insert c[i] = i } }
    when { } then {all["a"]} from {make 0}
    when { } then {all["b"]} from {make 2}
    print("all", size(all), size(all["a"]), size(all["b"]))
)",
               "0 0\n1 1\n2 2\nmolecules 3\nbox 0 0\nbox 1 1\nboxed 0\npair 0\nnone 0\nx 0\nd 1\n"
               "all 2 0 2\n");
}

TEST(InnerContainers, that_are_set_twice_are_told_with_both_places) {
  const std::string head = R"(
container<integer, container<integer, integer>> d
container<integer, integer> w
insert w[9] = 9
integer one two
when { } then {one} from {= 1}
)";
  const auto told = [&](const std::string& text) {
    const Ran ran = run_text(3, head + text);
    EXPECT_EQ(ran.result.n_data_held, 0U);
    return ran.result.text();
  };
  const std::string first = told(
      "when {d[1][9]} then {two} from {= 1}\ninsert d[one] = w\n"
      "insert d[two][2] = 5\nprint(size(d))");
  EXPECT_NE(first.find("'d[1]' is set as a whole at test.tic:8:8, and its member 'd[1][2]' at "
                       "test.tic:9:8: a container is set whole or member by member"),
            std::string::npos)
      << first;
  const std::string second = told(
      "when {d[1][2]} then {two} from {= 1}\ninsert d[two] = w\n"
      "insert d[one][2] = 5\nprint(size(d))");
  EXPECT_NE(second.find("'d[1]' was set at test.tic:9:8, and is set again at test.tic:8:8: a "
                        "member is set once"),
            std::string::npos)
      << second;
}

// What the check cannot see: keys that are equal, functions that are called twice.
TEST(InnerContainers, that_are_assigned_twice_are_told_with_both_places) {
  const auto expect_told = [](const std::string& text, const std::string& what) {
    for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
      const Ran ran = run_text(seed, R"(
container<integer, integer> a b
insert a[1] = 1
insert b[2] = 2
integer i j
when {a} then {i} from {= size(a)}
when {b} then {j} from {= size(b)}
container<integer, container<integer, integer>> all
function be(container<integer, integer> y) to (container<integer, integer> x) {
  when {y} then {x} from {= y}
}
function add(container<integer, integer> y) to (container<integer, integer> x) {
  foreach v, k in y { insert x[k + 1000] = v }
}
)" + text);
      EXPECT_NE(ran.result.text().find(what), std::string::npos)
          << seed << ": " << ran.result.text();
      EXPECT_EQ(ran.result.n_data_held, 0U);
    }
  };
  expect_told("when {a i} then {all[i]} from {= a}\nwhen {b j} then {all[j]} from {= b}",
              "'all[1]' was set at test.tic:");
  expect_told("when {a i} then {all[i]} from {= a}\nwhen {j} then {all[j][7]} from {= 7}",
              "its member 'all[1][7]' at test.tic:16:");
  expect_told("for k in [1:2] { when {a} then {all[k / 4]} from {= a} }",
              "'all[0]' was set at test.tic:15:33, and is set again there: a member is set once");
  // Within a function that has its own name for it.
  expect_told("when {i} then {all[i]} from {be a}\nwhen {j} then {all[j]} from {be b}",
              "'x' was set at test.tic:10:18, and is set again there: a member is set once");
  expect_told("when {i} then {all[i]} from {be a}\nwhen {j} then {all[j]} from {add b}",
              "test.tic:13:");
  expect_told(
      "container<integer, integer> c\nwhen { } then {c} from {be a}\nwhen { } then {c} from {be b}",
      "'x' was set at test.tic:10:18, and is set again there: a container is set once");
}

// The sum of those that are there would be taken for that of all.
TEST(InnerContainers, that_lack_a_member_which_failed_are_not_read_as_a_whole) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const Ran ran = run_text(seed, R"(
    function row(integer i) to (container<integer, integer> r) {
      for j in [1:3] { when {i} then {r[j]} from {= 6 / (10 * i + j - 13)} }
    }
    container<integer, container<integer, integer>> m well
    for i in [0:2] { when {i} then {m[i]} from {row i} }
    foreach r, i in m { print("row", i, size(r)) }
    foreach r, i in m { foreach x, j in r { if i == 1 { print("member", x) } } }
    for i in [2:3] { when {i} then {well[i]} from {row i} }
    foreach r, i in well { if i == 2 { print("well", size(r)) } }
    struct box { integer a b }
    container<integer, box> boxes
    for i in [0:2] {
      boxes[i].a = i
      boxes[i].b = 6 / (i - 1)
    }
    print("whole", boxes[1])
    print("field", boxes[2].b)
)");
    EXPECT_EQ(ran.out, "field 6\nmember -3\nmember -6\nrow 0 3\nrow 2 3\nwell 3\n")
        << "seed " << seed;
    EXPECT_NE(ran.result.text().find("zero"), std::string::npos) << ran.result.text();
    EXPECT_EQ(ran.result.n_data_held, 0U);
  }
}

// So does a leaf that never begins.
TEST(InnerContainers, lack_what_no_core_may_run) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const Ran ran = run_text(seed, R"(
    leaf next_in_container(integer n) to (integer m)
    container<integer, container<integer, integer>> m
    for i in [0:2] { for j in [0:1] {
      when { } then {m[i][j]} from {next_in_container i} parallel (1 + 99 * (i % 2) * j)
    } }
    foreach r, i in m { print(i, size(r)); print(i, r[0]) }
    print("all", size(m))
)");
    EXPECT_EQ(ran.out, "0 1\n0 2\n1 2\n2 2\n2 3\n") << "seed " << seed;
    EXPECT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    EXPECT_EQ(ran.result.counters.n_skipped, 2U);
    EXPECT_EQ(ran.result.n_data_held, 0U);
  }
}

}  // namespace
}  // namespace rubato::flow

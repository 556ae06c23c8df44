#include "rubato/flow/interpret/run_script_test.hpp"

#include <atomic>
#include <filesystem>
#include <thread>

#include "rubato/flow/interpret/dry_run.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

void first_only(LeafCall& call) {
  call.outputs.at(0) = Value::floating(1.5);
}
double half(double x) {
  return x / 2;
}
std::tuple<std::int64_t, std::string> describe(std::int64_t n) {
  return {n * n, "square of " + std::to_string(n)};
}
std::int64_t unlucky(std::int64_t n) {
  if (n == 13) throw Error("no luck with 13");
  return n;
}
// How many calls were under way at a time, on threads beside the cores.
std::atomic<int> n_under_way = 0;
std::atomic<int> n_under_way_most = 0;
std::int64_t hold(std::int64_t n) {
  const int now = ++n_under_way;
  for (int most = n_under_way_most; most < now;) {
    if (n_under_way_most.compare_exchange_weak(most, now)) break;
  }
  for (int turn = 0; turn < 5000; ++turn)
    std::this_thread::yield();
  --n_under_way;
  return n;
}
// By all cores of a team.
std::int64_t ranks(const global::Team& team, std::int64_t unlucky) {
  const auto sum = team.allreduce(std::int64_t{team.rank() + 1}, std::plus<>{});
  if (unlucky == team.rank()) throw Error("no luck");
  team.barrier();
  return sum;
}
// Fails until it was called often enough.
std::atomic<int> n_tried = 0;
std::int64_t flaky(std::int64_t n) {
  if (++n_tried < n) throw Error("not yet");
  return n_tried;
}
[[maybe_unused]] const bool kLeaves =
    register_leaf("flaky", &flaky) && register_leaf("ranks", &ranks) &&
    register_leaf("hold", &hold) && register_leaf("half", &half) &&
    register_leaf("first_only", {&first_only}) && register_leaf("describe", &describe) &&
    register_leaf("unlucky", &unlucky);

TEST(RunScript, evaluates_expressions_when_their_operands_are_there) {
  expect_lines(R"(
    integer a b c
    float x = a + 0.5
    c = (a + b) * 2 - 7 % 4
    print("c", c, x, b ** 3, -2 ** 2, 7 / 2, a < b and not (a == b))
    a = 4
    b = a + 1
    string s = "c is " ++ c ++ " of " ++ x
    print(s, length(s), substring(s, 0, 4), upper("ab") ++ trim("  c "), replace("aXbX", "X", "-"))
    print(int("42") + int(3.9), float("2.5"), string(1.0), min(3, 1, 2), max(1.5, 2.0), abs(-3))
    print(sqrt(2.25), floor(2.7), ceil(2.1), round(2.5), find("abc", "c"), boolean("true"))
)",
               "c 15 4.5 125 -4 3 true\n"
               "c is 15 of 4.5 14 c is ABc a-b-\n"
               "45 2.5 1.0 1 2.0 3\n"
               "1.5 2.0 3.0 3.0 2 true\n");
}

TEST(RunScript, sets_each_name_of_a_declaration_by_itself) {
  expect_lines(R"(
    integer a = 1, b = a + 1
    integer c = 9, g2 = a, d = c - 1, f = d + b, e = f * 2 g = 2 * g2
    print(b, d, e, f, g)
    container<integer, string> x = split("u v"), y = split(x[1] ++ " " ++ x[0])
    print(y[0], size(x) + size(y))
    string name = "wave", text = name ++ length(name)
    file h (text ++ ".txt") k (filename(h) ++ ".bak")
    print(filename(k))
    function late(integer n) to (integer m) { integer q = n, p = q + n; m = p }
    integer m
    when { } then {m} from {late c}
    print(m)
)",
               "18\n2 8 20 10 2\nv 4\nwave4.txt.bak\n");
}

TEST(RunScript, fires_rules_and_calls_leaves_and_functions) {
  expect_lines(R"(
    leaf half(float x) to (float y)
    leaf describe(integer n) to (integer square, string text)
    function twice(integer n) to (integer m) { m = 2 * n }
    function both(integer n) to (integer m, float h) {
      when {n} then {m} from {twice n}
      when {m} then {h} from {half float(m)}
    }
    integer m square
    float h
    string text
    when {m} then {square text} from {describe m}
    when { } then {m h} from {both 21}
    print(m, h, square, text)
    integer four
    when {m square} then {four} from {= m + square}
    print(four)
)",
               "1806\n42 21.0 1764 square of 42\n");
}

TEST(RunScript, recurses) {
  expect_lines(R"(
    function fib(integer n) to (integer f) {
      if n < 2 { f = n } else {
        integer a b
        when {n} then {a} from {fib (n - 1)}
        when {n} then {b} from {fib (n - 2)}
        f = a + b
      }
    }
    integer f
    when { } then {f} from {fib 12}
    print(f)
)",
               "144\n", 12);
}

TEST(RunScript, loops_over_ranges_and_containers) {
  expect_lines(R"(
    container<integer, integer> squares
    container<string, integer> named
    integer n = int(arg("n"))
    for i in [0 : n - 1] { insert squares[i] = i * i }
    foreach value, i in squares {
      if value > 100 { print("large", i, value) } else if i % 5 == 0 { insert named["n" ++ i] = value }
    }
    for i in [9:1:-4] { print("down", i) }
    print("sizes", size(squares), size(named), named["n10"], squares[2] + squares[3])
    wait (named) { print(named, contains(named, "n5"), contains(named, "n6")) }
    print("far", contains(squares, 11), contains(squares, 12), contains(squares, 100000))
    string words = "the quick fox"
    foreach word, k in split(words) { print("word", k, word) }
)",
               "large 11 121\nfar true false false\ndown 9\ndown 5\ndown 1\nsizes 12 3 100 13\n"
               "{\"n0\": 0, \"n10\": 100, \"n5\": 25} true false\n"
               "word 0 the\nword 1 quick\nword 2 fox\n");
}

TEST(RunScript, goes_through_rounds_one_after_another) {
  expect_lines(R"(
    leaf half(float x) to (float y)
    float total
    integer rounds
    loop (integer i = 0, float s = 64.0) while s > 1.5 {
      float t
      when { } then {t} from {half s}
      if i % 2 == 0 { next (i + 1, t) } else { next (i + 1, t - 0.25) }
    } to (rounds, total)
    print(rounds, total)
    integer sum
    loop (integer k = 0, integer s = 0) while k < 1000 { next (k + 1, s + k) } to (sum)
    print(sum)
)",
               "6 0.671875\n499500\n", 12);
}

TEST(RunScript, takes_containers_that_an_expression_makes_wherever_it_takes_others) {
  expect_lines(R"(
    string s = "a,b,c"
    print(join(split(s, ","), "+"), size(split("a b c")) + 1, size(split("a b")))
    print(contains(split(s, ","), 2), contains(split(s, ","), 3), contains(split(s, ","), -1))
    print(size(glob("/no/such/folder/*")), size(split(join(split(s, ","), " "))) * 2)
    print(split(s, ",")[1], join(split(upper(s), ","), split(s, ",")[0]))
    if size(split(s)) == 1 { print("one") }
    for i in [1:size(split(s, ","))] { print("of", i) }
    foreach word, i in split(s, ",") {
      integer n = 6 / (i + 1)
      string twice = word ++ word
      print(i, word, n, twice)
    }
    container<integer, string> copy = split(s, ",")
    print(copy, size(copy))
)",
               "a+b+c 4 2\ntrue false false\n0 6\nb AaBaC\none\nof 1\nof 2\nof 3\n"
               "0 a 6 aa\n1 b 3 bb\n2 c 2 cc\n{0: a, 1: b, 2: c} 3\n");
}

TEST(RunScript, hands_containers_that_an_expression_makes_to_functions_leaves_and_apps) {
  expect_lines(R"(
    function count(container<integer, string> c) to (integer n, string first) {
      n = size(c)
      first = c[0] ++ join(c, "+")
      foreach word, i in c { print(i, word) }
    }
    app say(container<integer, string> words) to (string s) { "echo" words stdout=s }
    integer n
    string first s
    when { } then {n first} from {count split("a,b", ",")}
    when {n} then {s} from {say split("x y " ++ n)}
    print(n, first, trim(s))
)",
               "0 a\n1 b\n2 aa+b x y 2\n", 8);
}

TEST(RunScript, says_of_a_folder_that_it_is_no_file) {
  const Ran ran = run_text(2, "file f \"/tmp\"\nprint(read(f))\n");
  ASSERT_EQ(ran.result.n_failures, 1U) << ran.result.text();
  EXPECT_NE(ran.result.failures.at(0).find("cannot read /tmp: found a folder, expected a file"),
            std::string::npos);
}

TEST(RunScript, chooses_a_case) {
  expect_lines(R"(
    for i in [0:4] {
      string word
      switch i { case 0, 1 { word = "few" } case 2 { word = "two" } default { word = "many" } }
      print(i, word)
    }
)",
               "0 few\n1 few\n2 two\n3 many\n4 many\n");
}

TEST(RunScript, keeps_structs_and_containers_in_containers) {
  expect_lines(R"(
    struct box { float left right; integer level }
    container<string, container<integer, float>> levels
    container<integer, box> boxes
    box one
    one.left = 0.5
    one.right = one.left * 3
    one.level = 7
    insert boxes[3] = one
    insert levels["wide"][1] = one.right
    insert levels["wide"][2] = 2.5
    for i in [0:2] { insert levels["flat"][i] = float(i) }
    print(one.right - one.left, boxes[3].level)
    print(size(levels), size(levels["wide"]), size(levels["flat"]), levels["wide"][2])
    foreach row, name in levels { foreach x, k in row { print(name, k, x) } }
)",
               "1.0 7\n2 2 3 2.5\nflat 0 0.0\nflat 1 1.0\nflat 2 2.0\nwide 1 1.5\nwide 2 2.5\n");
}

TEST(RunScript, hands_containers_and_structs_to_functions) {
  expect_lines(R"(
    struct pair { integer a b }
    function fill(integer n) to (container<integer, integer> c) {
      for i in [1:n] { insert c[i] = 10 * i }
    }
    function total(container<integer, integer> c, integer n) to (integer t) {
      loop (integer i = 1, integer s = 0) while i <= n { next (i + 1, s + c[i]) } to (t)
    }
    function order(integer x, integer y) to (pair p) {
      p.a = min(x, y)
      p.b = max(x, y)
    }
    container<integer, integer> c
    integer t
    when { } then {c} from {fill 5}
    when { } then {t} from {total c 5}
    pair p
    when {t} then {p} from {order t 9}
    print(t, size(c), p.a, p.b)
)",
               "150 5 9 150\n", 15);
}

TEST(RunScript, asks_the_next_condition_when_the_one_before_it_does_not_hold) {
  expect_lines(R"(
    container<integer, integer> none one
    insert one[1] = 7
    for i in [1:0] { insert none[i] = i }
    integer y z
    if size(none) == 0 { y = -1 } else if none[1] > 0 { y = none[1] } else { y = 0 }
    if size(one) == 0 { z = -1 } else if one[1] > 9 { z = 9 } else if one[1] > 5 { z = 5 } else { z = 0 }
    print(y, z))",
               "-1 5\n", 15);
}

TEST(RunScript, fails_what_depends_on_a_failure_and_goes_on) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const Ran ran = run_text(seed, R"(
leaf unlucky(integer n) to (integer m)
integer a b c
when { } then {a} from {unlucky 13}
when { } then {b} from {unlucky 4}
c = a + 1
print("c", c)
print("b", b)
)");
    EXPECT_EQ(ran.out, "b 4\n");
    ASSERT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    EXPECT_EQ(ran.result.failures[0],
              "task 'unlucky' of test.tic:4:1: unlucky(13): no luck with 13");
    EXPECT_EQ(ran.result.n_data_held, 0U);
  }
}

TEST(RunScript, runs_the_bodies_beside_one_that_fails) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const Ran ran = run_text(seed, R"(
leaf unlucky(integer n) to (integer m)
container<integer, integer> c d
for i in [11:15] { when {i} then {c[i]} from {unlucky i} }
foreach x, i in c { insert d[i] = x + 1 }
print(d[15], d[11])
print("sum", size(d))
container<integer, container<integer, integer>> rows
container<integer, integer> one
insert one[1] = 1
insert rows[0] = one
integer k = size(rows)
insert rows[k - 1][7] = 9
print(size(one))
)");
    EXPECT_EQ(ran.out, "1\n16 12\n") << "seed " << seed << ran.result.text();
    EXPECT_NE(ran.result.text().find("no luck with 13"), std::string::npos);
  }
}

TEST(RunScript, says_which_output_a_leaf_has_left_out) {
  const Ran ran = run_text(1, R"(
leaf first_only(float x) to (float y, float z)
float y z
when { } then {y z} from {first_only 3.0}
print(y)
print(z)
)");
  EXPECT_NE(ran.result.text().find("set no value for its output 'z'"), std::string::npos)
      << ran.result.text();
}

TEST(RunScript, names_the_place_of_what_goes_wrong) {
  const Ran ran = run_text(1, "integer a = 5 / (3 - 3)\nprint(a)\nprint(\"on\")\n");
  EXPECT_EQ(ran.out, "on\n");
  ASSERT_EQ(ran.result.n_failures, 1U);
  EXPECT_NE(ran.result.failures[0].find("test.tic:1:"), std::string::npos);
  EXPECT_NE(ran.result.failures[0].find("division by zero"), std::string::npos);
  const Ran missing = run_text(2, "print(arg(\"na\" ++ \"m\"), arg(\"name\"))\n");
  EXPECT_NE(missing.result.text().find("did you mean \"name\"?"), std::string::npos)
      << missing.result.text();
}

TEST(RunScript, runs_programs_whose_outputs_appear_whole) {
  const program_testing::TempFolder folder;
  const std::string text = R"(
app words(string text) to (file out) { "sh" "-c" ("echo " ++ text ++ " > " ++ filename(out)) }
app count(container<integer, file> parts) to (string n) { "sh" "-c" "cat \"$@\" | wc -w" "-" parts stdout=n }
app shout(file a) to (file b) retries 1 elsewhere { "tr" "a-z" "A-Z" stdin=a stdout=b }
app broken(file a) to (file b) { "false" a b }
container<integer, file> parts
for i in [1:3] {
  file part ("FOLDER/part" ++ i)
  when { } then {part} from {words ("one two " ++ i)}
  insert parts[i] = part
}
string n
when {parts} then {n} from {count parts}
print("words", int(n))
file big "FOLDER/big.txt"
when {parts[2]} then {big} from {shout parts[2]}
print(trim(read(big)), filename(big) == "FOLDER/big.txt")
file never "FOLDER/never.txt"
when {big} then {never} from {broken big}
print("never", read(never))
)";
  std::string script = text;
  for (std::size_t at = script.find("FOLDER"); at != std::string::npos; at = script.find("FOLDER"))
    script.replace(at, 6, folder.path());
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Ran ran = run_text(seed, script);
    EXPECT_EQ(ran.out, "ONE TWO 2 true\nwords 9\n");
    ASSERT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    EXPECT_NE(ran.result.failures[0].find("test.tic:19"), std::string::npos) << ran.result.text();
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/never.txt"));
    EXPECT_EQ(ran.result.n_data_held, 0U);
  }
}

TEST(RunScript, refuses_a_script_with_errors_before_it_runs) {
  try {
    static_cast<void>(run_text(3, "integer a\nprint(b)\n"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("test.tic:2:7"), std::string::npos) << error.what();
  }
}

TEST(RunScript, gives_each_file_without_a_name_one_of_its_own) {
  const program_testing::TempFolder folder;
  const std::string text = R"(
    app put(integer n) to (file f) { "echo" n stdout=f }
    function make(integer n) to (file out) {
      file tmp
      when {n} then {tmp} from {put n}
      out = tmp
    }
    container<integer, file> all
    for i in [1:60] {
      file f
      when {} then {f} from {make i}
      insert all[i] = f
    }
    wait (all) {
      for i in [1:60] { assert(int(trim(read(all[i]))) == i, "another file") }
    }
  )";
  FlowResult result;
  global::run_here(1, [&] { result = run_script(text, "t.tic", {{}, folder.path()}); });
  EXPECT_EQ(result.text(), "");
}

TEST(RunScript, copies_containers_and_structs) {
  expect_lines(R"(
    struct point { integer x y }
    container<integer, integer> a b c
    when {a} then {c} from {= a}
    b = a
    print("all", a, b, c)
    insert a[1] = 5
    insert a[2] = 6
    container<integer, container<string, integer>> deep copied
    copied = deep
    insert deep[3]["x"] = 7
    print("deep", copied[3]["x"], size(copied))
    point p q
    q = p
    p.x = 1
    p.y = 2
    print("point", q.x + q.y)
  )",
               "all {1: 5, 2: 6} {1: 5, 2: 6} {1: 5, 2: 6}\ndeep 7 1\npoint 3\n");
}

TEST(RunScript, gives_parallel_leaves_a_team) {
  const std::string text = R"(
    leaf ranks(integer unlucky) to (integer sum) parallel 2
    leaf half(float x) to (float y) parallel 2
    app both(float x) to (string s) parallel 2 { "echo" x stdout=s }
    integer a b
    when {} then {a} from {ranks -1}
    when {a} then {b} from {ranks -1} parallel a
    print(a, b)
    float x
    when {} then {x} from {half 5.0}
    string s
    when {x} then {s} from {both x}
    print(trim(s))
  )";
  for (std::uint64_t seed = 0; seed < n_seeds(10); ++seed) {
    const Ran ran = run_text(11 + 12 * seed, text);  // 4 nodes of 3 cores
    EXPECT_EQ(ran.result.text(), "");
    EXPECT_EQ(ran.out, "2.5\n3 6\n");
    EXPECT_EQ(ran.result.n_data_held, 0U);
  }
  std::string failing = text;
  failing.replace(failing.find("{ranks -1} parallel a"), 21, "{ranks 1}            ");
  const Ran failed = run_text(11, failing);
  EXPECT_EQ(failed.out, "2.5\n");
  ASSERT_EQ(failed.result.n_failures, 1U) << failed.result.text();
  EXPECT_NE(failed.result.text().find("'ranks' of test.tic:7"), std::string::npos)
      << failed.result.text();
  EXPECT_NE(failed.result.text().find("no luck"), std::string::npos) << failed.result.text();
  std::string many = text;
  many.replace(many.find("{ranks -1} parallel a"), 21, "{ranks -1} parallel 99");
  const Ran never = run_text(11, many);
  EXPECT_EQ(never.result.n_failures, 1U);
  EXPECT_NE(never.result.text().find("99 cores at a time"), std::string::npos)
      << never.result.text();
}

TEST(RunScript, tries_leaves_again) {
  const std::string text = R"(
    leaf flaky(integer n) to (integer tries) retries (n - 1)
    integer a
    when {} then {a} from {flaky 4}
    print(a)
  )";
  n_tried = 0;
  EXPECT_EQ(run_text(3, text).out, "4\n");
  n_tried = 0;
  std::string less = text;
  less.replace(less.find("{flaky 4}"), 9, "{flaky 4} retries 1");
  const Ran ran = run_text(3, less);
  EXPECT_EQ(n_tried, 2);
  EXPECT_EQ(ran.result.n_failures, 1U);
  EXPECT_NE(ran.result.text().find("flaky(4): failed 2 times:\n"), std::string::npos)
      << ran.result.text();
  EXPECT_NE(ran.result.text().find("try 1 to 2: not yet"), std::string::npos) << ran.result.text();
}

TEST(RunScript, gives_work_of_a_type_to_its_workers) {
  const std::string text = R"(
leaf hold(integer n) to (integer m) type device
app name(integer n) to (string s) type device { "echo" n stdout=s }
container<integer, integer> held
container<integer, string> names
for i in [1:8] {
  integer m
  when {} then {m} from {hold i} priority i
  insert held[i] = m
  string s
  when {} then {s} from {name i} on node 7
  insert names[i] = s
}
wait (held names) { print(size(held), trim(names[3])) }
)";
  Ran ran;
  for (const std::string workers : {"device=1", "device=3/node"}) {
    n_under_way_most = 0;
    testing::internal::CaptureStdout();
    global::run_here(
        2, [&] { ran.result = run_script(text, "test.tic", {}, {Workers::parse({workers})}); });
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "8 3\n");
    EXPECT_EQ(ran.result.text(), "");
    EXPECT_EQ(ran.result.n_data_held, 0U);
    EXPECT_LE(n_under_way_most, workers == "device=1" ? 1 : 3);
    EXPECT_GE(n_under_way_most, workers == "device=1" ? 1 : 2);
  }
  try {
    global::run_here(1, [&] {
      static_cast<void>(run_script(text, "test.tic", {}, {Workers::parse({"devices=1"})}));
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("test.tic:2:6: work of type device"),
              std::string::npos)
        << error.what();
    EXPECT_EQ(error.code(), ExitCode::bad_input);
  }
}

// What a script is refused with, and what it has printed.
std::string refusal_of(const std::string& text, bool is_dry) {
  std::string what;
  testing::internal::CaptureStdout();
  try {
    global::run_here(1, [&] {
      is_dry ? static_cast<void>(plan_script(text, "test.tic", {}))
             : static_cast<void>(run_script(text, "test.tic", {}));
    });
  } catch (const Error& error) {
    what = error.what();
    EXPECT_EQ(error.code(), ExitCode::bad_input);
  }
  return what + testing::internal::GetCapturedStdout();
}

TEST(RunScript, tells_leaves_that_are_not_there_before_it_runs) {
  const std::string text = R"(
leaf half(float x) to (float y)
leaf hafl(float x) to (float y)
leaf never_called(float x) to (float y)
leaf nothing_like_it(float x) to (float y)
print("runs")
float x y
if n_args() > 100 { when { } then {x} from {hafl 1.0} } else { x = 1.0 }
when {x} then {y} from {nothing_like_it x}
)";
  for (const bool is_dry : {false, true}) {
    const std::string what = refusal_of(text, is_dry);
    EXPECT_NE(what.find("test.tic:3:6: the program has no leaf 'hafl' (did you mean \"half\"?)\n"
                        "test.tic:5:6: the program has no leaf 'nothing_like_it'"),
              std::string::npos)
        << what;
    EXPECT_EQ(what.find("never_called"), std::string::npos) << what;
    EXPECT_EQ(what.find("runs"), std::string::npos) << what;
  }
}

TEST(RunScript, says_what_waits_for_ever) {
  const Ran ran = run_text(1, R"(
container<integer, integer> c
integer x y
when {c[1]} then {x} from {= c[1]}
y = x
insert c[y] = 1
)");
  EXPECT_FALSE(ran.result.waiting.empty());
  EXPECT_NE(ran.result.text().find("test.tic:"), std::string::npos) << ran.result.text();
}

}  // namespace
}  // namespace rubato::flow

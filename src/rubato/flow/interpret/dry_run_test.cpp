#include "rubato/flow/interpret/dry_run.hpp"

#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

ScriptPlan plan(std::uint64_t seed, const std::string& text) {
  ScriptPlan all;
  const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 4);
  ScriptArguments arguments{{}, "TEMPORARY"};
  if (text.find("arg(\"n\")") != std::string::npos) arguments.named["n"] = "3";
  global::simulate_seed(n_nodes, 2, seed, [&] { all = plan_script(text, "dry.tic", arguments); });
  return all;
}

std::vector<std::string> lines_of(const ScriptPlan& plan, const std::string& name) {
  for (const PlannedCalls& calls : plan.calls) {
    if (calls.name == name) return calls.lines;
  }
  return {};
}

TEST(DryRun, FollowsFilesThroughAppsAndRunsNothing) {
  const program_testing::TempFolder folder;
  const std::string made = folder / "made-by-a-run";
  const std::string text = "app make(integer i) to (file f) { \"sh\" \"-c\" \"touch " + made +
                           "; echo $0 it\" i stdout=f }\n"
                           "app merge(container<integer, file> parts) to (file f) {"
                           " \"cat\" parts stdout=f }\n"
                           "container<integer, file> parts\n"
                           "for i in [1:int(arg(\"n\"))] {\n"
                           "  file f (\"part-\" ++ i)\n"
                           "  when { } then {f} from {make i}\n"
                           "  insert parts[i] = f\n"
                           "}\n"
                           "file all \"all.txt\"\n"
                           "when {parts} then {all} from {merge parts}\n";
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const ScriptPlan all = plan(seed, text);
    ASSERT_EQ(all.result.text(), "") << "seed " << seed;
    ASSERT_EQ(all.unknown.size(), 0U) << "seed " << seed;
    ASSERT_EQ(lines_of(all, "make").size(), 3U) << "seed " << seed;
    ASSERT_EQ(lines_of(all, "make")[1], "sh -c 'touch " + made + "; echo $0 it' 2 > part-2");
    ASSERT_EQ(lines_of(all, "merge"),
              std::vector<std::string>{"cat part-1 part-2 part-3 > all.txt"})
        << "seed " << seed;
    ASSERT_TRUE(folder.names().empty()) << "seed " << seed;
  }
}

TEST(DryRun, WhatNeedsAResultIsUnknownAndSaysWhose) {
  const std::string text =
      "app count(file f) to (string n) { \"wc\" \"-l\" f stdout=n }\n"
      "app use(string n, integer i) to (void v) { \"use\" n i }\n"
      "app branch() to (void v) { \"branch\" }\n"
      "function twice(integer a) to (integer b) { b = 2 * a }\n"
      "file f \"input\"\n"
      "string n\n"
      "when {f} then {n} from {count f}\n"
      "void v w\n"
      "when {n} then {v} from {use n 7}\n"
      "integer a = int(n)\n"
      "integer b\n"
      "when {a} then {b} from {twice a}\n"
      "if a > 3 { when { } then {w} from {branch} } else { when { } then {w} from {branch} }\n"
      "container<integer, integer> c\n"
      "insert c[1] = a\n"
      "insert c[2] = 5\n"
      "print(size(c), b)\n"
      "foreach x in c { assert(x > 3) }\n"
      "foreach word in split(n) { assert(length(word) > 0) }\n";
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const ScriptPlan all = plan(seed, text);
    ASSERT_EQ(all.result.n_failures, 0U) << "seed " << seed << all.result.text();
    ASSERT_EQ(lines_of(all, "count"), std::vector<std::string>{"wc -l input"});
    ASSERT_EQ(lines_of(all, "use"), std::vector<std::string>{"use ? 7"}) << "seed " << seed;
    ASSERT_TRUE(lines_of(all, "branch").empty()) << "seed " << seed;
    std::string unknown;
    for (const UnknownStatement& statement : all.unknown) {
      ASSERT_EQ(statement.needs, "count") << "seed " << seed;
      unknown += statement.text + "\n";
    }
    for (const char* place : {"dry.tic:4:", "dry.tic:10:", "dry.tic:13:", "dry.tic:15:",
                              "'print' of dry.tic:17:", "dry.tic:19:"})
      ASSERT_NE(unknown.find(place), std::string::npos) << place << " in\n" << unknown << seed;
    ASSERT_EQ(unknown.find("dry.tic:16:"), std::string::npos) << unknown;
  }
}

TEST(DryRun, NamesOfFilesAreToldAsFarAsTheyAreKnown) {
  const std::string text =
      "app make(string text) to (file f) { \"make\" (\"-o=\" ++ filename(f)) text stdout=f }\n"
      "app use(file f, string name) to (void v) { \"use\" f name }\n"
      "function make_in(string text) to (file f) { when {text} then {f} from {make text} }\n"
      "file given \"given\"\n"
      "string n\n"
      "app lines(file f) to (string n) { \"wc\" \"-l\" f stdout=n }\n"
      "when {given} then {n} from {lines given}\n"
      "integer k = 2 * int(arg(\"n\"))\n"
      "file known (\"out-\" ++ k) unknown (\"out-\" ++ n) also (\"also-\" ++ n)\n"
      "when { } then {known} from {make_in \"a\"}\n"
      "when { } then {unknown} from {make_in \"b\"}\n"
      "void v w x\n"
      "when {known} then {v} from {use known filename(known)}\n"
      "when {unknown} then {w} from {use unknown filename(unknown)}\n"
      "when {also} then {x} from {use also \"input\"}\n";
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const ScriptPlan all = plan(seed, text);
    ASSERT_EQ(all.result.text(), "") << "seed " << seed;
    ASSERT_EQ(lines_of(all, "make"),
              (std::vector<std::string>{"make -o=out-6 a > out-6", "make ? b > ?"}))
        << "seed " << seed;
    ASSERT_EQ(lines_of(all, "use"),
              (std::vector<std::string>{"use ? ?", "use ? input", "use out-6 out-6"}))
        << "seed " << seed;
    std::string unknown;
    for (const UnknownStatement& statement : all.unknown) {
      ASSERT_EQ(statement.needs, "lines") << "seed " << seed;
      unknown += statement.text + "\n";
    }
    ASSERT_EQ(unknown,
              "the name of file 'also' of dry.tic:9:48\nthe name of file 'unknown' of "
              "dry.tic:9:26\n")
        << "seed " << seed;
    ASSERT_EQ(all.result.n_data_held, 0U) << "seed " << seed;
  }
}

// A file that another run has left says nothing of this one.
TEST(DryRun, ContentsOfFilesThatWouldBeWrittenAreUnknown) {
  const program_testing::TempFolder folder;
  const std::string old = folder.file("result", "12\n");
  const std::string given = folder.file("given", "34\n");
  const std::string text =
      "app make() to (file f) { \"true\" f }\n"
      "file f \"" +
      old +
      "\"\n"
      "file g \"" +
      given +
      "\"\n"
      "when { } then {f} from {make}\n"
      "app use(integer i) to (void v) { \"use\" i }\n"
      "void v w\n"
      "integer i = int(read(f))\n"
      "integer k = int(read(g))\n"
      "when {i} then {v} from {use i}\n"
      "when {k} then {w} from {use k}\n";
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const ScriptPlan all = plan(seed, text);
    ASSERT_EQ(all.result.n_failures, 0U) << all.result.text();
    ASSERT_EQ(lines_of(all, "use"), (std::vector<std::string>{"use 34", "use ?"})) << seed;
    ASSERT_EQ(program_testing::content_of(old), "12\n");
  }
}

TEST(DryRun, LeavesAreCountedAndNotCalled) {
  static std::atomic<int> n_calls{0};
  ASSERT_TRUE(register_leaf("measure_dry", {[](LeafCall& call) {
                              ++n_calls;
                              call.outputs[0] = Value::floating(1);
                            }}));
  const std::string text =
      "leaf measure_dry(integer i) to (float x)\n"
      "container<integer, float> all\n"
      "for i in [1:2000] {\n"
      "  float x\n"
      "  when { } then {x} from {measure_dry i}\n"
      "  insert all[i] = x\n"
      "}\n"
      "integer bad = 1 / 0\n";
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const ScriptPlan all = plan(seed, text);
    ASSERT_EQ(all.calls.size(), 1U);
    ASSERT_EQ(all.calls[0].n, 2000U);
    ASSERT_EQ(all.calls[0].lines.size(), PlannedCalls::kLinesKept);
    ASSERT_EQ(all.calls[0].lines[0], "measure_dry(1)");
    ASSERT_FALSE(all.calls[0].is_app);
    ASSERT_EQ(all.unknown.size(), 1U);
    ASSERT_EQ(all.unknown[0].n, 2000U);
    // What fails even so, fails.
    ASSERT_EQ(all.result.n_failures, 1U);
    ASSERT_NE(all.result.text().find("division by zero"), std::string::npos);
  }
  EXPECT_EQ(n_calls, 0);
}

TEST(DryRun, KnowsWhoseResultIsUnknown) {
  EXPECT_EQ(unknown_in("x: " + unknown_value("name").as_text() + " y"), "name");
  EXPECT_EQ(unknown_in("no such file"), "");
}

TEST(DryRun, WhatNeedsAFailureIsSkippedAsInARun) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const ScriptPlan all = plan(seed,
                                "integer n = 0\ninteger a = 1 / n\ninteger b = a + 1\nprint(b)\n"
                                "container<integer, integer> c\ninsert c[1] = a\n"
                                "foreach v in c { print(v) }\n");
    EXPECT_EQ(all.result.n_failures, 1U) << all.result.text();
    EXPECT_TRUE(all.unknown.empty());
  }
}

}  // namespace
}  // namespace rubato::flow

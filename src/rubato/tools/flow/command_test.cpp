// `rubato flow` as people call it.

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "rubato/tools/flow/script_test.hpp"

namespace rubato::tools {
namespace {

TEST(FlowCommand, RunsAScriptAndSaysWhatItDid) {
  const std::string path = script("sum.tic",
                                  "integer n = int(arg(\"n\", \"10\"))\n"
                                  "container<integer, integer> c\n"
                                  "for i in [1:n] { insert c[i] = i }\n"
                                  "print(\"members\", size(c), c[n])\n");
  const Answer plain = call({"flow", "run", path, "--cores", "2"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.out, "members 10 10\n");
  EXPECT_NE(plain.err.find("0 failed"), std::string::npos) << plain.err;
  const Answer with_argument = call({"flow", "run", path, "--arg", "n=4"});
  EXPECT_EQ(with_argument.out, "members 4 4\n");
  const Answer json = call({"flow", "run", path, "--json"});
  const auto figures = nlohmann::json::parse(json.out.substr(json.out.find('{')));
  EXPECT_EQ(figures["failed"], 0);
  EXPECT_GT(figures["rules"], 0);
  EXPECT_EQ(figures["tasks"], 0);
  EXPECT_EQ(figures["not_freed"]["number"], 0);
  EXPECT_EQ(json.err.find("not freed"), std::string::npos) << json.err;
}

TEST(FlowCommand, EndsWithTheCodeOfWhatWentWrong) {
  const Answer failed = call({"flow", "run", script("bad.tic", "integer a = 1 / 0\nprint(a)\n")});
  EXPECT_EQ(failed.code, 4) << failed.err;
  EXPECT_NE(failed.err.find("bad.tic:1:"), std::string::npos) << failed.err;
  EXPECT_NE(failed.err.find("division by zero"), std::string::npos) << failed.err;
  const Answer wrong =
      call({"flow", "run", script("wrong.tic", "integer alpha = 1\nprint(alpa)\n")});
  EXPECT_EQ(wrong.code, 3) << wrong.err;
  EXPECT_NE(wrong.err.find("did you mean \"alpha\"?"), std::string::npos) << wrong.err;
  EXPECT_EQ(call({"flow", "run", "/no/such/script.tic"}).code, 3);
  const std::string leaf = script("leaf.tic",
                                  "leaf nowhere() to (integer n)\ninteger n\n"
                                  "when { } then {n} from {nowhere}\nprint(n)\n");
  EXPECT_EQ(call({"flow", "check", leaf}).code, 0);
  EXPECT_EQ(call({"flow", "run", "--dry-run", leaf}).code, 3);
  const Answer unknown = call({"flow", "run", leaf});
  EXPECT_EQ(unknown.code, 3) << unknown.err;
  EXPECT_NE(unknown.err.find("leaf.tic:1:6: the program has no leaf 'nowhere'"), std::string::npos)
      << unknown.err;
  EXPECT_EQ(call({"flow", "run", script("n.tic", "print(1)\n"), "--arg", "n"}).code, 2);
  EXPECT_EQ(call({"flow", "walk", "n.tic"}).code, 2);
  for (const char* what : {"run", "check", "print"}) {
    const Answer folder = call({"flow", what, ::testing::TempDir()});
    EXPECT_EQ(folder.code, 3) << folder.err;
    EXPECT_NE(folder.err.find("found a folder, expected a script of TIC"), std::string::npos);
  }
  const Answer stuck = call({"flow", "run",
                             script("stuck.tic",
                                    "container<integer, integer> c\ninteger x\n"
                                    "when {c[1]} then {x} from {= c[1]}\n"
                                    "insert c[x] = 1\n"),
                             "--json"});
  EXPECT_EQ(stuck.code, 1) << stuck.err;
  EXPECT_NE(stuck.err.find("wait for ever"), std::string::npos) << stuck.err;
  // What rules hold that wait is not freed, and is no leak.
  const auto held = nlohmann::json::parse(stuck.out)["not_freed"];
  EXPECT_EQ(held["number"], 2);
  EXPECT_NE(held["places"][0]["place"].get<std::string>().find("stuck.tic:"), std::string::npos);
  EXPECT_EQ(stuck.err.find("not freed"), std::string::npos) << stuck.err;
}

TEST(FlowCommand, SaysWhatWasNeverSetAndWhoNeededIt) {
  const std::string path = script("unset.tic",
                                  "function f(integer n) to (integer x) { if n > 3 { x = 1 } }\n"
                                  "app use(integer n) to (void v) { \"true\" n }\n"
                                  "integer x\nvoid v\n"
                                  "when { } then {x} from {f int(arg(\"n\"))}\n"
                                  "when {x} then {v} from {use x}\n");
  const Answer unset = call({"flow", "run", path, "--arg", "n=2", "--json"});
  EXPECT_EQ(unset.code, 4) << unset.err;
  EXPECT_NE(unset.err.find(path + ": 1 task needs what was never set:\n  task 'use' of " + path +
                           ":6:1 did not run: it needs 'x', and the datum of " + path +
                           ":3:9 was never set\n"),
            std::string::npos)
      << unset.err;
  const auto json = nlohmann::json::parse(unset.out);
  EXPECT_EQ(json["never_set"], 1);
  EXPECT_EQ(json["failures"].size(), 1U);
  const Answer set = call({"flow", "run", path, "--arg", "n=4"});
  EXPECT_EQ(set.code, 0);
  EXPECT_EQ(set.err.find("never set"), std::string::npos) << set.err;
  const std::string rest = script("rest.tic", "integer x\nprint(1)\n");
  const Answer noted = call({"flow", "run", rest, "--json"});
  EXPECT_EQ(noted.code, 0) << noted.err;
  EXPECT_NE(noted.err.find(rest + ": 1 datum was never set, and nothing needed it:\n  'x' of " +
                           rest + ":1:9\n"),
            std::string::npos)
      << noted.err;
  EXPECT_EQ(nlohmann::json::parse(noted.out.substr(noted.out.find('{')))["unset"]["number"], 1);
}

TEST(FlowCommand, TriesAgainAndEndsWhatTakesTooLongAsItIsTold) {
  const std::string count = scratch("tries");
  const std::string path =
      script("tries.tic",
             "app fail(string s) to (void v) { \"sh\" \"-c\" \"echo x >> $0; false\" s }\n"
             "app own(string s) to (void v) retries 0 { \"sh\" \"-c\" \"echo x >> $0; false\" s }\n"
             "void v w\nif arg(\"own\") == \"no\" { when { } then {v} from {fail \"" +
                 count + "\"} } else { when { } then {w} from {own \"" + count + "\"} }\n");
  EXPECT_EQ(call({"flow", "run", path, "--arg", "own=no", "--retries", "2"}).code, 4);
  EXPECT_EQ(text_of(count), "x\nx\nx\n");
  EXPECT_EQ(call({"flow", "run", path, "--arg", "own=yes", "--retries", "2"}).code, 4);
  EXPECT_EQ(text_of(count), "x\nx\nx\nx\n");
  const std::string slow = script("slow.tic",
                                  "app nap(float s) to (void v) { \"sleep\" s }\n"
                                  "void v w\nwhen { } then {v} from {nap 60.0}\n"
                                  "when { } then {w} from {nap 0.5} timeout 60\n"
                                  "wait (w) { print(\"well\") }\n");
  const Answer late = call({"flow", "run", slow, "--timeout", "0.2", "--json"});
  EXPECT_EQ(late.code, 4) << late.err;
  EXPECT_EQ(late.out.find("well\n"), 0U) << late.out;
  EXPECT_NE(late.err.find("its time of 0.200 s was over"), std::string::npos) << late.err;
  EXPECT_EQ(nlohmann::json::parse(late.out.substr(late.out.find('{')))["timeout"], 0.2);
  EXPECT_EQ(call({"flow", "run", slow, "--timeout", "0"}).code, 2);
  EXPECT_EQ(call({"flow", "run", slow, "--retries", "-1"}).code, 2);
}

TEST(FlowCommand, FindsBeforeTheRunThatAReportCannotBeWritten) {
  const std::string path = script("before.tic", "print(\"it ran\")\n");
  for (const char* option : {"--report", "--trace"}) {
    const Answer answer = call({"flow", "run", path, option, "/no/such/folder/x"});
    EXPECT_EQ(answer.code, 3) << answer.err;
    EXPECT_EQ(answer.out, "");
    EXPECT_NE(answer.err.find("cannot write /no/such/folder/x: there is no folder /no/such/folder"),
              std::string::npos)
        << answer.err;
    EXPECT_EQ(call({"flow", "run", path, option, ::testing::TempDir()}).code, 3);
  }
}

TEST(FlowCommand, SaysThatPrintsCouldNotBeWritten) {
  const std::string path = script("full.tic", "print(\"it ran\")\n");
  const std::string err = scratch("full.err");
  const Finished full = run_program(
      {"sh", "-c", "exec \"$@\" >/dev/full 2>" + err, "sh", RUBATO_PROGRAM, "flow", "run", path});
  EXPECT_EQ(full.code, 1);
  const Answer report = call({"flow", "run", path, "--report", "/dev/full"});
  EXPECT_EQ(report.code, 1) << report.err;
  EXPECT_EQ(report.out, "it ran\n");
  EXPECT_NE(text_of(err).find("writing what the script prints failed"), std::string::npos)
      << text_of(err);
}

TEST(FlowCommand, TellsHowManyMoreWaitAndFail) {
  const Answer many =
      call({"flow", "run",
            script("many.tic",
                   "container<integer, integer> c d\n"
                   "for i in [1:30] { insert d[i] = 1 / 0; insert c[c[i]] = 1 }\n")});
  EXPECT_EQ(many.code, 4) << many.err;
  EXPECT_NE(many.err.find("30 tasks failed"), std::string::npos) << many.err;
  std::size_t n = 0;
  for (std::size_t at = many.err.find("\n  and 10 more"); at != std::string::npos;
       at = many.err.find("\n  and 10 more", at + 1))
    ++n;
  EXPECT_EQ(n, 2U) << many.err;
}

TEST(FlowCommand, ShowsBytesThatSteerTerminalsInReasonsAsNumbers) {
  const Answer zero =
      call({"flow", "run",
            script("zero.tic", "assert(false, \"a\\0b\\x1b[2J\")\nprint(int(\"7\\0seven\"))\n")});
  EXPECT_EQ(zero.code, 4) << zero.err;
  EXPECT_NE(zero.err.find("assert(): a\\x00b\\x1b[2J"), std::string::npos) << zero.err;
  EXPECT_NE(zero.err.find("found \"7\\x00seven\", expected an integer"), std::string::npos)
      << zero.err;
}

TEST(FlowCommand, RunsScriptsAsDeepAsTheyMayBe) {
  const auto repeated = [](const std::string& text, int n) {
    std::string all;
    for (int i = 0; i < n; ++i)
      all += text;
    return all;
  };
  const std::string text = "integer a = " + repeated("(", 60) + "7" + repeated(")", 60) +
                           "\ninteger b = 1" + repeated(" + 1", 249) + "\n" +
                           repeated("if a > 0 { ", 60) + "print(a, b)" + repeated(" }", 60) + "\n";
  const Answer deep = call({"flow", "run", script("deep.tic", text)});
  EXPECT_EQ(deep.code, 0) << deep.err;
  EXPECT_EQ(deep.out, "7 250\n");
}

TEST(FlowCommand, HasWorkersForTypesOfWork) {
  const std::string path =
      script("typed.tic",
             "app say(integer n) to (string s) type mouth { \"echo\" n stdout=s }\n"
             "string s\nwhen {} then {s} from {say 7}\nprint(trim(s))\n");
  const Answer told = call({"flow", "run", path, "--workers", "mouth=1/node"});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_EQ(told.out, "7\n");
  const Answer before = call({"flow", "run", "--workers", "mouth=1/node", "--retries", "1", path});
  EXPECT_EQ(before.out, "7\n") << before.err;
  const Answer none = call({"flow", "run", path});
  EXPECT_EQ(none.code, 3) << none.err;
  EXPECT_NE(none.err.find("typed.tic:1:5: work of type mouth: expected workers"), std::string::npos)
      << none.err;
  EXPECT_EQ(call({"flow", "run", path, "--workers", "mouth"}).code, 2);
}

TEST(FlowCommand, ChecksAndPrintsScripts) {
  const std::string path = script("form.tic", "integer   a=1+2 ; print( a )\n");
  EXPECT_EQ(call({"flow", "check", path}).code, 0);
  const Answer printed = call({"flow", "print", path});
  EXPECT_EQ(printed.out, "integer a = 1 + 2\nprint(a)\n");
  EXPECT_EQ(call({"flow", "print", script("again.tic", printed.out)}).out, printed.out);
  const Answer instead = call({"flow", "run", path, "--print-tic"});
  EXPECT_EQ(instead.code, 0) << instead.err;
  EXPECT_EQ(instead.out, printed.out);
  EXPECT_EQ(call({"flow", "run", path, "--print-tic", "--dry-run"}).code, 2);
  // It would say of what is done that it would run.
  EXPECT_EQ(call({"flow", "run", path, "--resume", path + ".journal", "--dry-run"}).code, 2);
}

TEST(FlowCommand, RunsTheSameScriptOnSeveralNodes) {
  const std::string path = script("nodes.tic",
                                  "function fib(integer n) to (integer f) {\n"
                                  "  if n < 2 { f = n } else {\n"
                                  "    integer a b\n"
                                  "    when {n} then {a} from {fib (n - 1)}\n"
                                  "    when {n} then {b} from {fib (n - 2)}\n"
                                  "    f = a + b\n  }\n}\n"
                                  "integer f\nwhen { } then {f} from {fib 13}\n"
                                  "print(\"fib\", f, n_nodes())\n");
  for (const std::string& mpi : installed_mpis()) {
    const Answer answer = call({"launch", "-n", "5", "--mpi", mpi, "--", RUBATO_PROGRAM, "flow",
                                "run", path, "--cores", "1"});
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(answer.out, "fib 233 5\n") << mpi;
    const Answer failed =
        call({"launch", "-n", "2", "--mpi", mpi, "--", RUBATO_PROGRAM, "flow", "run",
              script("failed.tic", "integer a = 1 / 0\nprint(a)\n"), "--cores", "1"});
    EXPECT_EQ(failed.code, 4) << failed.err;
  }
}

// Programs, a statement that fails, and one that needs what failed.
std::string script_to_see() {
  return script("see.tic",
                "app nap(integer i) to (void v) { \"sh\" \"-c\" \"sleep 0.05; test $0 != 3\" i }\n"
                "container<integer, integer> done\n"
                "for i in [1:6] {\n"
                "  void v\n"
                "  when { } then {v} from {nap i}\n"
                "  wait (v) { insert done[i] = i }\n"
                "}\n"
                "print(\"five\", done[1])\n");
}

void expect_figures(const nlohmann::json& run, std::uint64_t n_cores) {
  std::uint64_t n = 0;
  bool has_programs = false;
  for (const auto& name : run["names"]) {
    n += name["number"].get<std::uint64_t>();
    if (name["kind"] != "program") continue;
    has_programs = true;
    EXPECT_EQ(name["name"], "nap");
    EXPECT_NE(name["place"].get<std::string>().find("see.tic:5:27"), std::string::npos);
    EXPECT_EQ(name["number"], 6);
    EXPECT_EQ(name["failed"], 1);
    EXPECT_GE(name["seconds"], 6 * 0.05);
  }
  EXPECT_TRUE(has_programs) << run["names"];
  EXPECT_EQ(n, run["run"]);
  EXPECT_EQ(run["tasks"], 6);
  EXPECT_EQ(run["tasks"].get<std::uint64_t>() + run["rules"].get<std::uint64_t>(), run["run"]);
  EXPECT_EQ(run["failed"], 1);
  EXPECT_EQ(run["slowest"][0]["name"], "nap");
  EXPECT_EQ(run["slowest"][0]["with"].get<std::string>().find("sh -c sleep 0.05"), 0U);
  EXPECT_EQ(run["use"]["cores"].size(), n_cores);
  double beside = 0;
  for (const auto& core : run["use"]["cores"]) {
    for (const double share : core["beside"])
      beside += share * run["use"]["bin_s"].get<double>();
  }
  EXPECT_GE(beside, 6 * 0.05 * 0.9);
}

TEST(FlowCommand, ReportsAndTracesWhatRanAndWhatFailed) {
  const std::string path = script_to_see();
  const std::string page = scratch("see.html");
  const std::string trace = scratch("see.trace");
  const Answer answer =
      call({"flow", "run", path, "--cores", "2", "--json", "--report", page, "--trace", trace});
  EXPECT_EQ(answer.code, 4) << answer.err;
  expect_figures(nlohmann::json::parse(answer.out.substr(answer.out.find('{'))), 2);
  const std::string html = text_of(page);
  for (const char* part :
       {"What failed", "ended with code 1", "sleep 0.05", "data:image/png", "nap"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  std::uint64_t n_programs = 0;
  const auto events = nlohmann::json::parse(text_of(trace));
  // The rule that starts a program has its name, and is there as well if it took long.
  std::map<std::string, double> begins;
  for (const auto& event : events["traceEvents"]) {
    if (event.value("cat", "") != "task" || event["name"] != "nap") continue;
    const double us = event["ts"].get<double>();
    if (event["ph"] == "b") begins[event["id"].get<std::string>()] = us;
    if (event["ph"] == "e") n_programs += us - begins.at(event["id"].get<std::string>()) > 45e3;
  }
  EXPECT_EQ(n_programs, 6U);
  EXPECT_EQ(call({"flow", "run", path, "--report", "/no/such/folder/x.html"}).code, 3);
}

TEST(FlowCommand, ReportsAndTracesJobsOfSeveralNodes) {
  const std::string path = script_to_see();
  for (const std::string& mpi : installed_mpis()) {
    const std::string trace = scratch("nodes.trace");
    const Answer answer =
        call({"launch", "-n", "2", "--mpi", mpi, "--", RUBATO_PROGRAM, "flow", "run", path,
              "--cores", "1", "--json", "--progress", "--trace", trace});
    EXPECT_EQ(answer.code, 4) << answer.err;
    expect_figures(nlohmann::json::parse(answer.out.substr(answer.out.find('{'))), 2);
    std::set<int> nodes;
    const auto events = nlohmann::json::parse(text_of(trace));
    for (const auto& event : events["traceEvents"])
      nodes.insert(event["pid"].get<int>());
    EXPECT_EQ(nodes, (std::set<int>{0, 1})) << mpi;
  }
}

TEST(FlowCommand, SaysHowFarItIsWhereItIsAskedTo) {
  const std::string path = script("far.tic",
                                  "app nap(integer i) to (void v) { \"sleep\" i }\n"
                                  "void u v w\n"
                                  "integer i = 3 * 7\n"
                                  "when { } then {v} from {nap 1}\n"
                                  "when {v} then {u} from {nap 0}\n"
                                  "wait (v) { when { } then {w} from {nap 0} }\n");
  const Answer answer = call({"flow", "run", path, "--cores", "1", "--progress-every", "0.3"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(call({"flow", "run", path, "--progress-every", "0"}).code, 2);
  // Programs, and nothing of what the interpreter does for them.
  EXPECT_NE(answer.err.find("1 running, 1 waiting, 0 done, 0 failed, "), std::string::npos)
      << answer.err;
  EXPECT_NE(answer.err.find("\n3 tasks, 0 failed, 0 not run, in "), std::string::npos)
      << answer.err;
}

TEST(FlowCommand, TakesNoTimeThatIsNoNumber) {
  const std::string path = script("sum.tic", "integer a = 1\n");
  for (const char* const time : {"nan", "inf", "0", "-1"}) {
    const Answer answer = call({"flow", "run", path, "--timeout", time});
    EXPECT_EQ(answer.code, 2) << time;
    EXPECT_NE(answer.err.find("expected seconds, more than 0"), std::string::npos) << answer.err;
  }
}

// By a program of it, when another one has ended.
TEST(FlowCommand, SaysHowToGoOnAfterCtrlC) {
  const std::string folder = scratch("interrupted");
  const std::string path =
      script("interrupted.tic",
             "app done() to (string s) { \"echo\" arg(\"title\") stdout=s }\n"
             "app end(string s) to (void v) {\n"
             "  \"sh\" \"-c\" \"test -e $1 && exit; > $1; kill -INT $0; sleep 20\"\n"
             "    arg(\"process\") arg(\"again\") s }\n"
             "string s\nvoid v\n"
             "when { } then {s} from {done}\n"
             "when {s} then {v} from {end s}\n");
  const Finished ended = run_program(
      {"sh", "-c",
       "mkdir \"$2.tmp\" && export TMPDIR=\"$2.tmp\"; "
       "exec \"$0\" flow run \"$1\" --cores 1 --arg process=$$ --arg again=\"$2.again\" "
       "--arg \"title=two words\" --journal \"$2\" 2>&1",
       RUBATO_PROGRAM, path, folder});
  EXPECT_EQ(ended.code, 130) << ended.out;
  EXPECT_TRUE(std::filesystem::is_empty(folder + ".tmp"));  // the folder for files without a name
  EXPECT_NE(ended.out.find("s; 1 task has ended well and is written down in " + folder + "\n" +
                           "go on with: rubato flow run " + path + " --arg process="),
            std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find(" --arg again=" + folder + ".again --arg 'title=two words' --cores 1" +
                           " --resume " + folder + "\n"),
            std::string::npos)
      << ended.out;
  const Answer again =
      call({"flow", "run", path, "--cores", "1", "--arg", "process=0", "--arg", "title=two words",
            "--arg", "again=" + folder + ".again", "--resume", folder});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.err.find("journal: 1 done before, 1 new"), std::string::npos) << again.err;
}

TEST(FlowCommand, ShowsTheFirstReasonsWhyTasksAreDoneAgainAndWhereAllStand) {
  const std::string folder = scratch("reasons");
  const std::string input = scratch("reasons.txt");
  const std::string path =
      script("reasons.tic",
             "app show(file f, integer i) to (string s) { \"echo\" f i stdout=s }\n"
             "file f \"" +
                 input +
                 "\"\n"
                 "for i in [1 : 25] {\n  string s\n"
                 "  when {f} then {s} from {show f i}\n  print(length(s) > 0)\n}\n");
  std::ofstream(input) << "one";
  ASSERT_EQ(call({"flow", "run", path, "--journal", folder}).code, 0);
  std::ofstream(input) << "other";
  const Answer again = call({"flow", "run", path, "--resume", folder, "--json"});
  EXPECT_EQ(again.code, 0) << again.err;
  const std::string in = folder + "/run-0002-node-*.again";
  EXPECT_NE(again.err.find("journal: 0 done before, 0 new, 25 done again\n  echo "),
            std::string::npos)
      << again.err;
  EXPECT_NE(again.err.find("\n  and 5 more: all stand in " + in + "\n"), std::string::npos)
      << again.err;
  const auto json = nlohmann::json::parse(again.out.substr(again.out.find('{')))["journal"];
  EXPECT_EQ(json["why"].size(), 25U);
  EXPECT_EQ(json["why_in"], in);
  const std::string all = text_of(folder + "/run-0002-node-0000.again");
  EXPECT_EQ(std::ranges::count(all, '\n'), 25) << all;
}

TEST(FlowCommand, ListsWhatToDoWithAScript) {
  const Answer help = call({"flow", "--help"});
  EXPECT_EQ(help.out.find("Run models"), std::string::npos) << help.out;
  EXPECT_NE(help.out.find("What to do with a script:\n  run "), std::string::npos) << help.out;
}

TEST(FlowCommand, NamesFilesByResults) {
  const std::string folder = scratch("names");
  const std::string path = script("names.tic",
                                  "app say(string s) to (string t) { \"echo\" \"-n\" s stdout=t }\n"
                                  "app write(string s) to (file f) { \"echo\" s stdout=f }\n"
                                  "string n\n"
                                  "when { } then {n} from {say arg(\"n\", \"seven\")}\n"
                                  "file f (\"" +
                                      folder + "/\" ++ n ++ \".txt\") g \"" + folder +
                                      "/six.txt\"\n"
                                      "when { } then {f} from {write \"late\"}\n"
                                      "when {f} then {g} from {write filename(f)}\n"
                                      "print(read(g))\n");
  const Answer answer = call({"flow", "run", path, "--cores", "2"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.out, folder + "/seven.txt\n\n");
  EXPECT_EQ(text_of(folder + "/seven.txt"), "late\n");
  const Answer dry = call({"flow", "run", path, "--dry-run"});
  EXPECT_EQ(dry.out,
            "app say, 1 time\n  echo -n seven\napp write, 2 times\n  echo ? > " + folder +
                "/six.txt\n  echo late > ?\n'print' of " + path +
                ":8:1 depends on results of write\nthe name of file 'f' of " + path +
                ":5:6 depends on results of say\n3 programs and 0 leaves would run, and what 2 "
                "statements decide by results\n");
  // Whichever asks first has the name.
  const Answer same = call({"flow", "run", path, "--arg", "n=six"});
  EXPECT_EQ(same.code, 4) << same.err;
  EXPECT_NE(same.err.find("found the name " + folder + "/six.txt, which file '"), std::string::npos)
      << same.err;
  for (const char* name : {"'f' of ", "'g' of "})
    EXPECT_NE(same.err.find(name + path + ":5:"), std::string::npos) << same.err;
}

// A terminal for a program's standard output and errors, and what it shows.
class Terminal {
 public:
  Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    EXPECT_EQ(::grantpt(master_), 0);
    EXPECT_EQ(::unlockpt(master_), 0);
    name_ = ::ptsname(master_);
    slave_ = ::open(name_.c_str(), O_RDWR | O_NOCTTY);  // what it shows stays until it is read
    EXPECT_GE(slave_, 0);
  }
  ~Terminal() {
    ::close(slave_);
    ::close(master_);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string shown() const {
    std::string all;
    std::array<char, 4096> some{};
    for (ssize_t n = 0; (n = ::read(master_, some.data(), some.size())) > 0;)
      all.append(some.data(), static_cast<std::size_t>(n));
    return all;
  }

 private:
  int master_;
  int slave_ = -1;
  std::string name_;
};

TEST(FlowCommand, PrintsOnLinesOfTheirOwnWhereALineOfProgressStands) {
  const std::string path = script("lines.tic",
                                  "app nap(float s) to (void v) { \"sleep\" s }\n"
                                  "void v w\n"
                                  "when { } then {v} from {nap 0.8}\n"
                                  "wait (v) { print(\"halfway\") }\n"
                                  "when {v} then {w} from {nap 0.4}\n");
  const Terminal terminal;
  const Finished finished =
      run_program({"sh", "-c", "exec \"$@\" >" + terminal.name() + " 2>&1", "sh", RUBATO_PROGRAM,
                   "flow", "run", path, "--cores", "1", "--progress-every", "0.2"});
  EXPECT_EQ(finished.code, 0);
  const std::string shown = terminal.shown();
  // The terminal makes two characters of a newline.
  const std::size_t at = shown.find(" tasks/s\r\033[Khalfway\r\n\r\033[K" + path + ": ");
  EXPECT_NE(at, std::string::npos) << shown;
}

TEST(FlowCommand, ADryRunSaysWhatWouldRun) {
  const std::string made = scratch("made");
  const std::string path = script("dry.tic",
                                  "app make() to (file f) { \"touch\" f }\n"
                                  "app count(file f) to (string n) { \"wc\" \"-l\" f stdout=n }\n"
                                  "file f \"" +
                                      made +
                                      "\"\n"
                                      "string n\n"
                                      "when { } then {f} from {make}\n"
                                      "when {f} then {n} from {count f}\n"
                                      "print(n)\n");
  const Answer answer = call({"flow", "run", path, "--dry-run"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.out,
            "app count, 1 time\n"
            "  wc -l " +
                made +
                "\n"
                "app make, 1 time\n"
                "  touch " +
                made +
                "\n"
                "'print' of " +
                path +
                ":7:1 depends on results of count\n"
                "2 programs and 0 leaves would run, and what 1 statement decides by "
                "results\n");
  EXPECT_FALSE(std::ifstream(made).good());
  const Answer json = call({"flow", "run", path, "--dry-run", "--json"});
  const auto plan = nlohmann::json::parse(json.out);
  EXPECT_EQ(plan["calls"][0]["lines"][0], "wc -l " + made);
  EXPECT_EQ(plan["unknown"][0]["needs"], "count");
  const Answer failed =
      call({"flow", "run", script("bad.tic", "integer a = 1 / 0\nprint(a)\n"), "--dry-run"});
  EXPECT_EQ(failed.code, 4) << failed.err;
  const Answer failures = call(
      {"flow", "run", script("bad.tic", "integer a = 1 / 0\nprint(a)\n"), "--dry-run", "--json"});
  EXPECT_EQ(nlohmann::json::parse(failures.out)["failures"].size(), 1U) << failures.out;
  EXPECT_EQ(call({"flow", "run", "/no/such/script.tic", "--dry-run"}).code, 3);
}

}  // namespace
}  // namespace rubato::tools

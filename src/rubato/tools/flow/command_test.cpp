// `rubato flow` as people call it.

#include <algorithm>
#include <fstream>

#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

std::string script(const std::string& name, const std::string& text) {
  const std::string path = scratch(name);
  std::ofstream(path) << text;
  return path;
}

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
  EXPECT_GT(figures["run"], 0);
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
  EXPECT_EQ(call({"flow", "run", script("n.tic", "print(1)\n"), "--arg", "n"}).code, 2);
  EXPECT_EQ(call({"flow", "walk", "n.tic"}).code, 2);
  const Answer stuck = call({"flow", "run",
                             script("stuck.tic",
                                    "container<integer, integer> c\ninteger x\n"
                                    "when {c[1]} then {x} from {= c[1]}\n"
                                    "insert c[x] = 1\n")});
  EXPECT_EQ(stuck.code, 1) << stuck.err;
  EXPECT_NE(stuck.err.find("wait for ever"), std::string::npos) << stuck.err;
}

TEST(FlowCommand, HasWorkersForTypesOfWork) {
  const std::string path =
      script("typed.tic",
             "app say(integer n) to (string s) type mouth { \"echo\" n stdout=s }\n"
             "string s\nwhen {} then {s} from {say 7}\nprint(trim(s))\n");
  const Answer told = call({"flow", "run", path, "--workers", "mouth=1/node"});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_EQ(told.out, "7\n");
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
    const Answer answer = call({"launch", "-n", "3", "--mpi", mpi, "--", RUBATO_PROGRAM, "flow",
                                "run", path, "--cores", "1"});
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(answer.out, "fib 233 3\n") << mpi;
    const Answer failed =
        call({"launch", "-n", "2", "--mpi", mpi, "--", RUBATO_PROGRAM, "flow", "run",
              script("failed.tic", "integer a = 1 / 0\nprint(a)\n"), "--cores", "1"});
    EXPECT_EQ(failed.code, 4) << failed.err;
  }
}

}  // namespace
}  // namespace rubato::tools

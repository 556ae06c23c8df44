#include "rubato/tools/command_line.hpp"

#include <sstream>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/models/apps.hpp"
#include "rubato/tools/commands.hpp"

namespace rubato::tools {
namespace {

struct Answer {
  int code = -1;
  std::string out;
  std::string err;
};

// A command line with a command of each kind: `count --to N`, which prints N; `wrap -- PROGRAM`;
// `fail`, which throws; `most`, of which a part fails; `raw`, which takes all words.
class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() {
    CLI::App& count = line_.add({.name = "count",
                                 .group = kRunGroup,
                                 .summary = "Counts",
                                 .examples = "  rubato count --to 3",
                                 .run = [this](const Context& context) {
                                   context.out << (context.json ? "json " : "") << to_ << '\n';
                                   return ExitCode::ok;
                                 }});
    count.add_option("--to", to_, "Where to")->required();
    for (const auto& [name, kind] :
         {std::pair{"wrap", Program::required}, {"raw", Program::all_words}}) {
      line_.add({.name = name,
                 .group = kRunGroup,
                 .summary = "Takes words",
                 .examples = "",
                 .program = kind,
                 .run = [](const Context& context) {
                   for (const auto& word : context.program)
                     context.out << word << ' ';
                   return ExitCode::ok;
                 }});
    }
    line_.add({.name = "fail",
               .group = kRunGroup,
               .summary = "Fails",
               .examples = "",
               .run = [](const Context&) -> ExitCode {
                 throw Error("node 2 is gone", ExitCode::node_lost);
               }});
    line_.add({.name = "most",
               .group = kRunGroup,
               .summary = "Does most of it",
               .examples = "",
               .run = [](const Context&) { return ExitCode::some_tasks_failed; }});
  }

  Answer run(const std::vector<std::string>& words) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = line_.run(words, out, err);
    return {code, out.str(), err.str()};
  }

  int to_ = 0;
  CommandLine line_;
};

TEST_F(CommandLineTest, RunsACommandWithItsOptions) {
  const Answer answer = run({"count", "--to", "3"});
  EXPECT_EQ(answer.code, 0);
  EXPECT_EQ(answer.out, "3\n");
  EXPECT_EQ(answer.err, "");
}

TEST_F(CommandLineTest, TakesJsonBeforeAndBehindTheCommand) {
  EXPECT_EQ(run({"--json", "count", "--to", "3"}).out, "json 3\n");
  EXPECT_EQ(run({"count", "--to", "3", "--json"}).out, "json 3\n");
}

TEST_F(CommandLineTest, VersionIsTextOrAsJsonAnObjectWithTheSameAndMore) {
  for (const auto& words : {std::vector<std::string>{"--version", "--json"},
                            std::vector<std::string>{"--json", "--version"}}) {
    CommandLine line;
    std::ostringstream out;
    std::ostringstream err;
    ASSERT_EQ(line.run(words, out, err), 0) << err.str();
    const auto json = nlohmann::json::parse(out.str());
    const std::string text = run({"--version"}).out;
    for (const char* key : {"program", "version", "commit", "build_type", "compiler"}) {
      EXPECT_NE(text.find(json.at(key).get<std::string>()), std::string::npos) << key << text;
    }
    EXPECT_TRUE(json.at("instruction_sets").is_array());
  }
}

TEST_F(CommandLineTest, NamesTheNearestCommand) {
  const Answer answer = run({"cuont"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_EQ(answer.out, "");
  EXPECT_NE(answer.err.find("unknown command \"cuont\" (did you mean \"count\"?)"),
            std::string::npos)
      << answer.err;
}

TEST_F(CommandLineTest, NamesTheNearestFlagEvenIfARequiredOneIsMissing) {
  const Answer answer = run({"count", "--too=3"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("unknown flag \"--too\" (did you mean \"--to\"?)"), std::string::npos)
      << answer.err;
}

TEST_F(CommandLineTest, RefusesAWrongValueAndAMissingCommand) {
  EXPECT_EQ(run({"count", "--to", "three"}).code, 2);
  EXPECT_EQ(run({"count"}).code, 2);
  EXPECT_EQ(run({}).code, 2);
  EXPECT_EQ(run({"count", "--to", "3", "4"}).code, 2);
}

TEST_F(CommandLineTest, AnErrorIsOneLineAndItsExitCode) {
  const Answer answer = run({"fail"});
  EXPECT_EQ(answer.code, 5);
  EXPECT_EQ(answer.out, "");
  EXPECT_EQ(answer.err, "rubato: node 2 is gone\n");
}

TEST_F(CommandLineTest, HelpHasTheExamplesAndGoesToOut) {
  const Answer answer = run({"count", "--help"});
  EXPECT_EQ(answer.code, 0);
  EXPECT_NE(answer.out.find("rubato count --to 3"), std::string::npos);
  EXPECT_EQ(answer.err, "");
}

TEST_F(CommandLineTest, WordsBehindTheSeparatorBelongToTheProgram) {
  EXPECT_EQ(run({"wrap", "--", "prog", "--json", "--", "-x"}).out, "prog --json -- -x ");
  EXPECT_EQ(run({"wrap"}).code, 2);
  EXPECT_EQ(run({"count", "--to", "3", "--", "prog"}).code, 2);
  const Answer answer = run({"wrap", "prog"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("the program stands behind \"--\""), std::string::npos) << answer.err;
}

TEST_F(CommandLineTest, SomeCommandsTakeAllWords) {
  EXPECT_EQ(run({"raw", "-l", "me", "--help"}).out, "-l me --help ");
}

TEST_F(CommandLineTest, AFullOutputIsAFailure) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(line_.run({"count", "--to", "3"}, out, err), 1);
  EXPECT_NE(err.str().find("disk full"), std::string::npos);
  // What has failed before says more.
  EXPECT_EQ(line_.run({"most"}, out, err), 4);
}

TEST(Commands, EachOneExplainsItself) {
  const Identity identity{.models = models::built_in_apps()};
  CommandLine line(identity);
  add_commands(line);
  std::ostringstream out;
  std::ostringstream err;
  ASSERT_EQ(line.run({"--help"}, out, err), 0);
  for (const char* name :
       {"run", "demo", "compare", "check", "costs", "reproduce", "doctor", "lab", "launch"}) {
    EXPECT_NE(out.str().find(std::string("  ") + name), std::string::npos) << name;
    CommandLine fresh(identity);
    add_commands(fresh);
    std::ostringstream help;
    EXPECT_EQ(fresh.run({name, "--help"}, help, err), 0);
    EXPECT_NE(help.str().find(std::string("rubato ") + name), std::string::npos) << help.str();
  }
  EXPECT_EQ(out.str().find("lab-rsh"), std::string::npos) << "hidden commands stay hidden";
}

// Headings of `rubato --help` say nothing of what a command has below it.
TEST(Commands, EachHasHeadingsOfItsOwnInItsHelp) {
  const auto help_of = [](const std::string& name) {
    CommandLine line({.models = models::built_in_apps()});
    add_commands(line);
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(line.run({name, "--help"}, out, err), 0) << err.str();
    return out.str();
  };
  for (const char* name : {"run", "runs", "demo", "compare", "flow", "check", "costs", "reproduce",
                           "doctor", "lab", "launch"}) {
    const std::string help = help_of(name);
    for (const std::string heading : {kRunGroup, kMeasureGroup, kClusterGroup})
      EXPECT_EQ(help.find(heading + ":"), std::string::npos) << help;
  }
  EXPECT_NE(help_of("runs").find("\nActions:\n  list "), std::string::npos);
  EXPECT_NE(help_of("reproduce").find("\nPapers:\n  ticks "), std::string::npos);
}

}  // namespace
}  // namespace rubato::tools

// `rubato run` as people call it: the program itself.

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/wait.h>

#include "rubato/base/time.hpp"
#include "rubato/tools/run/program_test.hpp"
#include "rubato/tools/run/report.hpp"

namespace rubato::tools {
namespace {

const std::vector<std::string> kHeat{"run",      "heat", "--width", "60",
                                     "--height", "50",   "--ticks", "30"};

std::string checksum_of(const std::vector<std::string>& words) {
  return json_of(words).at("checksum");
}

TEST(RunCommand, NamesTheNearestModel) {
  const Answer answer = call({"run", "haet"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_EQ(answer.out, "");
  EXPECT_NE(answer.err.find("unknown model \"haet\" (did you mean \"heat\"?)"), std::string::npos)
      << answer.err;
  const Answer no_command = call({"heat", "--ticks", "3"});
  EXPECT_EQ(no_command.code, 2);
  EXPECT_NE(no_command.err.find("\"heat\" is a model: rubato run heat"), std::string::npos)
      << no_command.err;
}

TEST(RunCommand, NamesTheNearestParameter) {
  const Answer answer = call({"run", "heat", "--widht", "3"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("\"--widht\" (did you mean \"--width\"?)"), std::string::npos)
      << answer.err;
}

TEST(RunCommand, RefusesAFormatOfFilesThatNobodyAsksFor) {
  const Answer answer = call(with(kHeat, {"--format", "csv"}));
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("--format: expected --output DIR with it, or nothing is written"),
            std::string::npos)
      << answer.err;
}

TEST(RunCommand, SaysWhereAFlagBelongsThatStandsBeforeTheModel) {
  const Answer answer = call({"run", "--cores", "1", "heat"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("\"--cores\" stands too early: rubato run heat --cores .."),
            std::string::npos)
      << answer.err;
}

TEST(RunCommand, HelpHasTheModelsParametersFirstAndWhatFewNeedLast) {
  const Answer answer = call({"run", "heat", "--help"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  std::size_t at = 0;
  for (const char* each :
       {"Parameters of heat:", "--width", "--start-file", "Run:", "--policy",
        "Simulator and network:", "--simulate", "--profile", "Output:", "--output", "--trace",
        "Advanced:", "--epoch", "--slowdown", "--parts-x", "--ns-per-cell", "Examples:"}) {
    const std::size_t next = answer.out.find(std::string("\n") + each, at);
    const std::size_t option = answer.out.find(std::string("\n  ") + each, at);
    ASSERT_NE(std::min(next, option), std::string::npos) << each << " in " << answer.out;
    at = std::min(next, option);
  }
}

TEST(RunCommand, WantsAModel) {
  const Answer answer = call({"run"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("heat"), std::string::npos) << answer.err;
}

TEST(RunCommand, RefusesAPeriodThatReplicasDoNotLastFor) {
  const Answer answer = call(with(kHeat, {"--policy", "k5m1"}));
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("K = 5 is more than M + 1 = 2"), std::string::npos) << answer.err;
}

TEST(RunCommand, EpochsMoveTheSchoolAndKeepItsBits) {
  const std::vector<std::string> fish{"run", "fish", "--fish", "600", "--ticks", "12"};
  const auto whole = json_of(with(fish, {"--simulate", "4"}));
  EXPECT_EQ(whole.at("epochs"), 0);
  const auto moved = json_of(with(fish, {"--simulate", "4", "--policy", "k2m1", "--epoch", "5"}));
  EXPECT_EQ(moved.at("checksum"), whole.at("checksum"));
  EXPECT_EQ(moved.at("epoch"), 5);
  EXPECT_EQ(moved.at("epochs"), 2);
  EXPECT_GT(moved.at("bytes_moved"), 0);
  const auto here = json_of(with(fish, {"--cores", "2", "--epoch", "5"}));
  EXPECT_EQ(here.at("checksum"), whole.at("checksum"));
  EXPECT_EQ(here.at("epochs"), 2);
}

TEST(RunCommand, SaysWhatEpochsMoved) {
  const Answer fish =
      call({"run", "fish", "--fish", "600", "--ticks", "12", "--simulate", "3", "--epoch", "4"});
  EXPECT_EQ(fish.code, 0) << fish.err;
  EXPECT_NE(fish.err.find("epochs: 2, "), std::string::npos) << fish.err;
  EXPECT_NE(fish.err.find(" MB between nodes"), std::string::npos) << fish.err;
  const Answer heat = call(with(kHeat, {"--simulate", "3", "--epoch", "4"}));
  EXPECT_EQ(heat.code, 0) << heat.err;
  EXPECT_NE(heat.err.find("epochs: none"), std::string::npos) << heat.err;
  EXPECT_EQ(call(with(kHeat, {"--epoch", "-1"})).code, 2);
}

TEST(RunCommand, RefusesABadValueOfAParameter) {
  EXPECT_EQ(call({"run", "heat", "--width", "0"}).code, 2);
  EXPECT_EQ(call({"run", "heat", "--width", "wide"}).code, 2);
  EXPECT_EQ(call(with(kHeat, {"--simulate", "3", "--cores", "2"})).code, 2);
  EXPECT_EQ(call(with(kHeat, {"--sim-cores", "3"})).code, 2);
}

TEST(RunCommand, NamesTheNearestProfile) {
  const Answer answer = call(with(kHeat, {"--profile", "ec3-large"}));
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("did you mean \"ec2-large\"?"), std::string::npos) << answer.err;
}

TEST(RunCommand, ShowsTheParametersOfAModel) {
  const Answer answer = call({"run", "heat", "--help"});
  EXPECT_EQ(answer.code, 0);
  for (const char* text : {"--width", "--policy", "cells along x", "rubato run heat "}) {
    EXPECT_NE(answer.out.find(text), std::string::npos) << text << '\n' << answer.out;
  }
}

TEST(RunCommand, PrintsOneLineAndATableByNode) {
  const Answer answer = call(with(kHeat, {"--simulate", "3", "--profile", "ec2-large"}));
  EXPECT_EQ(answer.code, 0);
  EXPECT_EQ(answer.out.find('\n'), answer.out.size() - 1) << answer.out;
  EXPECT_NE(answer.out.find("heat local: 30 ticks in "), std::string::npos) << answer.out;
  EXPECT_NE(answer.err.find("2 (host-3)"), std::string::npos) << answer.err;
  EXPECT_NE(answer.err.find("straggler: "), std::string::npos) << answer.err;
}

TEST(RunReport, TheStragglerIsWhoWaitsClearlyLessOrElseNobody) {
  tick::RunResult result;
  for (core::NodeId id = 0; id < 3; ++id) {
    tick::NodeResult node;
    node.time.node = id;
    node.time.wall = 100;
    node.time.cores.resize(1);
    node.time.cores[0].wall = 100;
    node.time.cores[0].idle = 60;
    result.nodes.push_back(node);
  }
  result.nodes[1].work.late = {{0, 0, 10}, {2, 0, 40}};
  EXPECT_EQ(
      straggler_line(result),
      "straggler: none, all nodes wait alike; the longest wait on one link is that of node 1 for "
      "messages of node 2, 40.0 % of the run");
  result.nodes[2].time.cores[0].idle = 5;
  EXPECT_EQ(straggler_line(result),
            "straggler: node 2, waiting 5.0 %, the least of all; the longest wait on one link is "
            "that of node 1 for messages of node 2, 40.0 % of the run");
  result.nodes.resize(1);
  EXPECT_EQ(straggler_line(result), "");
}

TEST(RunCommand, JsonHasTheFiguresOfEachNode) {
  const auto json = json_of(with(kHeat, {"--simulate", "3", "--policy", "k2m3"}));
  EXPECT_EQ(json.at("model"), "heat");
  EXPECT_EQ(json.at("policy"), "replicate(2,3)");
  EXPECT_EQ(json.at("parameters").at("width"), "60");
  EXPECT_EQ(json.at("ticks"), 30);
  ASSERT_EQ(json.at("nodes").size(), 3U);
  for (const auto& node : json.at("nodes")) {
    const double sum = node.at("stepping").get<double>() + node.at("replicas").get<double>() +
                       node.at("waiting").get<double>() + node.at("sending").get<double>() +
                       node.at("own").get<double>();
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_GT(node.at("messages"), 0);
  }
}

TEST(RunCommand, NoLibraryWritesBetweenTheFigures) {
  // METIS has a word for parts that it finds nothing for.
  for (const auto& [n_vertices, n_nodes] : {std::pair{"20", "20"}, {"30", "15"}, {"100", "50"}}) {
    const auto json = json_of(
        {"run", "pagerank", "--vertices", n_vertices, "--simulate", n_nodes, "--ticks", "3"});
    EXPECT_EQ(json.at("nodes").size(), static_cast<std::size_t>(std::stoi(n_nodes)));
  }
}

TEST(RunCommand, SaysThatAProfileDoesNothingToOneNode) {
  const std::vector<std::string> heat{"run", "heat",    "--width", "20",        "--height",
                                      "20",  "--ticks", "3",       "--profile", "ec2-large"};
  EXPECT_NE(call(heat).err.find("--profile: one node sends no messages"), std::string::npos);
  std::vector<std::string> simulated = heat;
  simulated.insert(simulated.end(), {"--simulate", "2"});
  EXPECT_EQ(call(simulated).err.find("--profile"), std::string::npos);
}

TEST(RunCommand, SaysWhetherTheStopConditionWasReached) {
  const auto pagerank = [](const char* tolerance, const std::vector<std::string>& more) {
    std::vector<std::string> words{"run", "pagerank", "--vertices", "200",         "--ticks",
                                   "25",  "--top",    "0",          "--tolerance", tolerance};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  for (const auto& more : {std::vector<std::string>{}, {"--simulate", "3"}}) {
    EXPECT_NE(call(pagerank("1e-15", more))
                  .err.find("stop condition: not reached at tick 15, the last test that could end "
                            "a run of 25 ticks\n"),
              std::string::npos);
    EXPECT_NE(call(pagerank("1e-3", more)).err.find("stop condition: reached, at tick "),
              std::string::npos);
    EXPECT_EQ(call(pagerank("0", more)).err.find("stop condition"), std::string::npos);
    EXPECT_EQ(json_of(pagerank("1e-15", more)).at("stopped"), false);
    EXPECT_EQ(json_of(pagerank("1e-3", more)).at("stopped"), true);
  }
}

TEST(RunCommand, ChecksumsAreEqualForCoresAndVirtualNodes) {
  const std::string one = checksum_of(with(kHeat, {"--cores", "1"}));
  EXPECT_EQ(one.size(), 16U);
  EXPECT_EQ(checksum_of(with(kHeat, {"--cores", "2"})), one);
  EXPECT_EQ(checksum_of(with(kHeat, {"--simulate", "7", "--policy", "k3m5d10"})), one);
  EXPECT_NE(checksum_of(with(kHeat, {"--cores", "1", "--edge", "1"})), one);
}

TEST(RunCommand, SeedIsTheModelsToo) {
  const std::vector<std::string> fish{"run", "fish", "--fish", "200", "--ticks", "3"};
  EXPECT_EQ(checksum_of(with(fish, {"--seed", "5"})),
            checksum_of(with(fish, {"--seed", "5", "--simulate", "3", "--net-seed", "9",
                                    "--profile", "ec2-large"})));
  EXPECT_NE(checksum_of(with(fish, {"--seed", "5"})), checksum_of(with(fish, {"--seed", "6"})));
}

TEST(RunCommand, PageRankNamesTheBestWhateverTheNodes) {
  const std::vector<std::string> pagerank{"run",     "pagerank", "--vertices", "300",
                                          "--ticks", "30",       "--top",      "4"};
  const auto findings = json_of(with(pagerank, {"--cores", "1"})).at("findings");
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_EQ(findings.at(0).at("rank"), 1);
  EXPECT_GT(findings.at(0).at("share"), findings.at(3).at("share"));
  EXPECT_EQ(json_of(with(pagerank, {"--simulate", "5", "--policy", "d2"})).at("findings"),
            findings);
}

TEST(RunCommand, JacobiWarnsOfWhatMayNotConvergeHereAndInTheSimulator) {
  const std::vector<std::string> jacobi{"run",     "jacobi", "--rows",      "60",
                                        "--ticks", "3",      "--dominance", "0.9"};
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--cores", "1"}, {"--simulate", "2"}}) {
    const Answer answer = call(with(jacobi, more));
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_NE(answer.err.find("warning: the trial matrix: the diagonal does not dominate in "),
              std::string::npos)
        << answer.err;
    EXPECT_EQ(json_of(with(jacobi, more)).at("findings").at(0).at("value"), 60);
  }
}

TEST(RunCommand, PageRankUsesWeightsThatPeopleNameAndThoseOfAMatrix) {
  const std::string file = scratch("weighted.txt");
  const auto found = [&](const std::string& text, const std::vector<std::string>& more) {
    std::ofstream(file) << text;
    const auto json = json_of(with({"run", "pagerank", "--input", file, "--ticks", "20"}, more));
    std::remove(file.c_str());
    return json.at("findings");
  };
  const std::string edges = "0 1 1\n0 2 3\n1 0 1\n2 0 1\n";
  const auto even = found("0 1\n0 2\n1 0\n2 0\n", {});
  const auto weighted = found(edges, {"--weight-column", "3"});
  EXPECT_EQ(found(edges, {"--weight-column", "0"}), even);
  EXPECT_NE(weighted, even);
  EXPECT_EQ(weighted.at(1).at("name"), "2");
  const std::string matrix =
      "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 2 1\n1 3 3\n2 1 1\n3 1 1\n";
  EXPECT_EQ(found(matrix, {}), weighted);
  EXPECT_EQ(found(matrix, {"--weight-column", "0"}), even);
}

// "vertex,name,rank", by line.
std::string written_ranks(const nlohmann::json& json, double& sum, double& best) {
  std::ifstream in(std::string(json.at("files").at(0)));
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "vertex,name,rank");
  std::string all;
  for (sum = best = 0; std::getline(in, line); all += line + '\n') {
    const double rank = std::stod(line.substr(line.rfind(',') + 1));
    sum += rank;
    best = std::max(best, rank);
  }
  return all;
}

TEST(RunCommand, PageRankWritesRanksThatSumToOneAndAreThoseItNames) {
  // Without --tolerance the sum before normalising is far from 1: dangling vertices.
  const std::vector<std::string> pagerank{"run", "pagerank", "--vertices", "300",     "--degree",
                                          "1",   "--ticks",  "30",         "--output"};
  double sum = 0;
  double best = 0;
  const std::string folder = scratch("ranks");
  const auto one = json_of(with(pagerank, {folder + "1", "--format", "csv"}));
  const std::string expected = written_ranks(one, sum, best);
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_EQ(best, one.at("findings").at(0).at("share"));
  const auto many = json_of(with(pagerank, {folder + "5", "--format", "csv", "--simulate", "5"}));
  EXPECT_EQ(written_ranks(many, sum, best), expected);
  const Answer help = call({"run", "pagerank", "--help"});
  EXPECT_NE(help.out.find("ranks of each file sum to 1"), std::string::npos) << help.out;
  for (const char* each : {"1", "5"})
    std::filesystem::remove_all(folder + each);
}

TEST(RunCommand, OutputsAreNamedAndThere) {
  const std::string folder = scratch("out");
  const auto json = json_of(with(kHeat, {"--output", folder, "--format", "csv"}));
  ASSERT_EQ(json.at("files").size(), 1U);
  const std::string file = json.at("files").at(0);
  EXPECT_TRUE(std::ifstream(file).good()) << file;
  EXPECT_EQ(call({"run", "heat", "--output", folder, "--format", "gif"}).code, 2);
}

TEST(RunCommand, ANumberOfNodesThatDoesNotGoIsNamedByTheOptionOfTheCommand) {
  const std::vector<std::string> size{"heat", "--width", "2", "--height", "2"};
  const Answer run = call(with(with({"run"}, size), {"--simulate", "5"}));
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("rubato: --simulate 5: a grid of 2 x 2"), std::string::npos) << run.err;
  const Answer compared = call(with(with({"compare"}, size), {"--nodes", "5"}));
  EXPECT_EQ(compared.code, 2);
  EXPECT_NE(compared.err.find("rubato: --nodes 5: a grid of 2 x 2"), std::string::npos)
      << compared.err;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(RunCommand, HeatGoesOnFromWhatItHasWrittenInTheBitsOfOneRun) {
  const std::string folder = scratch("again");
  const std::string walls = scratch("walls.csv");
  std::ofstream(walls) << "1,1,1,1,1,1,1\n1,0,0,1,0,0,1\n1,1,1,1,1,1,1\n1,0,1,1,1,0,1\n";
  const std::vector<std::vector<std::string>> plates{
      {"--width", "60", "--height", "50"},
      {"--width", "60", "--height", "50", "--time-step", "0.2", "--edge", "3"},
      {"--walls", walls, "--edges", "insulated", "--start", "7", "--time-step", "0.1"}};
  for (const auto& plate : plates) {
    const auto ticks = [&](const char* n, const std::vector<std::string>& more) {
      return with(with(with({"run", "heat"}, plate), {"--ticks", n}), more);
    };
    const std::string first =
        json_of(ticks("30", {"--output", folder, "--format", "csv"})).at("files").at(0);
    const std::vector<std::string> start{"--start-file", first};
    EXPECT_EQ(checksum_of(ticks("20", start)), checksum_of(ticks("50", {})));
    EXPECT_EQ(checksum_of(ticks("20", with(start, {"--simulate", "3"}))),
              checksum_of(ticks("50", {})));
    const auto same =
        json_of(ticks("0", with(start, {"--output", folder + "/same", "--format", "csv"})));
    EXPECT_EQ(text_of(same.at("files").at(0)), text_of(first));
  }
  std::filesystem::remove_all(folder);
  std::filesystem::remove(walls);
}

TEST(RunCommand, ATraceIsJsonWithStepsAndMessages) {
  const std::string file = scratch("trace.json");
  const Answer answer = call(with(kHeat, {"--simulate", "3", "--trace", file}));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto trace = nlohmann::json::parse(std::ifstream(file));
  std::size_t n_steps = 0;
  std::size_t n_messages = 0;
  for (const auto& event : trace.at("traceEvents")) {
    n_steps += event.at("name") == "step" ? 1 : 0;
    n_messages += event.at("ph") == "b" ? 1 : 0;
  }
  EXPECT_GE(n_steps, 3U * 30U);
  EXPECT_EQ(n_messages, 2U * 2U * 30U) << "two borders, both ways, a round each tick";
  std::remove(file.c_str());
}

TEST(RunCommand, SignalsEndARunWithTheirCode) {
  for (const auto& [signal, code] : {std::pair{SIGTERM, 143}, {SIGINT, 130}}) {
    const pid_t child = fork();
    if (child == 0) {
      execute({RUBATO_PROGRAM, "run", "heat", "--ticks", "100000000"});
      _exit(99);
    }
    nap(300 * kMillisecond);
    ASSERT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "it runs";
    kill(child, signal);
    int status = 0;
    const Nanos begin = steady_now();
    waitpid(child, &status, 0);
    EXPECT_LT(steady_now() - begin, 5 * kSecond);
    EXPECT_EQ(exit_code_of(status), code);
  }
}

class RunAsJob : public ::testing::TestWithParam<std::string> {
 protected:
  static std::vector<std::string> job(const char* n_nodes, const std::vector<std::string>& run) {
    return with({"launch", "-n", n_nodes, "--mpi", GetParam(), "--", RUBATO_PROGRAM}, run);
  }
};

TEST_P(RunAsJob, ChecksumsAreThoseOfOneNode) {
  const std::string one = checksum_of(with(kHeat, {"--cores", "1"}));
  for (const char* n_nodes : {"2", "3"}) {
    const Answer answer = call(job(n_nodes, with(kHeat, {"--policy", "k2m3d4", "--json"})));
    ASSERT_EQ(answer.code, 0) << answer.err;
    const auto json = nlohmann::json::parse(answer.out);
    EXPECT_EQ(json.at("checksum"), one);
    EXPECT_EQ(json.at("nodes").size(), static_cast<std::size_t>(std::atoi(n_nodes)));
  }
  const std::vector<std::string> pagerank{"run",     "pagerank", "--vertices", "300",
                                          "--ticks", "10",       "--json"};
  const Answer alone = call(with(pagerank, {"--cores", "1"}));
  const Answer answer = call(job("2", pagerank));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(nlohmann::json::parse(answer.out).at("findings"),
            nlohmann::json::parse(alone.out).at("findings"));
}

TEST_P(RunAsJob, EachPolicyHasTheBitsOfOneNode) {
  const std::vector<std::string> nbody{"run", "nbody", "--bodies", "400", "--ticks", "12"};
  const std::vector<std::string> jacobi{"run", "jacobi", "--rows", "400", "--ticks", "30"};
  for (const auto& model : {nbody, jacobi}) {
    const std::string one = checksum_of(with(model, {"--cores", "1"}));
    ASSERT_EQ(one.size(), 16U) << one;
    for (const char* policy : {"bulk", "pieces(2)", "k2m2d1"}) {
      const Answer answer =
          call(job("3", with(model, {"--policy", policy, "--cores", "1", "--json"})));
      ASSERT_EQ(answer.code, 0) << answer.err;
      const auto json = nlohmann::json::parse(answer.out);
      EXPECT_EQ(json.at("checksum"), one) << model.at(1) << " " << policy;
      ASSERT_EQ(json.at("nodes").size(), 3U);
      for (const auto& node : json.at("nodes"))
        EXPECT_GT(node.at("messages"), 0) << model.at(1) << " " << policy;
    }
  }
}

// Cores beside each other, of two nodes that wait for each other, go through rows that are too long for
// a cache.
TEST_P(RunAsJob, LongRowsInSlicesHaveTheBitsOfOneNode) {
  const std::vector<std::string> heat{"run",      "heat", "--width", "6000",
                                      "--height", "1024", "--ticks", "13"};
  const std::string one = checksum_of(with(heat, {"--cores", "1", "--policy", "bulk"}));
  ASSERT_EQ(one.size(), 16U) << one;
  const Answer answer =
      call(job("2", with(heat, {"--policy", "k2m1d10", "--cores", "2", "--json"})));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(nlohmann::json::parse(answer.out).at("checksum"), one);
}

TEST_P(RunAsJob, AModelThatCannotBeBuiltIsSaidOnce) {
  const Answer answer = call(job("3", {"run", "heat", "--width", "0"}));
  EXPECT_EQ(answer.code, 2) << answer.err;
  const std::string what = "--width";
  const auto first = answer.err.find(what);
  ASSERT_NE(first, std::string::npos) << answer.err;
  EXPECT_EQ(answer.err.find(what, first + 1), std::string::npos) << answer.err;
}

TEST_P(RunAsJob, MoreNodesThanPartsAreRefusedWithTheNearestNumber) {
  const Answer answer = call(job("3", {"run", "heat", "--width", "1", "--height", "2"}));
  EXPECT_EQ(answer.code, 2) << answer.err;
  const std::string what =
      "rubato: launch -n 3: a grid of 1 x 2 cells cannot be cut into 3 boxes of whole cells; the "
      "nearest number that goes is 2\n";
  EXPECT_NE(answer.err.find(what), std::string::npos) << answer.err;
}

TEST_P(RunAsJob, TracesOfAllNodesStandInOneFile) {
  const std::string file = scratch("job.json");
  const Answer answer = call(job("2", with(kHeat, {"--trace", file})));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto trace = nlohmann::json::parse(std::ifstream(file));
  std::vector<std::size_t> steps(2);
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") == "step") ++steps.at(event.at("pid"));
  }
  EXPECT_GE(steps[0], 30U);
  EXPECT_GE(steps[1], 30U);
  std::remove(file.c_str());
}

TEST_P(RunAsJob, PiecesMoveBetweenNodes) {
  const std::vector<std::string> pagerank{"run",     "pagerank", "--vertices", "2000",
                                          "--ticks", "24",       "--cores",    "1"};
  const std::vector<std::string> heat{"run", "heat",    "--width", "90",      "--height",
                                      "70",  "--ticks", "24",      "--cores", "1"};
  for (const auto& model : {pagerank, heat}) {
    const std::string one = checksum_of(model);
    const Answer answer = call(job(
        "3", with(model, {"--policy", "asytick-plb", "--pieces", "32", "--epoch", "4", "--json"})));
    ASSERT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(nlohmann::json::parse(answer.out).at("checksum"), one) << model[1];
  }
}

TEST_P(RunAsJob, StepsAreLentBetweenNodes) {
  const std::vector<std::string> nbody{"run",          "nbody", "--bodies",   "3000",
                                       "--neighbours", "40",    "--clusters", "1",
                                       "--ticks",      "30",    "--cores",    "1"};
  const std::string one = checksum_of(nbody);
  const Answer answer = call(job(
      "3", with(nbody, {"--policy", "asytick-lend", "--pieces", "36", "--epoch", "8", "--json"})));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(nlohmann::json::parse(answer.out).at("checksum"), one);
}

TEST_P(RunAsJob, TheSkewOfAllNodesIsToldByOne) {
  const std::vector<std::string> pieces{"run",     "fish", "--fish",   "600",   "--ticks",  "20",
                                        "--cores", "1",    "--policy", "local", "--pieces", "16"};
  const std::string file = scratch("skew.json");
  const Answer answer = call(job("3", with(pieces, {"--json", "--trace", file})));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto skew = nlohmann::json::parse(answer.out).at("skew");
  EXPECT_EQ(skew.at("ticks"), 20);
  EXPECT_EQ(skew.at("asynchronous_share"), 0);
  // Processes of one machine have one clock.
  EXPECT_EQ(skew.at("completion").size(), 5U);
  EXPECT_EQ(skew.at("completion_tick"), skew.at("computation").at("worst_tick"));
  const auto trace = nlohmann::json::parse(std::ifstream(file));
  // Times of a tick by node, as the trace behind it has seen them.
  std::vector<std::vector<double>> steps(20, std::vector<double>(3));
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") == "step")
      steps.at(event.at("args").at("tick")).at(event.at("pid")) += event.at("dur").get<double>();
  }
  const std::vector<double> by_tick = skew.at("computation").at("by_tick");
  ASSERT_EQ(by_tick.size(), 20U);
  for (std::size_t t = 0; t < 20; ++t) {
    const auto& l = steps[t];
    const double lambda = 3 * std::ranges::max(l) / (l[0] + l[1] + l[2]) - 1;
    EXPECT_NEAR(by_tick[t], lambda, 1e-6) << t;
  }
  std::remove(file.c_str());
}

INSTANTIATE_TEST_SUITE_P(Mpi, RunAsJob, ::testing::ValuesIn(installed_mpis()),
                         [](const auto& mpi) { return mpi.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RunAsJob);

}  // namespace
}  // namespace rubato::tools

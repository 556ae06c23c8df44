// `rubato check` as people call it: on the models that come with Rubato, and on a user's wrong one.

#include <sstream>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/models/apps.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/testing/piece_swarm.hpp"
#include "rubato/tick/testing/swarm_model.hpp"
#include "rubato/tools/command_line.hpp"
#include "rubato/tools/commands.hpp"

namespace rubato::tools {
namespace {

struct Answer {
  int code = -1;
  std::string out;
  std::string err;
};

Answer run(CommandLine& line, const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = line.run(words, out, err);
  return {code, out.str(), err.str()};
}

// A swarm of which some members see farther than they say.
struct Farsighted : tick::testing::SwarmModel {
  using SwarmModel::SwarmModel;
  [[nodiscard]] Query read_dependencies(const Query& q) const { return q.grown(1); }
};

// A swarm in pieces that joins the first of them alone.
struct Forgetful : tick::testing::PieceSwarm {
  using PieceSwarm::PieceSwarm;
  [[nodiscard]] Query join(std::span<const Query> queries) const { return queries.front(); }
};

template <class Model>
class WrongApp final : public tick::App {
 public:
  explicit WrongApp(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string summary() const override { return "Breaks a rule"; }
  void declare(tick::Parameters& p) override { p.add("seed", seed_, "of the swarm"); }
  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    tick::testing::SwarmModel::Options options;
    options.seed = seed_;
    options.n_agents = 100;
    return std::make_unique<tick::ProblemOf<Model, tick::FragmentStore<Model>>>(Model(options));
  }

 private:
  std::string name_;
  std::uint64_t seed_ = 1;
};

class CheckModels : public ::testing::TestWithParam<std::string> {};

// How many cases of the rule the report has; -1: it has no such rule.
int cases_of(const nlohmann::json& report, const std::string& name) {
  for (const auto& rule : report.at("rules")) {
    if (rule.at("rule") == name) return rule.at("n_cases").get<int>();
  }
  return -1;
}

TEST_P(CheckModels, break_no_rule) {
  CommandLine line({.models = models::built_in_apps()});
  add_commands(line);
  // Small enough for an unoptimised build, and large enough that regions wait for each other.
  std::vector<std::string> words{"--json", "check", GetParam(), "--ticks", "4", "--states", "2"};
  if (GetParam() == "heat") words.insert(words.end(), {"--width", "20", "--height", "14"});
  if (GetParam() == "fish") words.insert(words.end(), {"--fish", "400"});
  if (GetParam() == "nbody") words.insert(words.end(), {"--bodies", "400"});
  if (GetParam() == "pagerank") words.insert(words.end(), {"--vertices", "500"});
  const Answer answer = run(line, words);
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  const auto report = nlohmann::json::parse(answer.out);
  EXPECT_EQ(report["model"], GetParam());
  EXPECT_TRUE(report["ok"].get<bool>());
  EXPECT_GE(report["rules"].size(), 18U);
  for (const auto& rule : report["rules"])
    EXPECT_GT(rule["n_cases"].get<int>(), 0) << rule["rule"];
  EXPECT_GE(cases_of(report, "one-by-one"), 1) << "tuples can be taken out of a state one by one";
  EXPECT_GE(cases_of(report, "pieces-step"), 1) << "all of them can be cut into pieces";
  // General models are stepped as a whole; all other kinds go ahead of their inputs, and grids and graphs
  // say how a step is taken apart.
  const bool in_parts = GetParam() == "heat" || GetParam() == "jacobi" || GetParam() == "pagerank";
  EXPECT_EQ(cases_of(report, "ahead-of-inputs") > 0, GetParam() != "traffic");
  EXPECT_EQ(cases_of(report, "decomposed-step") > 0, in_parts);
}

INSTANTIATE_TEST_SUITE_P(Each, CheckModels,
                         ::testing::Values("heat", "fish", "jacobi", "nbody", "pagerank",
                                           "traffic"),
                         [](const auto& test) { return test.param; });

TEST(Check, a_wrong_model_ends_in_exit_code_1_with_the_tuple_and_the_place_in_the_paper) {
  CommandLine line({.name = "farsighted",
                    .models = {[] { return std::make_unique<WrongApp<Farsighted>>("farsighted"); }},
                    .single_model = true});
  add_commands(line);
  const Answer text = run(line, {"check"});
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.out.find("BROKEN  read-dependencies"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("it reads tuple"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("[Ticks A.1, Definition 1]"), std::string::npos);
  EXPECT_NE(text.err.find("breaks rules"), std::string::npos) << text.err;
  const Answer json = run(line, {"--json", "check", "--seed", "3"});
  EXPECT_EQ(json.code, 1);
  EXPECT_FALSE(nlohmann::json::parse(json.out)["ok"].get<bool>());
}

TEST(Check, pieces_that_are_joined_wrongly_are_named_with_rule_tick_and_tuple) {
  CommandLine line({.name = "forgetful",
                    .models = {[] { return std::make_unique<WrongApp<Forgetful>>("forgetful"); }},
                    .single_model = true});
  add_commands(line);
  const Answer text = run(line, {"check"});
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.out.find("BROKEN  join"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("broken: join [tick/model.hpp]: join(pieces(2)[0, 1]) at tick 0: tuple "),
            std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find(" is missing, pieces(2)[1] selects it"), std::string::npos) << text.out;
  EXPECT_NE(text.err.find("forgetful: 100 tuples"), std::string::npos) << text.err;
  EXPECT_NE(text.err.find("the model breaks rules"), std::string::npos) << text.err;
}

TEST(Check, wrong_use_says_what_is_expected) {
  CommandLine line({.models = models::built_in_apps()});
  add_commands(line);
  EXPECT_EQ(run(line, {"check", "haet"}).code, 2);
  EXPECT_EQ(run(line, {"check", "heat", "--ticks", "0"}).code, 2);
  const Answer big = run(line, {"check", "heat", "--width", "2000", "--height", "2000"});
  EXPECT_EQ(big.code, 2);
  EXPECT_NE(big.err.find("4000000 tuples, expected at most"), std::string::npos) << big.err;
}

}  // namespace
}  // namespace rubato::tools

// `rubato bench` without a name: what there is to measure.

#include <nlohmann/json.hpp>

#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

TEST(BenchCommand, ListsNamesAndQuestionsAsATableOrAsJson) {
  const Answer table = call({"bench"});
  ASSERT_EQ(table.code, 0) << table.err;
  const Answer answer = call({"bench", "--json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  ASSERT_GE(json.size(), 8U);
  for (const auto& each : json) {
    EXPECT_NE(table.out.find(std::string(each.at("name"))), std::string::npos) << each;
    EXPECT_NE(table.out.find(std::string(each.at("question")).substr(0, 20)), std::string::npos);
  }
}

// Of stackful tasks, and of coroutines, which have none.
TEST(BenchCommand, SaysWhatTheRunsOfAProgramHaveDone) {
  const Answer answer = call({"bench", "task-memory", "--quick", "--json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto rows = nlohmann::json::parse(answer.out).at("rows");
  EXPECT_GE(rows.at(0).at("counters").at("tasks"), 20'000U);
  EXPECT_LT(rows.at(1).at("counters").at("tasks"), 20'000U);
  EXPECT_GT(rows.at(1).at("counters").at("slices"), 0U);
}

}  // namespace
}  // namespace rubato::tools

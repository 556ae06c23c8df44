#include "rubato/tools/doctor/probe.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "rubato/tools/process.hpp"

namespace rubato::tools {
namespace {

TEST(Probe, EveryFindingHasANameOfItsOwnAndAHintIfSomethingIsWrong) {
  std::set<std::string> names;
  for (const Finding& finding : probe_machine()) {
    EXPECT_TRUE(names.insert(finding.name).second) << finding.name << " comes twice";
    EXPECT_FALSE(finding.value.empty()) << finding.name;
    EXPECT_EQ(finding.hint.empty(), finding.verdict == Verdict::ok) << finding.name;
  }
  for (const char* name : {"cores", "memory", "disk", "open-mpi", "mpich", "tun-device"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Probe, LeavesThisProcessWhereItIs) {
  char before[64] = {};
  char after[64] = {};
  ASSERT_GT(readlink("/proc/self/ns/net", before, sizeof before - 1), 0);
  (void)probe_permissions();
  ASSERT_GT(readlink("/proc/self/ns/net", after, sizeof after - 1), 0);
  EXPECT_STREQ(before, after);
}

TEST(Doctor, ItsJsonIsOneLineThatParses) {
  const std::string text = output_of({RUBATO_PROGRAM, "doctor", "--json"});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const auto report = nlohmann::json::parse(text);
  EXPECT_TRUE(report.at("findings").at("cores").contains("verdict"));
  EXPECT_FALSE(report.at("commit").get<std::string>().empty());
}

}  // namespace
}  // namespace rubato::tools

// The lab with real namespaces and processes. It needs root and /dev/net/tun: where these are
// missing no test is instantiated, and `rubato doctor` says so.

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/tools/doctor/probe.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::tools {
namespace {

bool is_possible() {
  const auto findings = probe_permissions();
  return std::all_of(findings.begin(), findings.end(), [](const Finding& finding) {
    const bool needed = finding.name == "tun-device" || finding.name.ends_with("-namespaces");
    return !needed || finding.verdict == Verdict::ok;
  });
}

// The parameter is a profile.
class Lab : public ::testing::TestWithParam<std::string> {};

nlohmann::json round_trips(const std::string& profile, const std::vector<std::string>& more) {
  std::vector<std::string> words = {RUBATO_PROGRAM, "lab",   "-q",         "--json",
                                    "-p",           profile, "--pingpong", "500"};
  words.insert(words.end(), more.begin(), more.end());
  return nlohmann::json::parse(output_of(words)).at("rtt_ms");
}

TEST_P(Lab, NoRoundTripIsShorterThanTwiceTheBase) {
  EXPECT_GE(round_trips(GetParam(), {"--base", "700"}).at("min").get<double>(), 1.4);
}

TEST_P(Lab, AStalledHostDeliversNothingMeanwhile) {
  // Host 2 stalls for 60 ms about every 20 ms, and 500 round trips take ten times that.
  const auto rtt = round_trips(GetParam(), {"--host-stall", "2:20:60"});
  EXPECT_GE(rtt.at("max").get<double>(), 30);
}

TEST_P(Lab, RunsANodeOnEachHostUnderOpenMpi) {
  if (find_program("mpirun.openmpi").empty()) return;
  const std::string text =
      output_of({RUBATO_PROGRAM, "lab", "-q", "-n", "3", "-p", GetParam(), "--", "sh", "-c",
                 "echo $(hostname) has $OMPI_COMM_WORLD_RANK."});
  for (const char* line : {"host-1 has 0.", "host-2 has 1.", "host-3 has 2."}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

TEST_P(Lab, NodesShowNoColoursWhereNoTerminalIs) {
  if (find_program("mpirun.openmpi").empty()) return;
  const std::string text =
      output_of({"env", "-u", "NO_COLOR", "TERM=xterm", RUBATO_PROGRAM, "lab", "-q", "-n", "2",
                 "-p", GetParam(), "--", "sh", "-c", "echo \"colours: ${NO_COLOR:+none}.\""});
  EXPECT_NE(text.find("colours: none."), std::string::npos) << text;
  EXPECT_EQ(text.find("colours: ."), std::string::npos) << text;
}

TEST_P(Lab, ALostNodeIsNamedWithItsHost) {
  if (find_program("mpirun.openmpi").empty()) return;
  const std::string script = "[ $OMPI_COMM_WORLD_RANK = 1 ] && kill -9 $$; sleep 60";
  const std::string text =
      output_of({"sh", "-c", "\"$0\" \"$@\" 2>&1; echo exit $?", RUBATO_PROGRAM, "lab", "-n", "2",
                 "-p", GetParam(), "--", "sh", "-c", script});
  EXPECT_NE(text.find("node 1 (host-2) was lost"), std::string::npos) << text;
  EXPECT_NE(text.find("exit 5"), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Here, Lab,
                         ::testing::ValuesIn(is_possible() ? std::vector<std::string>{"ec2-large"}
                                                           : std::vector<std::string>{}),
                         [](const auto&) { return "ec2_large"; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Lab);

}  // namespace
}  // namespace rubato::tools

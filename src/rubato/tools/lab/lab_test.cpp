// The lab with real namespaces and processes. It needs root and /dev/net/tun: where these are
// missing each test is skipped and says what is, as `rubato doctor` does.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/tools/doctor/probe.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::tools {
namespace {

// What this machine lacks for a lab, for people; "" if nothing.
std::string missing_here() {
  std::string missing;
  for (const Finding& finding : probe_permissions()) {
    const bool needed = finding.name == "tun-device" || finding.name.ends_with("-namespaces");
    if (!needed || finding.verdict == Verdict::ok) continue;
    missing += (missing.empty() ? "" : "; ") + finding.name + ": " + finding.value;
  }
  return missing;
}

// The parameter is a profile.
class Lab : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    static const std::string missing = missing_here();
    if (!missing.empty()) GTEST_SKIP() << "no lab here: " << missing;
  }
};

// Jobs in a lab are those of Open MPI.
class LabJob : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    if (IsSkipped()) return;
    if (find_program("mpirun.openmpi").empty()) GTEST_SKIP() << "no mpirun.openmpi here";
  }
};

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

TEST_P(LabJob, RunsANodeOnEachHostUnderOpenMpi) {
  const std::string text =
      output_of({RUBATO_PROGRAM, "lab", "-q", "-n", "3", "-p", GetParam(), "--", "sh", "-c",
                 "echo $(hostname) has $OMPI_COMM_WORLD_RANK."});
  for (const char* line : {"host-1 has 0.", "host-2 has 1.", "host-3 has 2."}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

TEST_P(LabJob, NodesShowNoColoursWhereNoTerminalIs) {
  const std::string text =
      output_of({"env", "-u", "NO_COLOR", "TERM=xterm", RUBATO_PROGRAM, "lab", "-q", "-n", "2",
                 "-p", GetParam(), "--", "sh", "-c", "echo \"colours: ${NO_COLOR:+none}.\""});
  EXPECT_NE(text.find("colours: none."), std::string::npos) << text;
  EXPECT_EQ(text.find("colours: ."), std::string::npos) << text;
}

TEST_P(LabJob, ALostNodeIsNamedWithItsHost) {
  const std::string script = "[ $OMPI_COMM_WORLD_RANK = 1 ] && kill -9 $$; sleep 60";
  const std::string text =
      output_of({"sh", "-c", "\"$0\" \"$@\" 2>&1; echo exit $?", RUBATO_PROGRAM, "lab", "-n", "2",
                 "-p", GetParam(), "--", "sh", "-c", script});
  EXPECT_NE(text.find("node 1 (host-2) was lost"), std::string::npos) << text;
  EXPECT_NE(text.find("exit 5"), std::string::npos) << text;
}

const auto kName = [](const auto&) { return "ec2_large"; };
INSTANTIATE_TEST_SUITE_P(Here, Lab, ::testing::Values("ec2-large"), kName);
INSTANTIATE_TEST_SUITE_P(Here, LabJob, ::testing::Values("ec2-large"), kName);

}  // namespace
}  // namespace rubato::tools

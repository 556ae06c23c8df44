// What is told, and done, of a job of several nodes that did not end well.

#include <filesystem>

#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

// Two tasks: the second one does what `end` says when it runs for the first time.
std::string script_that(const std::string& end) {
  const std::string path = scratch("go-on.tic");
  std::ofstream(path) << "app note() to (string s) { \"sh\" \"-c\" \"echo ran >> $0; echo x\" "
                         "arg(\"log\") stdout=s }\n"
                         "app end(string s) to (void v) {\n"
                         "  \"sh\" \"-c\" \"test -e $0 && exit; > $0; " +
                             end +
                             "\" arg(\"flag\") s }\n"
                             "string s\nvoid v\n"
                             "when { } then {s} from {note}\n"
                             "when {s} then {v} from {end s}\n";
  return path;
}

class GoOn : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  // A job of two nodes, with `more` options of its launcher.
  Finished job(const std::string& path, const std::string& more, const std::string& then) {
    return run_program({"sh", "-c",
                        "$0 launch -n 2 --mpi $1 " + more +
                            " -- $0 flow run $2 --cores 1 --arg log=$3/log --arg flag=$3/flag "
                            "--journal $3/journal 2>&1 & " +
                            then + "wait $!; echo code $?",
                        RUBATO_PROGRAM, GetParam(), path, folder_});
  }
  [[nodiscard]] std::string log() const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/log").rdbuf();
    return text.str();
  }
  const std::string folder_ = scratch("go-on");
};

TEST_P(GoOn, is_told_by_the_launcher_of_a_job_that_was_told_to_end) {
  const std::string path = script_that("sleep 20");
  const Finished ended =
      job(path, "", "while ! test -e $3/flag; do sleep 0.02; done; kill -TERM $!; ");
  EXPECT_NE(ended.out.find("code 143\n"), std::string::npos) << ended.out;
  const std::string journal = folder_ + "/journal";
  const std::string command = " flow run " + path + " --arg log=" + folder_ +
                              "/log --arg flag=" + folder_ + "/flag --cores 1 --resume " + journal;
  const std::string told = "1 task has ended well and is written down in " + journal +
                           "\ngo on with: rubato launch -n 2 --mpi " + GetParam() + " -- rubato" +
                           command + "\n";
  const std::size_t at = ended.out.find(told);
  EXPECT_NE(at, std::string::npos) << ended.out << "expected\n" << told;
  EXPECT_EQ(ended.out.find("go on with", at + told.size()), std::string::npos) << ended.out;

  const Finished again =
      run_program({"sh", "-c", "$0 launch -n 2 --mpi $1 -- $0" + command + " 2>&1", RUBATO_PROGRAM,
                   GetParam()});
  EXPECT_EQ(again.code, 0) << again.out;
  EXPECT_NE(again.out.find("journal: 1 done before, 1 new"), std::string::npos) << again.out;
  EXPECT_EQ(log(), "ran\n");
}

TEST_P(GoOn, is_done_where_a_job_is_started_again) {
  const Finished ended = job(script_that("kill -9 $PPID; sleep 20"), "--restarts 1", "");
  EXPECT_NE(ended.out.find("starting the job again, 1 of 1 times"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("code 0\n"), std::string::npos) << ended.out;
  EXPECT_EQ(log(), "ran\n");
  // Nobody has to go on; what was done before is said as of any run that goes on.
  EXPECT_EQ(ended.out.find("go on with:"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("journal: 1 done before, 1 new"), std::string::npos) << ended.out;
}

INSTANTIATE_TEST_SUITE_P(Mpi, GoOn, ::testing::ValuesIn(installed_mpis()),
                         [](const auto& mpi) { return mpi.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoOn);

}  // namespace
}  // namespace rubato::tools

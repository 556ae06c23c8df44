// Files of a real job under each installed MPI are those of a run of one process.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "rubato/tools/process.hpp"

namespace rubato::tools {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::set<std::string> names(const fs::path& folder) {
  std::set<std::string> result;
  for (const auto& entry : fs::directory_iterator(folder))
    result.insert(entry.path().filename().string());
  return result;
}

// Runs of the program, with files in a folder that goes away.
class OutputFiles : public ::testing::TestWithParam<std::string> {
 protected:
  OutputFiles() {
    std::string name = (fs::temp_directory_path() / "rubato-job-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~OutputFiles() override { fs::remove_all(folder_); }

  // The exit code of a shell command with the program as $r.
  [[nodiscard]] int shell(const std::string& words) const {
    return exit_code_of(std::system(("r=" + std::string(RUBATO_PROGRAM) + "; " + words + " >" +
                                     (folder_ / "log").string() + " 2>&1")
                                        .c_str()));
  }
  fs::path folder_;
};

class OutputsOfModel : public OutputFiles {};

TEST_P(OutputsOfModel, are_equal_on_one_node_and_on_five) {
  const std::string one = (folder_ / "one").string();
  const std::string five = (folder_ / "five").string();
  const std::string words = "$r run " + GetParam() + " --ticks 5 --every 2 --format csv --output ";
  ASSERT_EQ(shell(words + one), 0) << content(folder_ / "log");
  ASSERT_EQ(shell(words + five + " --simulate 5 --policy k2m1 --profile ec2-large"), 0)
      << content(folder_ / "log");
  EXPECT_EQ(names(one), names(five));
  EXPECT_EQ(names(one).size(), 4U);  // ticks 0, 2, 4 and the last
  for (const std::string& name : names(one)) {
    const std::string text = content(fs::path(one) / name);
    EXPECT_GT(std::ranges::count(text, '\n'), 100) << name;
    EXPECT_TRUE(text == content(fs::path(five) / name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, OutputsOfModel,
                         ::testing::Values("heat --width 30 --height 20", "fish --fish 200",
                                           "pagerank --vertices 400", "traffic"),
                         [](const auto& test) {
                           return test.param.substr(0, test.param.find(' '));
                         });

class OutputsOfJob : public OutputFiles {};

constexpr const char* kRun =
    "$r run heat --width 60 --height 40 --ticks 6 --every 3 --format csv,vtk,png --output ";

TEST_P(OutputsOfJob, are_those_of_one_process) {
  const std::string one = (folder_ / "one").string();
  const std::string three = (folder_ / "three").string();
  ASSERT_EQ(shell(kRun + one), 0) << content(folder_ / "log");
  ASSERT_EQ(shell("$r launch -n 3 --mpi " + GetParam() + " -- " + kRun + three), 0)
      << content(folder_ / "log");
  EXPECT_EQ(names(one), names(three));
  EXPECT_TRUE(names(one).contains("heat-00000003.csv"));
  for (const std::string& name : names(one))
    EXPECT_TRUE(content(fs::path(one) / name) == content(fs::path(three) / name)) << name;
}

// The lines of each table; a tick that is whole has one for each cell and the header.
std::set<std::int64_t> lines_of_tables(const fs::path& folder) {
  std::set<std::int64_t> result;
  for (const std::string& name : names(folder)) {
    if (name.ends_with(".csv")) result.insert(std::ranges::count(content(folder / name), '\n'));
  }
  return result;
}

TEST_P(OutputsOfJob, a_node_that_is_killed_leaves_the_ticks_that_were_whole) {
  const std::string out = (folder_ / "out").string();
  const std::string words =
      "run heat --width 60 --height 40 --every 5 --format csv --output " + out;
  // The pattern is one word, so that it finds the nodes and not this shell.
  const std::string job =
      "$r launch -n 2 --mpi " + GetParam() + " -- $r " + words +
      " --ticks 1000000000 & job=$!; i=0; while [ $i -lt 100 ] && ! test -e " + out +
      "/heat-00000020.csv; do sleep 0.1; i=$((i+1)); done; kill -9 $(pgrep -n -f '^" +
      std::string(RUBATO_PROGRAM) + " " + words + "'); wait $job";
  EXPECT_EQ(shell(job), 5) << content(folder_ / "log");
  EXPECT_TRUE(names(out).contains("heat-00000020.csv"));
  EXPECT_EQ(lines_of_tables(out), std::set<std::int64_t>{2401});
  // The next run into the folder removes what is left.
  ASSERT_EQ(shell("$r " + words + " --ticks 5"), 0) << content(folder_ / "log");
  for (const std::string& name : names(out))
    EXPECT_FALSE(name.starts_with(".")) << name;
}

TEST_P(OutputsOfJob, a_run_that_fails_leaves_the_ticks_that_were_whole_and_nothing_else) {
  const std::string out = (folder_ / "out").string();
  // Tick 6 cannot be written, as if the disk were full.
  fs::create_directories(out + "/heat-00000006.csv");
  EXPECT_EQ(shell("$r launch -n 3 --mpi " + GetParam() +
                  " -- $r run heat --width 60 --height 40 --ticks 100000 --every 2 --format csv "
                  "--output " +
                  out),
            3)
      << content(folder_ / "log");
  EXPECT_NE(content(folder_ / "log").find("writing " + out + "/heat-00000006.csv: expected a file"),
            std::string::npos)
      << content(folder_ / "log");
  fs::remove_all(out + "/heat-00000006.csv");
  EXPECT_TRUE(names(out).contains("heat-00000004.csv"));
  EXPECT_EQ(lines_of_tables(out), std::set<std::int64_t>{2401});
  for (const std::string& name : names(out))
    EXPECT_FALSE(name.starts_with(".")) << name;
}

TEST_P(OutputsOfJob, a_folder_that_cannot_be_made_fails_on_all_nodes_with_one_message) {
  std::ofstream(folder_ / "file") << "in the way";
  EXPECT_EQ(shell("$r launch -n 3 --mpi " + GetParam() + " -- " + kRun +
                  (folder_ / "file" / "below").string()),
            3);
  const std::string log = content(folder_ / "log");
  const std::string message = "--output: cannot make the folder";
  EXPECT_NE(log.find(message), std::string::npos) << log;
  EXPECT_EQ(log.find(message), log.rfind(message)) << log;
}

TEST_P(OutputsOfJob, a_run_that_is_refused_leaves_no_folder) {
  const std::string out = (folder_ / "new").string();
  EXPECT_EQ(shell("$r launch -n 3 --mpi " + GetParam() +
                  " -- $r run pagerank --vertices 50 --format csv,png --output " + out + "/deep"),
            2);
  EXPECT_NE(content(folder_ / "log").find("--format: expected csv alone"), std::string::npos)
      << content(folder_ / "log");
  EXPECT_FALSE(fs::exists(out));
}

std::vector<std::string> installed_mpis() {
  std::vector<std::string> list;
  for (const char* mpi : {"openmpi", "mpich"}) {
    if (!find_program(std::string("mpirun.") + mpi).empty()) list.emplace_back(mpi);
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Mpi, OutputsOfJob, ::testing::ValuesIn(installed_mpis()),
                         [](const auto& test) { return test.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OutputsOfJob);

}  // namespace
}  // namespace rubato::tools

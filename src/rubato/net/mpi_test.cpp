#include "rubato/net/mpi.hpp"

#include <cstdlib>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/base/error.hpp"

namespace rubato::net {
namespace {

Launch launch_of(const std::map<std::string, std::string>& environment) {
  return detect_launch([&](const char* key) -> const char* {
    const auto at = environment.find(key);
    return at == environment.end() ? nullptr : at->second.c_str();
  });
}

TEST(DetectLaunch, FindsNoneOnALaptop) {
  EXPECT_FALSE(launch_of({}).by_launcher);
  EXPECT_FALSE(launch_of({{"SLURM_STEP_NUM_TASKS", "1"}, {"HOME", "/root"}}).by_launcher);
}

TEST(DetectLaunch, KnowsTheLaunchersOfBothMpis) {
  const Launch open = launch_of({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "1"}});
  EXPECT_EQ(open.candidates, std::vector<Mpi>{Mpi::openmpi});
  EXPECT_EQ(open.n_processes, 4U);
  EXPECT_EQ(open.evidence, "OMPI_COMM_WORLD_SIZE=4");
  const Launch mpich = launch_of({{"PMI_SIZE", "3"}, {"PMI_RANK", "0"}});
  EXPECT_EQ(mpich.candidates, std::vector<Mpi>{Mpi::mpich});
  EXPECT_EQ(mpich.n_processes, 3U);
}

TEST(DetectLaunch, KnowsSrun) {
  const Launch pmix = launch_of({{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "8"}});
  EXPECT_EQ(pmix.candidates.front(), Mpi::openmpi);
  EXPECT_EQ(pmix.n_processes, 8U);
  const Launch bare = launch_of({{"SLURM_STEP_NUM_TASKS", "8"}});
  EXPECT_TRUE(bare.by_launcher);
  EXPECT_EQ(bare.n_processes, 8U);
}

TEST(DetectLaunch, RubatoMpiDecides) {
  EXPECT_FALSE(launch_of({{"PMI_SIZE", "3"}, {"RUBATO_MPI", "none"}}).by_launcher);
  const Launch chosen = launch_of({{"PMIX_RANK", "0"}, {"RUBATO_MPI", "mpich"}});
  EXPECT_EQ(chosen.candidates, std::vector<Mpi>{Mpi::mpich});
  try {
    (void)launch_of({{"RUBATO_MPI", "openmp"}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean \"openmpi\"?"), std::string::npos);
    EXPECT_EQ(e.code(), ExitCode::usage);
  }
}

TEST(JoinedMpi, IsNoneWithoutAJob) {
  EXPECT_EQ(joined_mpi(), "");
}

TEST(LoadMpiFabric, SaysWhatAFileThatIsNoPluginIs) {
  const std::string folder = ::testing::TempDir() + "rubato_plugins_" + std::to_string(getpid());
  ASSERT_EQ(std::system(("mkdir -p " + folder).c_str()), 0);
  std::ofstream(folder + "/librubato_mpi_mpich.so") << "not a library";
  setenv("RUBATO_PLUGIN_DIR", folder.c_str(), 1);
  EXPECT_EQ(find_mpi_plugin(Mpi::mpich), folder + "/librubato_mpi_mpich.so");
  try {
    (void)load_mpi_fabric(launch_of({{"PMI_SIZE", "2"}}), 1000);
    ADD_FAILURE() << "it was loaded";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("cannot be loaded"), std::string::npos) << e.what();
  }
  unsetenv("RUBATO_PLUGIN_DIR");
}

}  // namespace
}  // namespace rubato::net

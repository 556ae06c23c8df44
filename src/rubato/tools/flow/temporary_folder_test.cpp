#include "rubato/tools/flow/temporary_folder.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/flow/program/leftovers.hpp"
#include "rubato/flow/seen_folder.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

namespace fs = std::filesystem;

// An empty folder of the test.
std::string new_folder(const std::string& name) {
  const fs::path path = scratch(name);
  fs::create_directories(path);
  return fs::canonical(path).string();
}

std::string script(const std::string& name, const std::string& text) {
  const std::string path = scratch(name);
  std::ofstream(path) << text;
  return path;
}

std::string error_of(const std::string& asked, const TemporaryFolder::Look& look) {
  try {
    const TemporaryFolder folder(asked, look);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> all_see_it(const std::string& /*folder*/) {
  return {};
}

TEST(TemporaryFolder, IsWhereAllNodesSeeIt) {
  const std::string usual = fs::temp_directory_path().string();
  std::string path;
  {
    const TemporaryFolder folder("", &all_see_it);
    path = folder.path();
    EXPECT_TRUE(path.starts_with(usual + "/rubato-flow-")) << path;
    EXPECT_TRUE(fs::is_directory(path));
  }
  EXPECT_FALSE(fs::exists(path));
  // Not in a place that is each machine's own.
  const std::string run = new_folder("run");
  const fs::path before = fs::current_path();
  fs::current_path(run);
  const auto own = [&](const std::string& folder) {
    return folder.starts_with(run) ? std::vector<std::string>()
                                   : std::vector<std::string>{"node 1 on b", "node 2 on c"};
  };
  {
    const TemporaryFolder folder("", own);
    EXPECT_TRUE(folder.path().starts_with(run + "/.rubato-flow-")) << folder.path();
  }
  const auto none = [](const std::string& /*folder*/) {
    return std::vector<std::string>{"node 1 on b"};
  };
  EXPECT_EQ(TemporaryFolder("", none).path(), "");
  fs::current_path(before);
  EXPECT_TRUE(fs::is_empty(run));
}

TEST(TemporaryFolder, IsWhereItWasAskedForOrNowhere) {
  const std::string place = new_folder("place");
  {
    const TemporaryFolder folder(place, &all_see_it);
    EXPECT_TRUE(folder.path().starts_with(place + "/rubato-flow-")) << folder.path();
  }
  const auto two = [](const std::string& /*folder*/) {
    return std::vector<std::string>{"node 1 on b", "node 2 on c"};
  };
  const std::string error = error_of(place, two);
  EXPECT_NE(error.find("node 1 on b and 1 more do not see what node 0 makes there"),
            std::string::npos)
      << error;
  EXPECT_TRUE(fs::is_empty(place));
  EXPECT_EQ(error_of(place + "/none", two),
            "--temporary " + place + "/none: expected a folder that is there");
}

TEST(TemporaryFolder, NodesThatDoNotSeeItAreNamed) {
  const std::string there = new_folder("there");
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    std::vector<std::string> without;
    std::vector<std::string> without_none;
    global::simulate_seed(3, 2, seed, [&] {
      without = flow::nodes_without(there + "/none");
      without_none = flow::nodes_without(there);
    });
    ASSERT_EQ(without.size(), 3U);
    EXPECT_TRUE(without.front().starts_with("node 0 on ")) << without.front();
    EXPECT_TRUE(without_none.empty());
  }
}

TEST(TemporaryFolder, RemovesTheFoldersOfRunsThatWereKilled) {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const std::string& mark = flow::process_mark();
  const fs::path folder = fs::temp_directory_path();
  const auto of = [&](const std::string& process) {
    const std::string name = "rubato-flow-" + process + mark.substr(mark.find('-')) + "-AbCdEf";
    fs::create_directories(folder / name / "f-1");
    return folder / name;
  };
  const fs::path left = of(std::to_string(gone));
  const fs::path in_use = of(std::to_string(::getpid()));
  EXPECT_EQ(call({"flow", "run", script("nothing.tic", "print(1)\n")}).code, 0);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(in_use));
  fs::remove_all(in_use);
}

TEST(TemporaryFolder, FilesWithoutANameAreWhereItIsAskedFor) {
  const std::string path = script("temporary.tic",
                                  "app make() to (file f) { \"touch\" f }\nfile f\n"
                                  "when {} then {f} from {make}\nprint(filename(f))\n");
  const std::string folder = scratch("temporaries");
  fs::create_directories(folder);
  const Answer asked = call({"flow", "run", path, "--temporary", folder});
  EXPECT_TRUE(asked.out.starts_with(folder + "/rubato-flow-")) << asked.out << asked.err;
  ::setenv("RUBATO_TEMPORARY", folder.c_str(), 1);
  const Answer by_environment = call({"flow", "run", path});
  ::unsetenv("RUBATO_TEMPORARY");
  EXPECT_TRUE(by_environment.out.starts_with(folder + "/rubato-flow-")) << by_environment.out;
  EXPECT_TRUE(fs::is_empty(folder));
  EXPECT_EQ(call({"flow", "run", path, "--temporary", folder + "/none"}).code, 3);
}

}  // namespace
}  // namespace rubato::tools

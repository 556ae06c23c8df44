#include "rubato/flow/program/leftovers.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/flow/program/detail/testing.hpp"
#include "rubato/flow/program/output_names.hpp"

namespace rubato::flow {
namespace {

using program_testing::TempFolder;
using Names = std::vector<std::string>;

// Of a process that was there.
std::string gone_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return std::to_string(child);
}
// Of our machine, with the dashes around it.
std::string machine() {
  return process_mark().substr(process_mark().find('-')) + "-";
}

TEST(Leftovers, are_what_processes_of_this_machine_have_left_that_are_gone) {
  const std::string gone = gone_process();
  EXPECT_TRUE(is_leftover(".a.x-" + gone + machine() + "7.txt", ".x-"));
  EXPECT_TRUE(is_leftover("x-" + gone + machine() + "AbCdEf", "x-"));
  EXPECT_FALSE(is_leftover(".a.x-" + process_mark() + "-7", ".x-"));
  EXPECT_FALSE(is_leftover(".a.x-1" + machine() + "7", ".x-"));  // somebody else's that runs
  EXPECT_FALSE(is_leftover(".a.x-" + gone + "-0123abcd-7", ".x-"));
  EXPECT_FALSE(is_leftover(".a.x-" + gone + "-7", ".x-"));
  EXPECT_FALSE(is_leftover(".a.y-" + gone + machine() + "7", ".x-"));
  EXPECT_FALSE(is_leftover(".a.x--" + gone + machine() + "7", ".x-"));
  EXPECT_FALSE(is_leftover(".a.x-" + gone, ".x-"));
  EXPECT_FALSE(is_leftover(".a.x-", ".x-"));
}

TEST(Leftovers, of_outputs_go_when_another_process_writes_to_their_folder) {
  const TempFolder folder;
  const std::string left = ".a.txt.rubato-" + gone_process() + machine() + "3";
  const std::string running = ".a.txt.rubato-1" + machine() + "3.txt";
  folder.file(left + ".txt", "half");
  folder.file(left + ".txt.part/deeper", "half");
  folder.file(running, "half");
  folder.file(".hidden", "a user's");
  const OutputNames outputs({"a.txt"}, {.folder = folder.path()});
  EXPECT_EQ(folder.names(), (Names{running, ".hidden"}));
}

TEST(Leftovers, are_removed_with_what_is_in_them) {
  const TempFolder folder;
  folder.file("flow-" + gone_process() + machine() + "AbCdEf/f-1", "left");
  folder.file("flow-" + process_mark() + "-AbCdEf/f-1", "in use");
  remove_leftovers(folder.path(), "flow-");
  EXPECT_EQ(folder.names(), Names{"flow-" + process_mark() + "-AbCdEf"});
}

}  // namespace
}  // namespace rubato::flow

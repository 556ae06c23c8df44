#include "rubato/flow/program/leaf.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "rubato/flow/program/detail/testing.hpp"
#include "rubato/flow/program/glob.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::content_of;
using program_testing::n_descriptors;
using program_testing::quiet;
using program_testing::TempFolder;
using Names = std::vector<std::string>;

// A shell script in `folder` whose $1 is the hidden name of its output out.txt.
Leaf leaf_of(const TempFolder& folder, const std::string& text) {
  Leaf leaf;
  leaf.outputs = {"out.txt"};
  leaf.options.folder = folder.path();
  leaf.retry.pause = kMillisecond;
  leaf.call = [text](const OutputNames& out) {
    return ProgramCall{.words = {"sh", "-c", text, "sh", out.temporary("out.txt")}};
  };
  return leaf;
}

TEST(Leaf, gives_outputs_their_names_when_all_went_well) {
  const TempFolder folder;
  Launcher launcher(quiet());
  const ProgramEnd end = run_leaf(launcher, leaf_of(folder, "echo new > \"$1\""));
  EXPECT_TRUE(end.well()) << end.problem;
  EXPECT_EQ(content_of(folder / "out.txt"), "new\n");
  EXPECT_EQ(folder.names(), Names{"out.txt"});
}

TEST(Leaf, takes_the_standard_output_as_a_file) {
  const TempFolder folder;
  Launcher launcher(quiet());
  Leaf leaf = leaf_of(folder, "");
  leaf.outputs = {"deep/list"};
  leaf.call = [](const OutputNames& out) {
    return ProgramCall{.words = {"echo", "a"}, .stdout_path = out.temporary("deep/list")};
  };
  EXPECT_TRUE(run_leaf(launcher, leaf).well());
  EXPECT_EQ(content_of(folder / "deep/list"), "a\n");
}

TEST(Leaf, leaves_the_old_output_and_nothing_else_when_it_fails) {
  const TempFolder folder;
  folder.file("out.txt", "old");
  Launcher launcher(quiet());
  const ProgramEnd end = run_leaf(launcher, leaf_of(folder, "echo new > \"$1\"; exit 3"));
  EXPECT_EQ(end.code, 3);
  EXPECT_EQ(content_of(folder / "out.txt"), "old");
  EXPECT_EQ(folder.names(), Names{"out.txt"});
}

TEST(Leaf, leaves_the_old_output_when_there_is_no_room) {
  const TempFolder folder;
  folder.file("out.txt", "old");
  Launcher launcher(quiet());
  // A bound on the size of files, as a disk that gets full: some bytes are written, then no more.
  const ProgramEnd end =
      run_leaf(launcher, leaf_of(folder, "ulimit -f 8; head -c 100000 /dev/zero > \"$1\""));
  EXPECT_FALSE(end.well());
  EXPECT_EQ(content_of(folder / "out.txt"), "old");
  EXPECT_EQ(folder.names(), Names{"out.txt"});
}

TEST(Leaf, fails_for_an_output_that_was_not_written) {
  const TempFolder folder;
  Launcher launcher(quiet());
  const ProgramEnd end = run_leaf(launcher, leaf_of(folder, "echo 'nothing to do' >&2"));
  EXPECT_EQ(end.code, 1);
  EXPECT_TRUE(contains(end.problem, "output out.txt: expected that the program writes it as"));
  EXPECT_TRUE(end.problem.ends_with("its errors:\nnothing to do")) << end.problem;
}

TEST(Leaf, is_tried_again_with_new_names) {
  const TempFolder folder;
  Launcher launcher(quiet());
  Leaf leaf = leaf_of(folder, "echo \"$1\" >> names; test $(wc -l < names) -eq 3 && echo > \"$1\"");
  leaf.retry.n_tries = 5;
  const ProgramEnd end = run_leaf(launcher, leaf);
  EXPECT_TRUE(end.well()) << end.problem;
  EXPECT_EQ(end.n_tries, 3U);
  EXPECT_EQ(folder.names(), (Names{"names", "out.txt"}));
}

TEST(Leaf, is_not_begun_when_its_outputs_cannot_be) {
  const TempFolder folder;
  Launcher launcher(quiet());
  Leaf leaf = leaf_of(folder, "echo > begun");
  leaf.outputs = {"out.txt", "out.txt"};
  leaf.retry.n_tries = 3;
  const ProgramEnd end = run_leaf(launcher, leaf);
  EXPECT_EQ(end.code, 126);
  EXPECT_EQ(end.n_tries, 1U);
  EXPECT_EQ(folder.names(), Names{});
}

TEST(Leaf, leaves_nothing_of_many_failures_of_many_threads) {
  const TempFolder folder;
  Launcher launcher(quiet());
  const std::size_t before = n_descriptors();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        Leaf leaf = leaf_of(folder, "");
        const std::string name = std::to_string(t) + "-" + std::to_string(i) + ".txt";
        leaf.outputs = {name};
        leaf.call = [name, i](const OutputNames& out) {
          const std::string text = i % 2 == 0 ? "echo > \"$1\"; exit 1" : "echo > \"$1\"";
          return ProgramCall{.words = {"sh", "-c", text, "sh", out.temporary(name)}};
        };
        EXPECT_EQ(run_leaf(launcher, leaf).well(), i % 2 == 1);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(folder.names(), glob("*-*.txt", folder.path()));
  EXPECT_EQ(folder.names().size(), 40U);
  EXPECT_EQ(n_descriptors(), before);
}

}  // namespace
}  // namespace rubato::flow

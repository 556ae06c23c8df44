#include "rubato/tools/launch/output_filter.hpp"

#include <gtest/gtest.h>

namespace rubato::tools {
namespace {

const std::string kDashes(74, '-');
const std::string kEquals(83, '=');

// The filtered text, fed in pieces of `n` bytes.
std::string filtered(const std::string& text, std::size_t n, OutputFilter& filter) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += n)
    out += filter.feed(text.substr(at, n));
  return out + filter.flush();
}

TEST(OutputFilter, PassesEverythingElseUnchanged) {
  const std::string text = "a\n\nb c\n----\n" + kDashes + "\nmy own box\n" + kDashes + "\nlast";
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, text.size()}) {
    OutputFilter filter;
    EXPECT_EQ(filtered(text, n, filter), text) << "in pieces of " << n;
    EXPECT_TRUE(filter.ends().empty());
  }
}

TEST(OutputFilter, KnowsTheFoldersThatNodesHaveSaid) {
  OutputFilter filter;
  EXPECT_EQ(filtered("a\nrubato-guard: output /data/o\nrubato-guard: record /data/my run\nb\n", 4,
                     filter),
            "a\nb\n");
  EXPECT_EQ(filter.outputs(), std::set<std::string>{"/data/o"});
  EXPECT_EQ(filter.records(), std::set<std::string>{"/data/my run"});
}

TEST(OutputFilter, TakesReportsOutEvenIfGluedToALine) {
  const NodeEnd end = {.node = 2, .host = "host-3", .exit_code = 0, .signal = 9};
  OutputFilter filter;
  EXPECT_EQ(
      filtered("a\nhalf a line " + to_report(end) + "\n" + to_report(end) + "\nb\n", 5, filter),
      "a\nhalf a line \nb\n");
  ASSERT_EQ(filter.ends().size(), 2U);
  EXPECT_EQ(filter.ends()[0].node, 2);
  EXPECT_EQ(filter.ends()[0].host, "host-3");
  EXPECT_EQ(filter.ends()[0].signal, 9);
  EXPECT_EQ(describe(filter.ends()[0]), "node 2 (host-3)");
}

TEST(OutputFilter, DropsTheBoxesAboutFailedProcesses) {
  const std::string open_mpi =
      kDashes +
      "\nmpirun noticed that process rank 2 with PID 0 on node vm exited on "
      "signal 9 (Killed).\n" +
      kDashes + "\n";
  const std::string hydra =
      kEquals + "\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=\n" + kEquals +
      "\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed\n";
  OutputFilter filter;
  EXPECT_EQ(filtered("a\n" + open_mpi + "b\n" + hydra + "c\n", 11, filter), "a\nb\nc\n");
}

TEST(OutputFilter, DropsWhatTheLauncherSaysOfItselfOnceItEndsTheJob) {
  const std::string crash =
      "mpirun: abort is already in progress...hit ctrl-c again to forcibly terminate\n"
      "[vm:77] *** Process received signal ***\n[vm:77] Signal: Segmentation fault (11)\n";
  const std::string of_a_node = "[vm:78] *** Process received signal ***\n[0] 3\n";
  OutputFilter filter;
  EXPECT_EQ(filtered(crash, 9, filter), crash);
  filter.ignore_launcher(77);
  EXPECT_EQ(filtered("a\n" + crash + of_a_node, 9, filter), "a\n" + of_a_node);
}

TEST(OutputFilter, OutputFoldersAreKeptAndNotShown) {
  OutputFilter filter;
  EXPECT_EQ(filtered("a\nrubato-guard: output /tmp/a b\nc\n", 4, filter), "a\nc\n");
  EXPECT_EQ(filter.outputs(), std::set<std::string>{"/tmp/a b"});
}

TEST(OutputFilter, ALongBoxThatNeverClosesIsShown) {
  std::string text = kDashes + "\n";
  for (int i = 0; i < 100; ++i)
    text += "row\n";
  OutputFilter filter;
  std::string out = filter.feed(text);
  EXPECT_GE(out.size(), text.size() - 160) << "40 lines of 4";
  out += filter.flush();
  EXPECT_EQ(out, text);
}

TEST(OutputFilter, ShowsAnUnfinishedLineWhenAsked) {
  OutputFilter filter;
  EXPECT_EQ(filter.feed("progress 3 %"), "");
  EXPECT_EQ(filter.flush(), "progress 3 %");
  EXPECT_EQ(filter.feed("\n"), "\n");
}

TEST(NodeEnd, ReadsOnlyWholeReports) {
  EXPECT_FALSE(parse_report("rubato-guard: node 1 exit").has_value());
  EXPECT_FALSE(parse_report("an ordinary line").has_value());
}

TEST(OutputFilter, ALineThatAllNodesSayIsShownOnce) {
  OutputFilter filter;
  EXPECT_EQ(filter.feed("rubato-once:rubato: unknown flag\nrubato-on"), "rubato: unknown flag\n");
  EXPECT_EQ(filter.feed("ce:rubato: unknown flag\nother\n"), "other\n");
  EXPECT_EQ(filter.feed("partial rubato-once:rubato: unknown flag\n"), "partial \n");
  EXPECT_EQ(filter.feed("rubato-once:rubato: another\n"), "rubato: another\n");
}

TEST(OutputFilter, ThatNodesAreTerminatedAfterOneHasFailedIsNoNews) {
  const std::string terminated = "rubato-once:rubato: terminated\n";
  OutputFilter alone;
  EXPECT_EQ(alone.feed(terminated), "rubato: terminated\n");
  OutputFilter after_failure;
  static_cast<void>(
      after_failure.feed(to_report({.node = 1, .host = "host-1", .exit_code = 2}) + "\n"));
  EXPECT_EQ(after_failure.feed(terminated), "");
}

}  // namespace
}  // namespace rubato::tools

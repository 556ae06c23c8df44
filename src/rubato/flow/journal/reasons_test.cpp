// Why tasks that were done are done again.

#include <fstream>

#include <gtest/gtest.h>

#include "rubato/flow/journal/journal.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::TempFolder;
using program_testing::write_to;

// Of more than are kept in memory, and of two nodes.
TEST(JournalReasons, are_all_written_down) {
  const TempFolder folder;
  const auto path = [&](const std::string& name) { return folder.path() + "/" + name; };
  const auto options = [&](bool resume) { return Journal::numbered({path("journal"), resume}); };
  constexpr int kTasks = 1200;
  write_to(path("in"), "1");
  const auto number = [&](int i) {
    TaskIdentity one("draw\n" + std::to_string(i), path("journal"));
    one.add_input(path("in"));
    one.add(Value::integer(i));
    return one;
  };
  {
    Journal first(options(false), 0);
    for (int i = 0; i < kTasks; ++i)
      first.add(number(i), {});
    EXPECT_EQ(first.counts().why_in, "");
  }
  write_to(path("in"), "other");
  JournalCounts counts;
  {
    const JournalOptions resumed = options(true);
    Journal lower(resumed, 0);
    Journal higher(resumed, 1);
    for (int i = 0; i < kTasks; ++i)
      EXPECT_FALSE((i < 700 ? lower : higher).find(number(i)));
    counts = lower.counts();
    counts.add(higher.counts());
  }
  EXPECT_EQ(counts.n_again, 1200U);
  EXPECT_EQ(counts.why.size(), 1000U);
  EXPECT_EQ(counts.why_in, path("journal/run-0002-node-*.again"));
  Writer out;
  counts.put(out);
  Reader in(out.view());
  EXPECT_EQ(JournalCounts::get(in).why_in, counts.why_in);
  int i = 0;
  for (const char* node : {"0000", "0001"}) {
    std::ifstream file(path("journal/run-0002-node-" + std::string(node) + ".again"));
    for (std::string line; std::getline(file, line); ++i) {
      EXPECT_EQ(line, "draw " + std::to_string(i) + ": its input " + path("in") + " has changed");
    }
    EXPECT_EQ(i, node == std::string("0000") ? 700 : kTasks);
  }
}

}  // namespace
}  // namespace rubato::flow

#include "rubato/core/clocks.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "rubato/base/time.hpp"
#include "rubato/core/thread_fabric_test.hpp"

namespace rubato::core {
namespace {

using testing::ThreadHub;

TEST(Clocks, the_quickest_ways_tell_how_far_one_is_ahead) {
  // 1000 ahead; the quickest way there takes 20, back 30, in different round trips.
  const ClockOffset offset =
      detail::clock_offset({{0, 1020, 1030, 500}, {600, 1700, 1710, 740}, {800, 1990, 2000, 1400}});
  EXPECT_EQ(offset.ahead, 995);
  EXPECT_EQ(offset.error, 25);
  EXPECT_LE(std::abs(offset.ahead - 1000), offset.error);
  const ClockOffset behind = detail::clock_offset({{5000, 1001, 1001, 5002}});
  EXPECT_EQ(behind.ahead, -4000);
  EXPECT_EQ(behind.error, 1);
}

// What node 0 finds where the clock of each node has that name.
std::vector<ClockOffset> offsets_of(const std::vector<std::string>& names) {
  ThreadHub hub(static_cast<std::uint32_t>(names.size()));
  std::vector<ClockOffset> offsets;
  hub.run([&](NodeId node) {
    NodeHostOptions options;
    options.owns_process = false;
    NodeHost host(hub.fabric(node), options);
    auto known = measure_clocks(host, names[node]);
    EXPECT_EQ(known.size(), node == 0 ? names.size() : 0);
    if (node == 0) offsets = std::move(known);
  });
  return offsets;
}

TEST(Clocks, of_one_machine_are_one) {
  const std::string mine = clock_name();
  ASSERT_FALSE(mine.empty());
  for (const ClockOffset& offset : offsets_of({mine, mine, mine})) {
    EXPECT_EQ(offset.ahead, 0);
    EXPECT_EQ(offset.error, 0);
  }
}

// They are one clock with two names here; the last has none.
TEST(Clocks, of_several_machines_are_measured) {
  const std::vector<ClockOffset> offsets = offsets_of({"a", "b", "a", ""});
  ASSERT_EQ(offsets.size(), 4U);
  for (const NodeId node : {1U, 3U}) {
    EXPECT_GT(offsets[node].error, 0) << node;
    EXPECT_LE(std::abs(offsets[node].ahead), offsets[node].error) << node;
  }
  EXPECT_EQ(offsets[2].error, 0);
  EXPECT_GT(offsets_of({"", ""})[1].error, 0);
}

}  // namespace
}  // namespace rubato::core

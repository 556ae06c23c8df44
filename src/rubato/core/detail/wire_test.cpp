#include "rubato/core/detail/wire.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "rubato/net/local.hpp"

namespace rubato::core::detail {
namespace {

// Of each message, when messages were last looked for in vain as it was delivered.
TEST(Wire, knows_since_when_a_message_may_have_waited) {
  net::LocalFabric fabric;
  AdaptiveMutex mutex;
  std::vector<Nanos> empty;
  Wire* known = nullptr;
  Wire wire(fabric, mutex, [&](net::Arrival) { empty.push_back(known->last_empty()); });
  known = &wire;
  const auto send = [&](int n) {
    for (int i = 0; i < n; ++i) {
      Bytes bytes(8);
      ASSERT_TRUE(fabric.try_send(0, bytes));
    }
  };
  const Nanos before = steady_now();
  EXPECT_EQ(wire.pump(true), 0U);
  const Nanos after = steady_now();
  // More than it takes at once: the rest has waited since then, too.
  send(100);
  EXPECT_EQ(wire.pump(true), 64U);
  EXPECT_EQ(wire.pump(true), 36U);
  ASSERT_EQ(empty.size(), 100U);
  for (const Nanos when : empty)
    EXPECT_TRUE(before <= when && when <= after) << when;
  send(1);
  EXPECT_EQ(wire.pump(true), 1U);
  EXPECT_GE(empty.back(), after);
  EXPECT_LE(wire.last_empty(), wire.last_poll());
}

}  // namespace
}  // namespace rubato::core::detail

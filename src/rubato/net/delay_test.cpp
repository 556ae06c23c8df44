#include "rubato/net/delay.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "rubato/net/local.hpp"
#include "rubato/net/sim.hpp"

namespace rubato::net {
namespace {

// Hands the virtual node of a simulator to a wrapper that wants to own its fabric.
class Borrowed final : public Fabric {
 public:
  explicit Borrowed(Fabric& to) : to_(to) {}
  [[nodiscard]] NodeId node() const noexcept override { return to_.node(); }
  [[nodiscard]] std::uint32_t n_nodes() const noexcept override { return to_.n_nodes(); }
  [[nodiscard]] bool try_send(NodeId to, Bytes& bytes) noexcept override {
    return to_.try_send(to, bytes);
  }
  [[nodiscard]] bool poll(Arrival& arrival) noexcept override { return to_.poll(arrival); }
  [[nodiscard]] bool drained() const noexcept override { return to_.drained(); }
  [[nodiscard]] std::string host(NodeId node) const override { return to_.host(node); }
  [[noreturn]] void abort(int code, const std::string& message) noexcept override {
    to_.abort(code, message);
    std::abort();
  }

 private:
  Fabric& to_;
};

// Two nodes, wearing `profile` on a clock that the test sets.
struct Pair {
  explicit Pair(const std::string& profile, std::size_t bytes_max = 1 << 20) : net({2, {}, 1}) {
    for (NodeId n = 0; n < 2; ++n) {
      DelayOptions options;
      options.profile = parse_profile(profile);
      options.bytes_max = bytes_max;
      options.clock = [this] { return 77 + time; };  // the origin of a clock must not matter
      node.push_back(
          std::make_unique<DelayFabric>(std::make_unique<Borrowed>(net.fabric(n)), options));
    }
  }
  bool send(NodeId from, NodeId to, std::size_t n_bytes) {
    Bytes bytes(n_bytes);
    const bool taken = node[from]->try_send(to, bytes);
    net.run();
    return taken;
  }
  // The size of what came, or -1.
  int poll(NodeId at) {
    Arrival arrival;
    net.run();
    return node[at]->poll(arrival) ? static_cast<int>(arrival.bytes.size()) : -1;
  }

  Nanos time = 0;
  SimNetwork net;
  std::vector<std::unique_ptr<DelayFabric>> node;
};

TEST(DelayFabric, HoldsWhatCameUntilItsTime) {
  Pair pair("const");
  ASSERT_TRUE(pair.send(0, 1, 8));
  EXPECT_EQ(pair.poll(1), -1);
  pair.time = 250 * kMicrosecond - 1;
  EXPECT_EQ(pair.poll(1), -1);
  pair.time = 250 * kMicrosecond;
  EXPECT_EQ(pair.poll(1), 8);
  EXPECT_EQ(pair.poll(1), -1);
}

TEST(DelayFabric, DrawsWhatTheSimulatorDraws) {
  const Profile profile = parse_profile("ec2-large");
  LinkSampler link(profile, 1, 0, 1);
  Pair pair("ec2-large");
  for (int i = 0; i < 200; ++i) {
    pair.time = i * kSecond;
    ASSERT_TRUE(pair.send(0, 1, 8));
    ASSERT_EQ(pair.poll(1), -1);
    const Nanos due = link.arrival(pair.time, 8);
    pair.time = due - 1;
    ASSERT_EQ(pair.poll(1), -1);
    pair.time = due;
    ASSERT_EQ(pair.poll(1), 8);
  }
}

TEST(DelayFabric, APairStaysInOrder) {
  Pair pair("pareto,rate=100");
  int next_sent = 0;
  int next_came = 0;
  for (; next_came < 500; pair.time += 50 * kMicrosecond) {
    if (next_sent < 500 && pair.send(0, 1, static_cast<std::size_t>(next_sent))) ++next_sent;
    (void)pair.poll(0);
    for (int size = pair.poll(1); size >= 0; size = pair.poll(1))
      ASSERT_EQ(size, next_came++);
    ASSERT_LT(pair.time, 10 * kSecond);
  }
}

TEST(DelayFabric, TheEmulatedWireSendsOneAfterTheOtherAndIsBounded) {
  Pair pair("none,rate=8", 3000);  // 1 us a byte
  ASSERT_TRUE(pair.send(0, 1, 1000));
  ASSERT_TRUE(pair.send(0, 1, 1500));
  EXPECT_FALSE(pair.send(0, 1, 1000));
  EXPECT_FALSE(pair.node[0]->drained());
  pair.time = kMillisecond;
  EXPECT_EQ(pair.poll(0), -1);  // drives what waits for the wire
  EXPECT_EQ(pair.poll(1), 1000);
  pair.time = 2499 * kMicrosecond;
  EXPECT_EQ(pair.poll(0), -1);
  EXPECT_EQ(pair.poll(1), -1);
  pair.time = 2500 * kMicrosecond;
  EXPECT_EQ(pair.poll(0), -1);
  EXPECT_EQ(pair.poll(1), 1500);
  EXPECT_TRUE(pair.node[0]->drained());
}

TEST(DelayFabric, HoldsABoundedNumberOfBytes) {
  Pair pair("none,base=1000000", 1000);
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(pair.send(0, 1, 400));
  EXPECT_EQ(pair.poll(1), -1);
  // The first polls took what fits; the rest still waits in the inner fabric.
  Arrival arrival;
  int n_inner = 0;
  while (pair.net.fabric(1).poll(arrival))
    ++n_inner;
  EXPECT_EQ(n_inner, 7);
}

TEST(DelayFabric, LeavesOnlyWhenAllHasCrossedTheWire) {
  SimNetwork net({2, {}, 1});
  Nanos time = 0;
  DelayOptions options;
  options.profile = parse_profile("none,rate=8");
  options.clock = [&time] { return time += 10 * kMicrosecond; };
  {
    DelayFabric fabric(std::make_unique<Borrowed>(net.fabric(0)), options);
    for (int i = 0; i < 3; ++i) {
      Bytes bytes(1000);
      ASSERT_TRUE(fabric.try_send(1, bytes));
    }
  }
  EXPECT_EQ(net.counts(0).n_messages, 3U);
  EXPECT_GE(time, 3 * kMillisecond);
}

TEST(DelayFabric, DoesNotDelayANodeToItself) {
  Pair pair("const,rate=1");
  ASSERT_TRUE(pair.send(1, 1, 1000));
  EXPECT_EQ(pair.poll(1), 1000);
}

}  // namespace
}  // namespace rubato::net

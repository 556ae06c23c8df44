#include "rubato/net/sim.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"

namespace rubato::net {
namespace {

Bytes bytes_of(std::uint64_t value, std::size_t n_padding = 0) {
  Writer writer;
  writer.put(value);
  Bytes bytes = writer.take();
  bytes.resize(bytes.size() + n_padding);
  return bytes;
}
std::uint64_t value_of(const Bytes& bytes) {
  return Reader(bytes).get<std::uint64_t>();
}

bool send(SimNetwork& net, NodeId from, NodeId to, std::uint64_t value, std::size_t n_padding = 0) {
  Bytes bytes = bytes_of(value, n_padding);
  return net.fabric(from).try_send(to, bytes);
}

SimOptions options(std::uint32_t n_nodes, const std::string& profile, std::uint64_t seed = 1) {
  SimOptions o;
  o.n_nodes = n_nodes;
  o.profile = parse_profile(profile);
  o.seed = seed;
  return o;
}

TEST(SimNetwork, AMessageArrivesAfterTheDelayOfItsLinkAndNotBefore) {
  SimNetwork net(options(2, "const"));
  ASSERT_TRUE(send(net, 0, 1, 42));
  Arrival arrival;
  net.run(250 * kMicrosecond - 1);
  EXPECT_FALSE(net.fabric(1).poll(arrival));
  net.run(250 * kMicrosecond);
  ASSERT_TRUE(net.fabric(1).poll(arrival));
  EXPECT_EQ(arrival.from, 0U);
  EXPECT_EQ(value_of(arrival.bytes), 42U);
  EXPECT_FALSE(net.fabric(1).poll(arrival));
}

TEST(SimNetwork, CallbacksRunInOrderOfTimeThenOfScheduling) {
  SimNetwork net(options(1, "none"));
  std::string order;
  net.at(20, [&] { order += "c"; });
  net.at(10, [&] {
    order += "a";
    net.at(10, [&] { order += "b"; });
    net.at(20, [&] { order += "e"; });
  });
  net.at(20, [&] { order += "d"; });
  EXPECT_EQ(net.next_event(), 10);
  EXPECT_EQ(net.run(), 5U);
  EXPECT_EQ(order, "abcde");
  EXPECT_EQ(net.now(), 20);
  EXPECT_EQ(net.next_event(), kNever);
  EXPECT_FALSE(net.step());
}

TEST(SimNetwork, TheWireOfANodeIsSharedByItsLinks) {
  SimNetwork net(options(3, "none,rate=1000"));  // 8 ns a byte
  std::vector<Nanos> at(3, -1);
  for (NodeId n = 1; n < 3; ++n)
    net.on_change(n, [&at, &net, n] { at[n] = net.now(); });
  ASSERT_TRUE(send(net, 0, 1, 0, 992));
  ASSERT_TRUE(send(net, 0, 2, 0, 992));
  EXPECT_FALSE(net.fabric(0).drained());
  net.run();
  EXPECT_EQ(at[1], 8000);
  EXPECT_EQ(at[2], 16000);
  EXPECT_TRUE(net.fabric(0).drained());
}

// Everybody answers every message with one to a random node, until its count is used up. Returns a
// hash of who got what when.
std::uint64_t storm(const SimOptions& o, Nanos* end = nullptr) {
  SimNetwork net(o);
  std::uint64_t hash = 0;
  for (NodeId n = 0; n < o.n_nodes; ++n) {
    net.on_change(n, [&net, &hash, n, &o] {
      Arrival arrival;
      while (net.fabric(n).poll(arrival)) {
        const std::uint64_t value = value_of(arrival.bytes);
        hash = hash_words(hash, value << 32 | arrival.from << 16 | n,
                          static_cast<std::uint64_t>(net.now()));
        if (value == 0) continue;
        const auto to = static_cast<NodeId>(hash_words(n, value) % o.n_nodes);
        EXPECT_TRUE(send(net, n, to, value - 1, value % 100));
      }
    });
    EXPECT_TRUE(send(net, n, n, 200));
  }
  net.run();
  EXPECT_EQ(net.counts().n_messages, o.n_nodes * 201U);
  EXPECT_EQ(net.counts().n_delivered, net.counts().n_messages);
  if (end != nullptr) *end = net.now();
  return hash;
}

TEST(SimNetwork, IsExactlyRepeatableFromItsSeed) {
  for (const bool shuffle : {false, true}) {
    SimOptions o = options(7, "ec2-small,rate=1000,stall=0:0:20:5", 11);
    o.shuffle_ties = shuffle;
    Nanos end = 0;
    const std::uint64_t hash = storm(o, &end);
    EXPECT_EQ(storm(o), hash);
    EXPECT_GT(end, 200 * 800 * kMicrosecond);
    o.seed = 12;
    EXPECT_NE(storm(o), hash);
  }
}

TEST(SimNetwork, APairStaysInOrderUnderEveryProfileAndTieOrder) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SimOptions o = options(4, seed % 3 == 0 ? "none" : "pareto,stall=0:0:1:1,rate=100", seed);
    o.shuffle_ties = seed % 2 == 0;
    SimNetwork net(o);
    RandomStream random(seed);
    for (std::uint64_t i = 0; i < 400; ++i) {
      const auto from = static_cast<NodeId>(random() % 4);
      ASSERT_TRUE(send(net, from, static_cast<NodeId>(random() % 4), i, random() % 500));
      if (random() % 4 == 0) net.step();
    }
    net.run();
    for (NodeId n = 0; n < 4; ++n) {
      std::vector<std::int64_t> last(4, -1);
      Arrival arrival;
      while (net.fabric(n).poll(arrival)) {
        const auto value = static_cast<std::int64_t>(value_of(arrival.bytes));
        ASSERT_GT(value, last[arrival.from]) << "seed " << seed;
        last[arrival.from] = value;
      }
    }
  }
}

TEST(SimNetwork, ShuffledTiesDependOnTheSeedAlone) {
  const auto order = [](std::uint64_t seed) {
    SimOptions o = options(1, "none", seed);
    o.shuffle_ties = true;
    SimNetwork net(o);
    std::string text;
    for (char c = 'a'; c < 'k'; ++c)
      net.at(5, [&text, c] { text += c; });
    net.run();
    return text;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(SimNetwork, RefusesAboveTheBoundAndTellsTheSenderWhenThereIsRoom) {
  SimOptions o = options(2, "const");
  o.pair_bytes_max = 100;
  SimNetwork net(o);
  int n_told = 0;
  net.on_change(0, [&] { ++n_told; });
  ASSERT_TRUE(send(net, 0, 1, 1, 500));  // one message passes whatever its size
  Bytes bytes = bytes_of(2);
  EXPECT_FALSE(net.fabric(0).try_send(1, bytes));
  EXPECT_EQ(value_of(bytes), 2U);
  EXPECT_EQ(net.counts(0).n_refused, 1U);
  net.run();
  EXPECT_EQ(n_told, 0);
  EXPECT_FALSE(net.fabric(0).try_send(1, bytes));  // arrived, but not taken
  Arrival arrival;
  ASSERT_TRUE(net.fabric(1).poll(arrival));
  net.run();
  EXPECT_EQ(n_told, 1);
  EXPECT_TRUE(net.fabric(0).try_send(1, bytes));
}

TEST(SimNetwork, MessagesToAndFromAKilledNodeVanish) {
  SimNetwork net(options(3, "const"));
  int n_heard_by_dead = 0;
  net.on_change(1, [&] { ++n_heard_by_dead; });
  ASSERT_TRUE(send(net, 1, 0, 1));
  net.run(200 * kMicrosecond);
  ASSERT_TRUE(send(net, 1, 0, 2));  // still on the wire at 300 us
  ASSERT_TRUE(send(net, 0, 1, 3));
  ASSERT_TRUE(send(net, 0, 2, 4));
  net.kill(1, 300 * kMicrosecond);
  EXPECT_TRUE(net.alive(1));
  net.run();
  EXPECT_FALSE(net.alive(1));
  ASSERT_TRUE(send(net, 0, 1, 5));
  ASSERT_TRUE(send(net, 1, 0, 6));
  net.run();
  Arrival arrival;
  ASSERT_TRUE(net.fabric(0).poll(arrival));
  EXPECT_EQ(value_of(arrival.bytes), 1U);
  EXPECT_FALSE(net.fabric(0).poll(arrival));
  EXPECT_TRUE(net.fabric(2).poll(arrival));
  EXPECT_FALSE(net.fabric(1).poll(arrival));
  EXPECT_EQ(n_heard_by_dead, 0);
  EXPECT_EQ(net.counts().n_lost, 4U);
}

TEST(SimNetwork, AKilledReceiverFreesTheLinkOfItsSender) {
  SimOptions o = options(2, "const");
  o.pair_bytes_max = 100;
  SimNetwork net(o);
  ASSERT_TRUE(send(net, 0, 1, 1, 100));
  net.run();
  ASSERT_FALSE(send(net, 0, 1, 2));
  net.kill(1, net.now());
  net.run();
  EXPECT_TRUE(send(net, 0, 1, 2));
}

TEST(SimNetwork, TenThousandNodesUseMemoryForTheirLinksAlone) {
  constexpr std::uint32_t kN = 10'000;
  SimNetwork net(options(kN, "ec2-large,rate=1000"));
  std::uint64_t sum = 0;
  for (NodeId n = 0; n < kN; ++n) {
    net.on_change(n, [&net, &sum, n] {
      Arrival arrival;
      while (net.fabric(n).poll(arrival))
        sum += value_of(arrival.bytes);
    });
    for (const NodeId d : {1U, 100U, kN - 1, kN - 100}) {
      ASSERT_TRUE(send(net, n, (n + d) % kN, n));
    }
  }
  net.run();
  EXPECT_EQ(sum, std::uint64_t{4} * kN * (kN - 1) / 2);
  EXPECT_EQ(net.n_links(), 4 * kN);
}

TEST(SimNetwork, ANodeCanBeSlow) {
  SimNetwork net(options(2, "none"));
  net.set_slowdown(1, 2.5);
  EXPECT_EQ(net.slowdown(0), 1);
  EXPECT_EQ(net.slowdown(1), 2.5);
}

}  // namespace
}  // namespace rubato::net

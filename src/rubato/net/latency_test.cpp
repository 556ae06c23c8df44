#include "rubato/net/latency.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace rubato::net {
namespace {

Nanos quantile(std::vector<Nanos> values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(p * static_cast<double>(values.size() - 1))];
}

std::vector<Nanos> draws(const Profile& profile, std::size_t n, std::uint64_t seed = 1) {
  const LinkSampler link(profile, seed, 0, 1);
  std::vector<Nanos> all;
  for (std::size_t i = 0; i < n; ++i)
    all.push_back(link.delay(i));
  return all;
}

TEST(Latency, NoneAddsNothingAndConstAddsItsBase) {
  const Profile none = parse_profile("none");
  const Profile constant = parse_profile("const");
  EXPECT_EQ(LinkSampler(none, 1, 0, 1).arrival(1234, 100), 1234);
  EXPECT_EQ(LinkSampler(constant, 1, 0, 1).arrival(1234, 100), 1234 + 250 * kMicrosecond);
}

TEST(Latency, TheNthMessageOfALinkAlwaysDrawsTheSameDelay) {
  const Profile profile = parse_profile("ec2-large");
  LinkSampler slow(profile, 7, 3, 5);
  LinkSampler fast(profile, 7, 3, 5);
  for (Nanos i = 0; i < 1000; ++i) {
    // Far apart, so that order holds nothing back.
    const Nanos d = slow.arrival(i * kSecond, 10) - i * kSecond;
    EXPECT_EQ(d, fast.arrival(i * 2 * kSecond, 1 << 20) - i * 2 * kSecond);
    EXPECT_EQ(d, fast.delay(static_cast<std::uint64_t>(i)));
  }
  EXPECT_NE(draws(profile, 100, 1), draws(profile, 100, 2));
}

TEST(Latency, LinksDrawIndependently) {
  const Profile profile = parse_profile("lognormal");
  const LinkSampler there(profile, 1, 0, 1);
  const LinkSampler back(profile, 1, 1, 0);
  const LinkSampler far(profile, 1, 0, 1010);
  int n_equal = 0;
  for (std::uint64_t n = 0; n < 100; ++n) {
    n_equal += there.delay(n) == back.delay(n) || there.delay(n) == far.delay(n);
  }
  EXPECT_EQ(n_equal, 0);
}

TEST(Latency, Ec2LargeHasTheMedianAndTheSpikesOfItsDefinition) {
  const auto all = draws(parse_profile("ec2-large"), 200'000);
  EXPECT_NEAR(static_cast<double>(quantile(all, 0.5)), 180e3, 2e3);
  const auto n_spikes =
      std::count_if(all.begin(), all.end(), [](Nanos d) { return d > 5'000'000; });
  EXPECT_NEAR(static_cast<double>(n_spikes) / 200'000, 0.01, 0.001);
  EXPECT_LT(*std::max_element(all.begin(), all.end()), 32 * kMillisecond);
}

TEST(Latency, ParetoHasItsMedianAndItsCap) {
  const auto all = draws(parse_profile("pareto,cap=1000"), 100'000);
  EXPECT_NEAR(static_cast<double>(quantile(all, 0.5)), 200e3, 3e3);
  EXPECT_EQ(*std::max_element(all.begin(), all.end()), 1100 * kMicrosecond);
}

TEST(Latency, NothingOvertakesWithinALink) {
  const Profile profile = parse_profile("ec2-small,stall=0:0:5:3,host-stall=0:9:2");
  LinkSampler link(profile, 3, 0, 1);
  Nanos last = 0;
  for (Nanos i = 0; i < 20'000; ++i) {
    const Nanos t = link.arrival(i * 10 * kMicrosecond, 8);
    ASSERT_GE(t, last);
    ASSERT_GE(t, i * 10 * kMicrosecond + 200 * kMicrosecond);
    last = t;
  }
}

TEST(Latency, AStallHoldsBackTheShareOfTimeThatItIsOn) {
  // On for 14 of every 200 + 14 ms in the mean.
  const Profile profile = parse_profile("none,stall=0:0:200:14");
  LinkSampler link(profile, 5, 0, 1);
  std::int64_t n_held = 0;
  constexpr Nanos kN = 2'000'000;
  for (Nanos i = 0; i < kN; ++i)
    n_held += link.arrival(i * kMillisecond / 10, 8) > i * kMillisecond / 10;
  EXPECT_NEAR(static_cast<double>(n_held) / kN, 14.0 / 214.0, 0.01);
}

TEST(Latency, AHostStallHitsAllLinksOfTheHostAtTheSameInstantsAndNoOther) {
  const Profile profile = parse_profile("none,host-stall=2:20:10");
  LinkSampler into(profile, 5, 0, 1);
  LinkSampler out_of(profile, 5, 1, 3);
  LinkSampler beside(profile, 5, 0, 3);
  Nanos n_held = 0;
  for (Nanos t = 0; t < kSecond; t += kMillisecond) {
    const Nanos a = into.arrival(t, 1);
    EXPECT_EQ(a, out_of.arrival(t, 1));
    EXPECT_EQ(beside.arrival(t, 1), t);
    n_held += a > t;
  }
  EXPECT_GT(n_held, 100);
}

TEST(Latency, ALinkStallHitsItsLinkAlone) {
  const Profile profile = parse_profile("none,stall=1:2:20:10");
  LinkSampler there(profile, 5, 0, 1);
  LinkSampler back(profile, 5, 1, 0);
  bool held = false;
  for (Nanos t = 0; t < kSecond; t += kMillisecond) {
    held |= there.arrival(t, 1) > t;
    EXPECT_EQ(back.arrival(t, 1), t);
  }
  EXPECT_TRUE(held);
}

TEST(Latency, TheWireOfAHostSendsOneMessageAfterTheOther) {
  Egress wire(1000);  // 1 Gb/s: 8 ns a byte
  EXPECT_EQ(wire.take(100, 1000).end, 100 + 8000);
  EXPECT_EQ(wire.take(100, 1000).begin, 8100);
  EXPECT_EQ(wire.free_at(), 16'100);
  EXPECT_EQ(wire.take(50'000, 125).end, 51'000);
  Egress unlimited;
  EXPECT_EQ(unlimited.take(7, 1 << 20).end, 7);
}

TEST(Latency, UnitPacketDrawsOnceForEachPacket) {
  const Profile by_packet = parse_profile("ec2-large,unit=packet,packet-bytes=1000");
  LinkSampler link(by_packet, 1, 0, 1);
  const Nanos worst_of_ten = [&] {
    Nanos worst = 0;
    for (std::uint64_t n = 0; n < 10; ++n)
      worst = std::max(worst, link.delay(n));
    return worst;
  }();
  EXPECT_EQ(link.arrival(kSecond, 9001), kSecond + worst_of_ten);
  EXPECT_EQ(link.arrival(2 * kSecond, 0), 2 * kSecond + link.delay(10));
}

TEST(Latency, UnitTimeDrawsOnceForEachSpanHoweverManyMessages) {
  const Profile by_time = parse_profile("ec2-large,unit=time,span=500");
  LinkSampler link(by_time, 1, 0, 1);
  const Nanos start = kSecond;  // span 2000
  const Nanos delay = link.delay(2000);
  for (Nanos i = 0; i < 10; ++i)
    EXPECT_EQ(link.arrival(start + i * 1000, 8), start + i * 1000 + delay);
}

TEST(Latency, SpikesMissBareAcknowledgementsUnlessTold) {
  const Profile deaf = parse_profile("none,spike-prob=1");
  const Profile all = parse_profile("none,spike-prob=1,ack-spikes=true");
  EXPECT_EQ(LinkSampler(deaf, 1, 0, 1).arrival(5, 40, false), 5);
  EXPECT_GE(LinkSampler(deaf, 1, 0, 1).arrival(5, 40, true), 5 * kMillisecond);
  EXPECT_GE(LinkSampler(all, 1, 0, 1).arrival(5, 40, false), 5 * kMillisecond);
}

TEST(Latency, ATraceIsReplayedInTurnFromAPlaceOfEachLink) {
  const Profile profile = parse_profile("distribution=trace,delays=10 20 30 40");
  const LinkSampler link(profile, 1, 0, 1);
  const auto first = link.delay(0) / (10 * kMicrosecond);
  for (std::uint64_t n = 0; n < 8; ++n) {
    EXPECT_EQ(link.delay(n), ((first - 1 + static_cast<Nanos>(n)) % 4 + 1) * 10 * kMicrosecond);
  }
}

TEST(Latency, AProfileMadeOfRoundTripsGivesThoseRoundTrips) {
  const Profile truth = parse_profile("ec2-large");
  const LinkSampler there(truth, 1, 0, 1);
  const LinkSampler back(truth, 1, 1, 0);
  std::vector<Nanos> measured;
  for (std::uint64_t n = 0; n < 50'000; ++n)
    measured.push_back(there.delay(n) + back.delay(n));
  const Profile made = profile_from_round_trips(measured, "measured");
  const LinkSampler made_there(made, 2, 0, 1);
  const LinkSampler made_back(made, 2, 1, 0);
  std::vector<Nanos> again;
  for (std::uint64_t n = 0; n < 50'000; ++n)
    again.push_back(made_there.delay(n) + made_back.delay(n));
  for (const double p : {0.1, 0.5, 0.9, 0.95, 0.99, 0.995, 0.999}) {
    const auto expected = static_cast<double>(quantile(measured, p));
    EXPECT_NEAR(static_cast<double>(quantile(again, p)), expected, 0.15 * expected) << "at " << p;
  }
}

}  // namespace
}  // namespace rubato::net

// What a log of delays keeps of its samples.

#include "rubato/tick/tune/delays.hpp"

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"

namespace rubato::tick {
namespace {

double mean_of_draws(const Delays& delays) {
  double sum = 0;
  constexpr int kDraws = 10'000;
  for (int i = 0; i < kDraws; ++i)
    sum += delays.draw((i + 0.5) / kDraws);
  return sum / kDraws;
}

TEST(Delays, nothing_is_known_without_samples) {
  EXPECT_EQ(DelayLog().delays().n, 0U);
}

TEST(Delays, the_offset_of_clocks_is_in_the_least_alone) {
  DelayLog log;
  for (const Nanos delay : {-900'000, -899'000, -890'000})
    log.add(delay);
  const Delays delays = log.delays();
  EXPECT_EQ(delays.n, 3U);
  EXPECT_EQ(delays.least, -900'000);
  EXPECT_NEAR(mean_of_draws(delays), (0 + 1'000 + 10'000) / 3.0, 20);
  EXPECT_EQ(delays.draw(0), 0);
  EXPECT_EQ(delays.draw(0.9999), 10'000);
}

TEST(Delays, rare_spikes_keep_their_weight) {
  RandomStream random(7);
  DelayLog log;
  double sum = 0;
  for (int i = 0; i < 500; ++i) {
    const Nanos delay = i % 100 == 3 ? 20'000'000 : random.between(0, 100'000);
    log.add(delay);
    sum += static_cast<double>(delay);
  }
  const Delays delays = log.delays();
  EXPECT_NEAR(mean_of_draws(delays), sum / 500 - delays.least, 2'000);
  EXPECT_LT(delays.draw(0.975), 110'000);
  EXPECT_GT(delays.draw(0.992), 15e6);
}

TEST(Delays, old_samples_are_forgotten) {
  DelayLog log;
  for (int i = 0; i < 100; ++i)
    log.add(1'000'000);
  for (std::size_t i = 0; i < DelayLog::kMost; ++i)
    log.add(5'000);
  const Delays delays = log.delays();
  EXPECT_EQ(delays.n, DelayLog::kMost);
  EXPECT_EQ(delays.least, 5'000);
  EXPECT_EQ(delays.draw(0.9999), 0);
}

}  // namespace
}  // namespace rubato::tick

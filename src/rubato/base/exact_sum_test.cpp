#include "rubato/base/exact_sum.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"

namespace rubato {
namespace {

using Limits = std::numeric_limits<double>;

double sum_of(const std::vector<double>& terms) {
  ExactSum sum;
  for (const double x : terms)
    sum.add(x);
  return sum.value();
}

// Any finite double, of any exponent between `low` and `high`.
double random_double(RandomStream& random, int low, int high) {
  const double mantissa = 1 + random.unit();
  const auto exponent = static_cast<int>(random.between(low, high));
  return std::ldexp(random.between(0, 1) != 0 ? mantissa : -mantissa, exponent);
}

TEST(ExactSum, one_term_comes_back) {
  RandomStream random(1);
  for (int i = 0; i < 10000; ++i) {
    const double x = random_double(random, -1074, 1023);
    EXPECT_EQ(sum_of({x}), x);
  }
  for (const double x : {0.0, Limits::denorm_min(), -Limits::min(), Limits::max(), 1.0, -3.5}) {
    EXPECT_EQ(sum_of({x}), x);
  }
}

TEST(ExactSum, a_sum_of_two_is_what_the_processor_rounds_it_to) {
  RandomStream random(2);
  for (int i = 0; i < 20000; ++i) {
    const int around = static_cast<int>(random.between(-1074, 1020));
    const double a = random_double(random, std::max(-1074, around - 60), around);
    const double b = random_double(random, std::max(-1074, around - 60), around);
    EXPECT_EQ(sum_of({a, b}), a + b);
  }
}

TEST(ExactSum, ties_go_to_even_and_anything_below_breaks_them) {
  const double half_ulp = 0x1p-53;
  EXPECT_EQ(sum_of({1.0, half_ulp}), 1.0);
  EXPECT_EQ(sum_of({1.0, half_ulp, Limits::denorm_min()}), 1.0 + 0x1p-52);
  EXPECT_EQ(sum_of({1.0 + 0x1p-52, half_ulp}), 1.0 + 0x1p-51);
  EXPECT_EQ(sum_of({1.0 + 0x1p-52, half_ulp, -Limits::denorm_min()}), 1.0 + 0x1p-52);
}

TEST(ExactSum, what_cancels_leaves_nothing_behind) {
  EXPECT_EQ(sum_of({1e300, 1.0, -1e300}), 1.0);
  EXPECT_EQ(sum_of({1e300, -1e-300, -1e300, 1e-300}), 0.0);
  EXPECT_EQ(sum_of({Limits::max(), Limits::max(), -Limits::max()}), Limits::max());
  EXPECT_EQ(sum_of({Limits::max(), Limits::max()}), Limits::infinity());
  EXPECT_EQ(sum_of({-Limits::denorm_min(), Limits::max(), -Limits::max()}), -Limits::denorm_min());
}

TEST(ExactSum, order_and_grouping_do_not_matter) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed, 3);
    std::vector<double> terms(100);
    for (double& x : terms)
      x = random_double(random, -200, 200);
    ExactSum forward;
    for (const double x : terms)
      forward.add(x);
    for (std::size_t i = terms.size(); i > 1; --i) {
      std::swap(
          terms[i - 1],
          terms[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
    }
    std::vector<ExactSum> groups(7);
    for (const double x : terms)
      groups[static_cast<std::size_t>(random.between(0, 6))].add(x);
    ExactSum total;
    for (const ExactSum& group : groups)
      total.add(group);
    EXPECT_TRUE(total == forward) << seed;
    EXPECT_EQ(total.value(), forward.value()) << seed;
    total.add(Limits::denorm_min());
    EXPECT_FALSE(total == forward) << seed;
  }
}

TEST(ExactSum, integers_sum_like_integers) {
  RandomStream random(4);
  __extension__ using Wide = __int128;
  Wide exact = 0;
  ExactSum sum;
  for (int i = 0; i < 100000; ++i) {
    const std::int64_t x = random.between(-(std::int64_t{1} << 53), std::int64_t{1} << 53);
    exact += x;
    sum.add(static_cast<double>(x));
  }
  EXPECT_EQ(sum.value(), static_cast<double>(exact));
}

// As of doubles in any order; and the digits stay what they are.
TEST(ExactSum, what_is_not_finite_is_kept_apart) {
  const double infinite = Limits::infinity();
  const auto sum_of = [](const std::vector<double>& terms) {
    ExactSum all;
    for (const double x : terms) {
      ExactSum one;
      one.add(x);
      all.add(one);
    }
    return all;
  };
  EXPECT_EQ(sum_of({1, infinite, -3}).value(), infinite);
  EXPECT_EQ(sum_of({-infinite, Limits::max(), -infinite}).value(), -infinite);
  EXPECT_TRUE(std::isnan(sum_of({infinite, 1, -infinite}).value()));
  EXPECT_TRUE(std::isnan(sum_of({Limits::quiet_NaN(), 1}).value()));
  EXPECT_TRUE(std::isnan(sum_of({infinite, -Limits::quiet_NaN()}).value()));
  EXPECT_TRUE(sum_of({infinite, 1}) == sum_of({2, infinite}));
  EXPECT_TRUE(sum_of({infinite, -infinite}) == sum_of({Limits::quiet_NaN()}));
  EXPECT_FALSE(sum_of({infinite}) == sum_of({-infinite}));
  EXPECT_FALSE(sum_of({infinite}) == sum_of({1}));
}

}  // namespace
}  // namespace rubato

#include "rubato/io/number.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"

namespace rubato::io {
namespace {

TEST(Number, ReadsBackTheBitsOfAnyDouble) {
  RandomStream random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (std::isnan(value)) continue;
    const auto back = parse_number<double>(number_text(value), true);
    ASSERT_TRUE(back.has_value()) << number_text(value);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(*back), std::bit_cast<std::uint64_t>(value));
  }
}

TEST(Number, ReadsBackTheBitsOfAnyFloat) {
  RandomStream random(2);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;
    const auto back = parse_number<float>(number_text(value), true);
    ASSERT_TRUE(back.has_value()) << number_text(value);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(*back), std::bit_cast<std::uint32_t>(value));
  }
}

TEST(Number, IsWrittenInItsShortestForm) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(0.1F), "0.1");
  EXPECT_EQ(number_text(-3.0), "-3");
  EXPECT_EQ(number_text(std::uint8_t{200}), "200");
  EXPECT_EQ(number_text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

TEST(Number, TellsTheErrorsApart) {
  EXPECT_EQ(parse_number<int>("abc").error(), NumberError::malformed);
  EXPECT_EQ(parse_number<int>("").error(), NumberError::malformed);
  EXPECT_EQ(parse_number<int>("1.5").error(), NumberError::malformed);
  EXPECT_EQ(parse_number<int>("+-1").error(), NumberError::malformed);
  EXPECT_EQ(parse_number<int>("3000000000").error(), NumberError::out_of_range);
  EXPECT_EQ(parse_number<std::uint32_t>("-1").error(), NumberError::malformed);
  EXPECT_EQ(parse_number<std::uint8_t>("256").error(), NumberError::out_of_range);
  EXPECT_EQ(parse_number<double>("1e999").error(), NumberError::out_of_range);
  EXPECT_EQ(parse_number<double>("1,5").error(), NumberError::malformed);
  EXPECT_EQ(parse_number<double>("nan").error(), NumberError::not_finite);
  EXPECT_EQ(parse_number<float>("-INF").error(), NumberError::not_finite);
}

TEST(Number, UnderflowIsZeroAndAPlusSignIsFine) {
  EXPECT_EQ(*parse_number<float>("1e-60"), 0.0F);
  EXPECT_TRUE(std::signbit(*parse_number<double>("-1e-400")));
  EXPECT_EQ(*parse_number<double>("+2.5"), 2.5);
  EXPECT_TRUE(std::isnan(*parse_number<double>("NaN", true)));
}

TEST(Shown, EscapesAndCuts) {
  EXPECT_EQ(shown("a\tb\x01"), "\"a\\tb\\x01\"");
  EXPECT_EQ(shown(std::string(100, 'x')), "\"" + std::string(48, 'x') + "...\"");
}

}  // namespace
}  // namespace rubato::io

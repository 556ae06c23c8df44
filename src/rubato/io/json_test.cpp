#include "rubato/io/json.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/base/random.hpp"

namespace rubato::io {
namespace {

TEST(JsonWriter, WritesOneLineInTheOrderGiven) {
  JsonWriter json;
  json.begin_object().field("bench", "tick-heat").field("nodes", 1).key("rows").begin_array();
  json.begin_object().field("value", 2.83).field("ok", true).end_object();
  json.begin_array().end_array().null().raw("[1]").end_array().end_object();
  EXPECT_EQ(json.text(),
            R"({"bench":"tick-heat","nodes":1,"rows":[{"value":2.83,"ok":true},[],null,[1]]})");
}

TEST(JsonWriter, NumbersReadBackToTheSameBits) {
  RandomStream random(5);
  for (int i = 0; i < 5'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    JsonWriter json;
    json.begin_array().value(value).value(random()).end_array();
    const auto parsed = nlohmann::json::parse(json.text());
    EXPECT_EQ(parsed[0].get<double>(), value) << json.text();
  }
  JsonWriter json;
  json.value(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(nlohmann::json::parse(json.text()).get<std::uint64_t>(), ~std::uint64_t{0});
}

TEST(JsonWriter, HasNoWordForNonFiniteNumbers) {
  JsonWriter json;
  json.begin_array().value(std::nan("")).value(-HUGE_VALF).value(1.5F).end_array();
  EXPECT_EQ(json.text(), "[null,null,1.5]");
}

TEST(JsonWriter, AnyBytesMakeAValidString) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed);
    std::string text;
    for (int i = 0; i < 40; ++i)
      text += static_cast<char>(random() & 255);
    text += "\"\\/\n\xc3\xa9\xf0\x9f\x90\x9f";
    const auto parsed = nlohmann::json::parse(json_quoted(text)).get<std::string>();
    EXPECT_TRUE(parsed.ends_with("\"\\/\n\xc3\xa9\xf0\x9f\x90\x9f")) << "seed " << seed;
  }
}

TEST(JsonWriterDeathTest, RefusesBrokenNesting) {
  JsonWriter json;
  json.begin_object();
  EXPECT_DEATH(json.value(1), "precondition");
  EXPECT_DEATH(json.end_array(), "precondition");
  EXPECT_DEATH(static_cast<void>(json.text()), "precondition");
}

}  // namespace
}  // namespace rubato::io

#include "rubato/net/profile.hpp"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"
#include "rubato/net/latency.hpp"

namespace rubato::net {
namespace {

std::string error_of(const std::string& text) {
  try {
    const auto profile = parse_profile(text);
    return "no error: " + to_text(profile);
  } catch (const Error& e) {
    return e.what();
  }
}

std::string temporary(const std::string& name, const std::string& content) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << content;
  return path;
}

TEST(Profile, EveryNameIsReadAndWrittenBack) {
  for (const auto& name : profile_names()) {
    const Profile profile = parse_profile(name);
    EXPECT_EQ(profile.name, name);
    EXPECT_EQ(parse_profile(to_text(profile)), profile) << to_text(profile);
    EXPECT_EQ(profile.is_idle(), name == "none");
  }
}

TEST(Profile, SettingsFollowAName) {
  const Profile p =
      parse_profile("ec2-large, base=12.5 ,stall=0:0:200:14,stall=1:2:50:3,unit=packet");
  EXPECT_EQ(p.base_us, 12.5);
  EXPECT_EQ(p.median_us, 80);
  EXPECT_EQ(p.link_stalls, (std::vector<LinkStall>{{0, 0, 200, 14}, {1, 2, 50, 3}}));
  EXPECT_EQ(p.unit, DelayUnit::packet);
  EXPECT_EQ(parse_profile(to_text(p)), p);
}

TEST(Profile, AMedianAloneMeansLognormal) {
  EXPECT_EQ(parse_profile("median=100").distribution, Distribution::lognormal);
  EXPECT_EQ(parse_profile("pareto,median=100").distribution, Distribution::pareto);
}

TEST(Profile, ErrorsNameWhatWasFoundAndTheNearestValidThing) {
  EXPECT_NE(error_of("ec2-lage").find("did you mean \"ec2-large\"?"), std::string::npos);
  EXPECT_NE(error_of("none,basse=1").find("did you mean \"base\"?"), std::string::npos);
  EXPECT_NE(error_of("none,unit=massage").find("did you mean \"message\"?"), std::string::npos);
  EXPECT_NE(error_of("none,base=fast").find("found \"fast\""), std::string::npos);
  EXPECT_NE(error_of("none,base=-1").find("from 0"), std::string::npos);
  EXPECT_NE(error_of("none,base=nan").find("found \"nan\""), std::string::npos);
  EXPECT_NE(error_of("none,packet-bytes=64.5").find("whole number"), std::string::npos);
  EXPECT_NE(error_of("none,stall=1:2:3").find("FROM:TO:EVERY_MS:FOR_MS"), std::string::npos);
  EXPECT_NE(error_of("none,spike-lo=9,spike-hi=3").find("spike-lo <= spike-hi"), std::string::npos);
  EXPECT_NE(error_of("base=1,const").find("KEY=VALUE"), std::string::npos);
  EXPECT_NE(error_of("distribution=trace").find("delays"), std::string::npos);
  EXPECT_NE(error_of("distribution=quantiles,quantiles=0.5:7 0.4:9").find("ascending"),
            std::string::npos);
  EXPECT_NE(error_of("").find("found nothing"), std::string::npos);
}

TEST(Profile, AFileIsReadWithCommentsAndItsErrorsNameTheLine) {
  const auto good = temporary("good.profile", "# measured\nprofile = const\nbase = 300 # us\n");
  EXPECT_EQ(load_profile(good).base_us, 300);
  EXPECT_EQ(parse_profile(good), load_profile(good));
  EXPECT_EQ(parse_profile("file:" + good + ",base=2").base_us, 2);
  const auto bad = temporary("bad.profile", "profile = const\n\nbase = x\n");
  EXPECT_NE(error_of(bad).find("bad.profile: line 3: base: expected a number"), std::string::npos)
      << error_of(bad);
  const auto loop = temporary("loop.profile", "file:loop.profile\n");
  EXPECT_NE(error_of(loop).find("within a file"), std::string::npos);
  EXPECT_NE(error_of("file:/nowhere.profile").find("cannot be read"), std::string::npos);
}

TEST(Profile, ATraceFileIsReadAndItsErrorsNameTheLine) {
  const auto good = temporary("good.trace", "10\n 20.5 \n\n30\n");
  EXPECT_EQ(parse_profile("trace:" + good).trace_us, (std::vector<double>{10, 20.5, 30}));
  const auto bad = temporary("bad.trace", "10\nten\n");
  EXPECT_NE(error_of("trace:" + bad).find("line 2"), std::string::npos);
  const auto empty = temporary("empty.trace", "\n");
  EXPECT_NE(error_of("trace:" + empty).find("found none"), std::string::npos);
}

TEST(Profile, TooFewOrImpossibleRoundTripsAreRefused) {
  EXPECT_THROW((void)profile_from_round_trips({1, 2, 3}, "x"), Error);
  EXPECT_THROW((void)profile_from_round_trips(std::vector<Nanos>(20, 0), "x"), Error);
  const Profile flat = profile_from_round_trips(std::vector<Nanos>(20, 1000), "x");
  EXPECT_EQ(LinkSampler(flat, 1, 0, 1).arrival(0, 8), 500);
  EXPECT_EQ(parse_profile(to_text(flat)), flat);
}

TEST(Profile, EachKeySaysWhatItMeans) {
  for (const auto& key : profile_keys())
    EXPECT_FALSE(profile_key_meaning(key).empty()) << key;
  EXPECT_TRUE(profile_key_meaning("bass").empty());
}

// Whatever the text: an Error, or a profile that can be used and reads back equal.
TEST(Profile, SurvivesSeededNoise) {
  const std::string alphabet = "0123456789.:=, \n#-+eEnaif\"\\xyz\t\r";
  std::vector<std::string> starts = profile_names();
  starts.emplace_back("distribution=quantiles,quantiles=0:1 0.5:3 1:70,unit=time,span=20");
  starts.emplace_back("distribution=trace,delays=1 2 3,host-stall=0:5:1,ack-spikes=true");
  std::vector<std::string> ends = {"stall=1:2:30:4", "host-stall=1:30:4", "unit=packet",
                                   "name=x y"};
  for (const auto& key : profile_keys())
    ends.push_back(key + "=0.5");
  int n_good = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    RandomStream random(seed, 99);
    std::string text = starts[random() % starts.size()] + "," + ends[random() % ends.size()];
    for (auto n = random.between(0, 5); n > 0; --n) {
      const auto at = static_cast<std::size_t>(random() % text.size());
      const char letter = alphabet[random() % alphabet.size()];
      if (random() % 3 == 0)
        text.erase(at, 1);
      else if (random() % 2 == 0)
        text.insert(at, 1, letter);
      else
        text[at] = letter;
      if (text.empty()) text = " ";
    }
    try {
      const Profile p = parse_profile(text);
      ASSERT_EQ(parse_profile(to_text(p)), p) << "seed " << seed << ": " << text;
      LinkSampler link(p, seed, 0, 1);
      ASSERT_GE(link.arrival(kSecond, 100), kSecond) << "seed " << seed << ": " << text;
      ++n_good;
    } catch (const Error& e) {
      ASSERT_NE(std::string(e.what()), "") << "seed " << seed;
    }
  }
  EXPECT_GT(n_good, 1000);
}

}  // namespace
}  // namespace rubato::net

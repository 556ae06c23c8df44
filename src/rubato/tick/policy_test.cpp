#include "rubato/tick/policy.hpp"

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"

namespace rubato::tick {
namespace {

std::string refusal(const char* text) {
  try {
    (void)Policy::parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(Policy, parses_its_own_text) {
  for (const char* text : {"bulk", "local", "schedule(3)", "pieces(5)", "replicate(2,4)",
                           "replicate(3,5)+schedule(10)", "replicate(1,2)"}) {
    EXPECT_EQ(Policy::parse(text).to_string(), text);
  }
}

TEST(Policy, short_and_long_forms_are_equal) {
  EXPECT_EQ(Policy::parse("k3m5d10"), Policy::parse("replicate(3, 5) + schedule(10)"));
  EXPECT_EQ(Policy::parse("d2"), Policy::parse("schedule(2)"));
  EXPECT_EQ(Policy::parse("pieces"), Policy::parse("pieces(8)"));
}

TEST(Policy, more_period_than_replicas_last_is_refused) {
  EXPECT_NE(refusal("replicate(4,2)").find("K = 4 is more than M + 1 = 3"), std::string::npos);
  EXPECT_NE(refusal("k2").find("M + 1 = 1"), std::string::npos);
}

TEST(Policy, an_unknown_term_names_the_nearest) {
  EXPECT_NE(refusal("replicat(2,3)").find("did you mean \"replicate\"?"), std::string::npos);
  EXPECT_NE(refusal("local+").find("unknown term \"\""), std::string::npos);
  EXPECT_NE(refusal("schedule(x)").find("one whole number"), std::string::npos);
  EXPECT_NE(refusal("peices(3)").find("did you mean \"pieces\"?"), std::string::npos);
  EXPECT_NE(refusal("pieces(x)").find("one whole number"), std::string::npos);
  EXPECT_NE(refusal("pieces(0)").find("D >= 1"), std::string::npos);
  EXPECT_NE(refusal("pieces+replicate(1,2)").find("pieces(D) stands alone"), std::string::npos);
  for (const char* text : {"schedule(-1)", "d-1", "k2m3d-1", "pieces(-1)"})
    EXPECT_NE(refusal(text).find("D >= "), std::string::npos) << text;
  EXPECT_NE(refusal("bulk+schedule(1)").find("bulk stands alone"), std::string::npos);
  // Nor does the last one win.
  EXPECT_NE(refusal("pieces(8)+schedule(3)").find("pieces(D) stands alone"), std::string::npos);
  EXPECT_NE(refusal("local+pieces").find("local stands alone"), std::string::npos);
  EXPECT_NE(refusal("schedule(2)+schedule(3)").find("\"schedule\" is said twice"),
            std::string::npos);
  EXPECT_NE(refusal("pieces+pieces(2)").find("\"pieces\" is said twice"), std::string::npos);
}

}  // namespace
}  // namespace rubato::tick

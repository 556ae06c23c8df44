#include "rubato/base/arguments.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"

namespace rubato {
namespace {

// What is told of `words` if a program takes N, from 1 to 16, and FILE.
std::string told(std::vector<std::string> words) {
  words.insert(words.begin(), "/some/where/queens");
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  try {
    Arguments given(static_cast<int>(argv.size()), argv.data());
    const auto n = given.number<int>("N", 10, 1, 16);
    const std::string file = given.text("FILE", "none");
    given.end();
    return std::to_string(n) + " " + file;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
}

TEST(Arguments, are_read_in_their_order_and_may_be_left_out) {
  EXPECT_EQ(told({}), "10 none");
  EXPECT_EQ(told({"16"}), "16 none");
  EXPECT_EQ(told({"1", "a b"}), "1 a b");
}

TEST(Arguments, that_are_wrong_are_told_with_what_was_found) {
  EXPECT_EQ(told({"x"}), "queens: N: found \"x\", expected a whole number from 1 to 16");
  EXPECT_EQ(told({"0"}), "queens: N: found \"0\", expected a whole number from 1 to 16");
  EXPECT_EQ(told({"17"}), "queens: N: found \"17\", expected a whole number from 1 to 16");
  EXPECT_EQ(told({"3.5"}), "queens: N: found \"3.5\", expected a whole number from 1 to 16");
  EXPECT_EQ(told({""}), "queens: N: found \"\", expected a whole number from 1 to 16");
  EXPECT_EQ(told({"99999999999999999999"}),
            "queens: N: found \"99999999999999999999\", expected a whole number from 1 to 16");
  EXPECT_EQ(told({"3", "f", "g"}), "queens: found \"g\", expected no more than N FILE");
}

}  // namespace
}  // namespace rubato

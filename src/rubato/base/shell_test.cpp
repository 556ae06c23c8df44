#include "rubato/base/shell.hpp"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(ShellWord, HasQuotesIfItNeedsThem) {
  EXPECT_EQ(shell_word("a-b/c.txt"), "a-b/c.txt");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace rubato

#include "rubato/flow/program/glob.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rubato/base/random.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::error_of;
using program_testing::n_descriptors;
using program_testing::TempFolder;
using Names = std::vector<std::string>;

TEST(Matches, take_stars_marks_and_sets) {
  EXPECT_TRUE(matches("*.csv", "a.csv"));
  EXPECT_FALSE(matches("*.csv", "a.csv.gz"));
  EXPECT_TRUE(matches("*a*b*", "xxaxxbxx"));
  EXPECT_FALSE(matches("*a*b", "xxbxxa"));
  EXPECT_TRUE(matches("a**b", "ab"));
  EXPECT_TRUE(matches("run-[0-9][!a-c]", "run-7d"));
  EXPECT_FALSE(matches("run-[0-9][^a-c]", "run-7b"));
  EXPECT_TRUE(matches("[]-]", "]"));
  EXPECT_TRUE(matches("[a-]", "-"));
  EXPECT_TRUE(matches("[[:digit:]_][[:upper:]]", "_Q"));
  EXPECT_FALSE(matches("?", ""));
  EXPECT_TRUE(matches("*", ""));
}

TEST(Matches, take_whole_characters) {
  EXPECT_TRUE(matches("?.txt", "\xc3\xa4.txt"));
  EXPECT_TRUE(matches("[\xc3\xa0-\xc3\xbf]", "\xc3\xa4"));
  EXPECT_FALSE(matches("??", "\xc3\xa4"));
  EXPECT_TRUE(matches("?", "\xff"));  // no UTF-8: a byte is one
}

TEST(Matches, take_what_is_escaped_as_it_is) {
  EXPECT_TRUE(matches("\\*\\[", "*["));
  EXPECT_FALSE(matches("\\*", "a"));
}

TEST(Matches, find_hidden_names_by_a_dot_only) {
  EXPECT_FALSE(matches("*", ".a"));
  EXPECT_FALSE(matches("?a", ".a"));
  EXPECT_FALSE(matches("[.]a", ".a"));
  EXPECT_TRUE(matches(".*", ".a"));
}

TEST(Matches, end_soon_for_many_stars) {
  EXPECT_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*b", std::string(250, 'a')));
}

TEST(Matches, name_the_column_of_a_wrong_pattern) {
  EXPECT_EQ(error_of([] { (void)matches("ab[c", "x"); }),
            "pattern \"ab[c\": column 3: expected a ] that closes this [, found the end");
  EXPECT_EQ(error_of([] { (void)matches("a\\", "x"); }),
            "pattern \"a\\\": column 2: expected a character after \\, found the end");
  EXPECT_EQ(error_of([] { (void)matches("[z-a]", "x"); }),
            "pattern \"[z-a]\": column 2: expected a range from low to high, found z-a");
  EXPECT_TRUE(contains(error_of([] { (void)matches("[[:dgit:]]", "x"); }),
                       "column 4: expected a class of characters such as alpha or digit, found "
                       "\"dgit\" (did you mean \"digit\"?)"));
}

TEST(Glob, sorts_by_bytes) {
  const TempFolder folder;
  for (const char* name : {"b", "a", "B", "a-b", "\xc3\xa4", "10", "9", ".hidden"})
    folder.file(name, "");
  EXPECT_EQ(glob("*", folder.path()), (Names{"10", "9", "B", "a", "a-b", "b", "\xc3\xa4"}));
}

TEST(Glob, goes_through_folders) {
  const TempFolder folder;
  for (const char* name : {"x/a.csv", "y/a.csv", "y/b.csv", "z"})
    folder.file(name, "");
  EXPECT_EQ(glob("*/a.csv", folder.path()), (Names{"x/a.csv", "y/a.csv"}));
  EXPECT_EQ(glob("y//*", folder.path()), (Names{"y/a.csv", "y/b.csv"}));
  EXPECT_EQ(glob("*/", folder.path()), (Names{"x/", "y/"}));
  EXPECT_EQ(glob(folder / "y/*.csv"), (Names{folder / "y/a.csv", folder / "y/b.csv"}));
  EXPECT_EQ(glob("z/*", folder.path()), Names{});
  EXPECT_EQ(glob("no/*/such", folder.path()), Names{});
  EXPECT_EQ(
      glob("../" + std::filesystem::path(folder.path()).filename().string() + "/z", folder.path())
          .size(),
      1U);
  EXPECT_EQ(glob("/"), Names{"/"});
}

TEST(Glob, goes_down_any_number_of_folders) {
  const TempFolder folder;
  for (const char* name : {"a.c", "x/a.c", "x/y/a.c", "x/y/b.h", ".h/a.c"})
    folder.file(name, "");
  std::filesystem::create_directory_symlink("..", folder / "x/loop");
  EXPECT_EQ(glob("**/*.c", folder.path()), (Names{"a.c", "x/a.c", "x/y/a.c"}));
  EXPECT_EQ(glob("x/**", folder.path()), (Names{"x/a.c", "x/loop", "x/y", "x/y/a.c", "x/y/b.h"}));
  EXPECT_EQ(glob("**/y/**/*.?", folder.path()), (Names{"x/y/a.c", "x/y/b.h"}));
  EXPECT_EQ(glob("**/**/", folder.path()), (Names{"x/", "x/loop/", "x/y/"}));
}

TEST(Glob, finds_names_with_signs_of_patterns) {
  const TempFolder folder;
  folder.file("a*b", "");
  folder.file("axb", "");
  EXPECT_EQ(glob("a\\*b", folder.path()), Names{"a*b"});
  EXPECT_EQ(glob("a[*]b", folder.path()), Names{"a*b"});
}

TEST(Glob, fails_on_a_folder_that_cannot_be_read) {
  const TempFolder folder;
  folder.file("open/a", "");
  folder.file("shut/a", "");
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(folder / "shut", std::filesystem::perms(0));
  // Root may read anything, so it becomes nobody for a moment.
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string stars = error_of([&] { (void)glob("*/*", folder.path()); });
  const std::string deep = error_of([&] { (void)glob("**", folder.path()); });
  const std::string literal = error_of([&] { (void)glob("shut/a", folder.path()); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  const std::string expected = "reading folder " + folder / "shut/" + ": Permission denied";
  EXPECT_EQ(stars, expected);
  EXPECT_EQ(deep, expected);
  EXPECT_EQ(literal, expected);
  std::filesystem::permissions(folder / "shut", std::filesystem::perms(0755));
}

TEST(Glob, names_the_column_within_the_whole_pattern) {
  EXPECT_EQ(
      error_of([] { (void)glob("ab/[c/d]"); }),
      "pattern \"ab/[c/d]\": column 4: expected a ] that closes this [, found the end of this "
      "part at /");
  EXPECT_EQ(error_of([] { (void)glob(""); }), "expected a pattern of names, found none");
}

TEST(Glob, takes_any_bytes_as_a_pattern) {
  const TempFolder folder;
  folder.file("x/ab", "");
  const std::size_t before = n_descriptors();
  const std::string letters = "ab*?[]!^-:\\/.x\xc3\xa4\xff";
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomStream random(seed, 0x610B);
    std::string pattern;
    for (std::size_t n = 1 + random() % 12; n > 0; --n)
      pattern += letters[random() % letters.size()];
    if (pattern.front() == '/' || contains(pattern, "..")) continue;
    // Returns or throws Error; anything else fails.
    (void)error_of([&] { (void)glob(pattern, folder.path()); });
  }
  EXPECT_EQ(n_descriptors(), before);
}

}  // namespace
}  // namespace rubato::flow

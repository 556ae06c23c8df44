#include "rubato/io/line_reader.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "rubato/base/random.hpp"
#include "rubato/io/detail/testing.hpp"

namespace rubato::io {
namespace {

using testing::error_of;
using testing::TempFolder;

std::vector<std::string> lines_of(const std::string& path, FilePart part = {}) {
  LineReader reader(path, part);
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(line))
    lines.emplace_back(line);
  return lines;
}

std::string gzip_file(const TempFolder& folder, const std::string& name, const std::string& text) {
  const std::string path = folder / name;
  gzFile file = ::gzopen(path.c_str(), "wb");
  ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  ::gzclose(file);
  return path;
}

TEST(LineReader, KnowsBothLineEndsAndAMissingLastOne) {
  const TempFolder folder;
  const std::vector<std::string> expected = {"a", "", "b c", "d"};
  EXPECT_EQ(lines_of(folder.file("f", "a\n\nb c\nd\n")), expected);
  EXPECT_EQ(lines_of(folder.file("f", "a\r\n\r\nb c\r\nd")), expected);
  EXPECT_EQ(lines_of(folder.file("f",
                                 "\xef\xbb\xbf"
                                 "a\n\nb c\nd")),
            expected);
  EXPECT_TRUE(lines_of(folder.file("f", "")).empty());
}

TEST(LineReader, GivesEachLineToExactlyOnePart) {
  const TempFolder folder;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed);
    std::string text;
    std::vector<std::string> expected;
    for (auto n = random.between(0, 40); n > 0; --n) {
      expected.emplace_back(static_cast<std::size_t>(random.between(0, 12)), 'x');
      expected.back() += std::to_string(n);
      text += expected.back() + (random.between(0, 1) == 0 ? "\n" : "\r\n");
    }
    if (seed % 2 == 1) text = "\xef\xbb\xbf" + text;
    const std::string path = folder.file("f", text);
    for (std::uint32_t count = 1; count < 20; ++count) {
      std::vector<std::string> all;
      for (std::uint32_t index = 0; index < count; ++index) {
        for (auto& line : lines_of(path, {index, count}))
          all.push_back(std::move(line));
      }
      ASSERT_EQ(all, expected) << "seed " << seed << ", parts " << count;
    }
  }
}

TEST(LineReader, NumbersLinesOfALaterPartInTheWholeFile) {
  const TempFolder folder;
  std::string text;
  for (int i = 1; i <= 1000; ++i)
    text += std::to_string(i) + "\n";
  const std::string path = folder.file("f", text);
  for (std::uint32_t index = 0; index < 7; ++index) {
    LineReader reader(path, {index, 7});
    std::string_view line;
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(reader.next(line));
      EXPECT_EQ(std::to_string(reader.line_number()), line);
    }
  }
}

TEST(LineReader, UnpacksGzipWholeAndInParts) {
  const TempFolder folder;
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 400'000; ++i)
    expected.push_back("line " + std::to_string(i));
  for (const auto& line : expected)
    text += line + "\n";
  const std::string path = gzip_file(folder, "named_like_no_gzip", text);
  EXPECT_EQ(lines_of(path), expected);
  std::vector<std::string> all;
  std::size_t largest = 0;
  for (std::uint32_t index = 0; index < 3; ++index) {
    const auto part = lines_of(path, {index, 3});
    largest = std::max(largest, part.size());
    all.insert(all.end(), part.begin(), part.end());
  }
  EXPECT_LT(largest, expected.size() / 2);
  std::sort(all.begin(), all.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(all, expected);
}

TEST(LineReader, ReportsGzipThatWasCut) {
  const TempFolder folder;
  const std::string path = gzip_file(folder, "f.gz", std::string(100'000, 'x') + "\nend\n");
  const std::string packed = testing::content_of(path);
  const std::string cut = folder.file("cut.gz", packed.substr(0, packed.size() / 2));
  EXPECT_NE(error_of([&] { lines_of(cut); }).find("broken gzip data"), std::string::npos);
}

TEST(LineReader, FuzzedGzipEitherReadsOrThrows) {
  const TempFolder folder;
  const std::string good = testing::content_of(gzip_file(folder, "f", "one\ntwo\nthree\nfour\n"));
  testing::fuzz_file(good, 500, "\x1f\x8b", [](const std::string& path) { lines_of(path); });
}

TEST(LineReader, NamesTheNearestFile) {
  const TempFolder folder;
  static_cast<void>(folder.file("start.csv", "x\n"));
  const std::string message = error_of([&] { lines_of(folder / "strat.csv"); });
  EXPECT_NE(message.find("No such file or directory (did you mean \"start.csv\"?)"),
            std::string::npos)
      << message;
}

TEST(LineReader, RefusesAFolderAndUtf16) {
  const TempFolder folder;
  EXPECT_NE(error_of([&] { lines_of(folder / ""); }).find("Is a directory"), std::string::npos);
  const std::string utf16 = folder.file("f", std::string("\xff\xfe"
                                                         "a\0",
                                                         4));
  EXPECT_NE(error_of([&] { lines_of(utf16); }).find("found UTF-16"), std::string::npos);
}

}  // namespace
}  // namespace rubato::io

#include "rubato/io/csv.hpp"

#include <bit>
#include <cmath>

#include <gtest/gtest.h>
#include <zlib.h>

#include "rubato/base/random.hpp"
#include "rubato/io/detail/testing.hpp"

namespace rubato::io {
namespace {

using testing::error_of;
using testing::TempFolder;
using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const std::string& path, const CsvOptions& options = {}) {
  CsvReader in(path, options);
  Rows rows;
  while (in.next_row()) {
    rows.emplace_back();
    for (std::size_t i = 0; i < in.header().size(); ++i)
      rows.back().emplace_back(in.text(i));
  }
  return rows;
}

TEST(CsvReader, ReadsNumbersByColumnName) {
  const TempFolder folder;
  CsvReader in(folder.file("f.csv", "id,x,name\r\n7, 0.1 ,a\r\n\r\n8,-1e3,b"));
  const auto id = in.column("id");
  const auto x = in.column("x");
  EXPECT_FALSE(in.find_column("y").has_value());
  ASSERT_TRUE(in.next_row());
  EXPECT_EQ(in.get<std::uint64_t>(id), 7U);
  EXPECT_EQ(in.get<float>(x), 0.1F);
  ASSERT_TRUE(in.next_row());
  EXPECT_EQ(in.get<double>(x), -1000.0);
  EXPECT_EQ(in.text(2), "b");
  EXPECT_FALSE(in.next_row());
}

TEST(CsvReader, UnderstandsQuotes) {
  const TempFolder folder;
  const std::string path =
      folder.file("f.csv", "a,b\n\"x,y\",\"say \"\"hi\"\"\"\n \"two\nlines\" ,\"\"\n,last\n");
  EXPECT_EQ(rows_of(path), (Rows{{"x,y", "say \"hi\""}, {"two\nlines", ""}, {"", "last"}}));
}

TEST(CsvReader, NumbersLinesBehindAQuotedLineBreak) {
  const TempFolder folder;
  const std::string path = folder.file("f.csv", "a,b\n\"two\nlines\",1\n3,x\n");
  const std::string message = error_of([&] {
    CsvReader in(path);
    while (in.next_row())
      static_cast<void>(in.get<int>(1));
  });
  EXPECT_EQ(message, path +
                         ": line 4, column 2 (b): expected an integer from -2147483648 to "
                         "2147483647, found \"x\"");
}

TEST(CsvReader, NamesTheNearestColumn) {
  const TempFolder folder;
  const std::string path = folder.file("f.csv", "id,velocity_x\n1,2\n");
  CsvReader in(path);
  EXPECT_EQ(
      error_of([&] { static_cast<void>(in.column("velocty_x")); }),
      path +
          ": line 1: expected a column \"velocty_x\" (did you mean \"velocity_x\"?), found the "
          "columns id, velocity_x");
  const std::vector<std::string> known = {"id", "velocity_y"};
  EXPECT_EQ(error_of([&] { in.refuse_columns_except(known); }),
            path +
                ": line 1, column 2: unknown column \"velocity_x\" (did you mean "
                "\"velocity_y\"?), expected id, velocity_y");
}

std::string field_error(const std::string& field, bool nonfinite = false) {
  const TempFolder folder;
  const std::string path = folder.file("f.csv", "x\n" + field + "\n");
  const std::string message = error_of([&] {
    CsvOptions options;
    options.allow_nonfinite = nonfinite;
    CsvReader in(path, options);
    while (in.next_row())
      static_cast<void>(in.get<float>(0));
  });
  return message.empty() ? "" : message.substr(path.size() + 2);
}

TEST(CsvReader, SaysWhatWasFoundAndExpected) {
  EXPECT_EQ(field_error("abc"), "line 2, column 1 (x): expected a number, found \"abc\"");
  EXPECT_EQ(field_error("\"\""), "line 2, column 1 (x): expected a number, found nothing");
  EXPECT_EQ(field_error("1e39"),
            "line 2, column 1 (x): expected a number that fits a float, found \"1e39\"");
  EXPECT_EQ(field_error("nan"), "line 2, column 1 (x): expected a finite number, found \"nan\"");
  EXPECT_EQ(field_error("nan", true), "");
  EXPECT_EQ(field_error("1,2"), "line 2: expected 1 fields as in the header, found 2");
  EXPECT_EQ(field_error("\"1\"2"),
            "line 2, column 1: expected a separator after the closing quote, found \"2\"");
  EXPECT_EQ(field_error("\"1"),
            "line 2, column 1: expected a closing quote, found the end of the file");
}

TEST(CsvReader, RefusesAnEmptyFileAndAColumnTwice) {
  const TempFolder folder;
  EXPECT_NE(error_of([&] { rows_of(folder.file("f", "\n\n")); }).find("found an empty file"),
            std::string::npos);
  EXPECT_NE(error_of([&] { rows_of(folder.file("f", "a,b,a\n")); }).find("found \"a\" twice"),
            std::string::npos);
  // One that has forgotten them.
  EXPECT_NE(error_of([&] {
              rows_of(folder.file("f", "1,2,0,0\n3,4,0,0\n"));
            }).find("line 1: expected the names of columns, found numbers alone: \"1,2,0,0\""),
            std::string::npos);
  EXPECT_EQ(rows_of(folder.file("f", "a,,\n1,2,3\n")), (Rows{{"1", "2", "3"}}));
}

TEST(CsvReader, ReadsFilesWithoutHeaderAndWithComments) {
  const TempFolder folder;
  CsvOptions options;
  options.header = false;
  options.comment = '#';
  options.separator = ';';
  const std::string path = folder.file("f", "# raster\n1;2\n#x\n3;4\n");
  EXPECT_EQ(rows_of(path, options), (Rows{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(CsvReader(path, options).column("2"), 1U);
  EXPECT_TRUE(rows_of(folder.file("f", ""), options).empty());
}

TEST(CsvReader, ReadsGzip) {
  const TempFolder folder;
  gzFile file = ::gzopen((folder / "f.csv.gz").c_str(), "wb");
  ::gzputs(file, "x\n1\n2\n");
  ::gzclose(file);
  EXPECT_EQ(rows_of(folder / "f.csv.gz"), (Rows{{"1"}, {"2"}}));
}

TEST(CsvReader, PartsGiveEachRowOnceAndInOrder) {
  const TempFolder folder;
  for (const bool header : {true, false}) {
    std::string text = header ? "\n \n\n\nid,square\n" : "";
    for (int i = 0; i < 40; ++i)
      text += std::to_string(i) + "," + std::to_string(i * i) + "\r\n";
    const std::string path = folder.file("f.csv", text);
    CsvOptions options;
    options.header = header;
    const Rows expected = rows_of(path, options);
    ASSERT_EQ(expected.size(), 40U);
    for (std::uint32_t count = 1; count < 99; ++count) {
      Rows all;
      for (std::uint32_t index = 0; index < count; ++index) {
        options.part = {index, count};
        for (auto& row : rows_of(path, options))
          all.push_back(std::move(row));
      }
      ASSERT_EQ(all, expected) << count << " parts";
    }
  }
}

TEST(CsvReader, APartRefusesAQuotedLineBreakButNotAQuote) {
  const TempFolder folder;
  CsvOptions options;
  options.part = {0, 2};
  EXPECT_EQ(rows_of(folder.file("f", "a\n\"1\"\n2\n3\n4\n"), options).front().front(), "1");
  const std::string bad = folder.file("g", "a\n\"1\n2\"\n3\n4\n5\n6\n7\n8\n");
  EXPECT_NE(error_of([&] { rows_of(bad, options); }).find("read the file as one part"),
            std::string::npos);
}

TEST(CsvWriter, IsReadBackToTheSameBits) {
  const TempFolder folder;
  RandomStream random(3);
  std::vector<double> values;
  OutputFile file(folder / "f.csv");
  CsvWriter out(file, {"id", "value", "text, quoted"});
  const std::string text = " a\"b,\n";
  for (std::int32_t i = 0; i < 500; ++i) {
    auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) value = -0.0;
    values.push_back(value);
    out.add(i).add(value).add(text).end_row();
  }
  file.commit();
  CsvReader in(folder / "f.csv");
  for (std::int32_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(in.next_row());
    EXPECT_EQ(in.get<std::int32_t>(0), i);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(in.get<double>(1)),
              std::bit_cast<std::uint64_t>(values[static_cast<std::size_t>(i)]));
    EXPECT_EQ(in.text(in.column("text, quoted")), text);
  }
  EXPECT_FALSE(in.next_row());
}

TEST(CsvWriterDeathTest, RequiresAllFields) {
  StringSink sink;
  CsvWriter out(sink, {"a", "b"});
  out.add(1);
  EXPECT_DEATH(out.end_row(), "precondition");
}

TEST(CsvReader, FuzzedFilesEitherParseOrThrow) {
  const std::string good = "id,x,name\n1,0.5,\"a,\"\"b\"\n2,-1e9,c\n3,7,\"two\nlines\"\n4,8,d\n";
  const std::size_t n_parsed =
      testing::fuzz_file(good, 1500, ",\"\n\r.e-+#0", [](const std::string& path) {
        for (std::uint32_t index = 0; index < 2; ++index) {
          CsvOptions options;
          options.part = {index, 1 + index};
          options.comment = '#';
          CsvReader in(path, options);
          while (in.next_row()) {
            static_cast<void>(in.get<std::uint32_t>(0));
            static_cast<void>(in.get<float>(1 % in.header().size()));
          }
        }
      });
  EXPECT_GT(n_parsed, 0U);
  EXPECT_LT(n_parsed, 1500U);
}

}  // namespace
}  // namespace rubato::io

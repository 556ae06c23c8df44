#include "rubato/io/image.hpp"

#include <array>

#include <gtest/gtest.h>
#include <zlib.h>

#include "rubato/base/error.hpp"
#include "rubato/io/detail/testing.hpp"

namespace rubato::io {
namespace {

using testing::error_of;
using testing::TempFolder;

// An encoder of its own for the tests, so that nothing is read back by the library that wrote it.
std::string big_endian(std::uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 255);
  return out;
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto sum =
      ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + body +
         big_endian(static_cast<std::uint32_t>(sum));
}

struct PngFile {
  std::uint32_t width;
  std::uint32_t height;
  int depth;
  int color_type;
  std::string rows;        // with a filter byte in front of each
  std::string extra = "";  // chunks before the data
  int interlaced = 0;
};

std::string png_of(const PngFile& file) {
  std::string packed(::compressBound(file.rows.size()), '\0');
  uLongf n = packed.size();
  ::compress(reinterpret_cast<Bytef*>(packed.data()), &n,
             reinterpret_cast<const Bytef*>(file.rows.data()), file.rows.size());
  packed.resize(n);
  std::string header = big_endian(file.width) + big_endian(file.height);
  header += static_cast<char>(file.depth);
  header += static_cast<char>(file.color_type);
  header += std::string(2, '\0') + static_cast<char>(file.interlaced);
  return std::string("\x89PNG\r\n\x1a\n", 8) + chunk("IHDR", header) + file.extra +
         chunk("IDAT", packed) + chunk("IEND", "");
}

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values)
    out += static_cast<char>(value);
  return out;
}

using Samples = std::vector<std::uint16_t>;

TEST(ReadImage, ReadsGrayPngOf8And16BitsExactly) {
  const TempFolder folder;
  const Image eight =
      read_image(folder.file("f", png_of({3, 2, 8, 0, bytes({0, 1, 2, 255, 0, 4, 5, 6})})));
  EXPECT_EQ(eight.info, (ImageInfo{3, 2, ImageKind::gray, 8, 255}));
  EXPECT_EQ(eight.samples, (Samples{1, 2, 255, 4, 5, 6}));
  EXPECT_EQ(eight.unit(2, 0), 1.0);
  const Image sixteen =
      read_image(folder.file("f", png_of({2, 1, 16, 0, bytes({0, 1, 2, 255, 254})})));
  EXPECT_EQ(sixteen.info, (ImageInfo{2, 1, ImageKind::gray, 16, 65535}));
  EXPECT_EQ(sixteen.samples, (Samples{258, 65534}));
}

TEST(ReadImage, ReadsColorPngAndExpandsPalettes) {
  const TempFolder folder;
  const Image rgb = read_image(folder.file("f", png_of({1, 1, 8, 2, bytes({0, 1, 2, 3})})));
  EXPECT_EQ(rgb.info.kind, ImageKind::rgb);
  EXPECT_EQ(rgb.samples, (Samples{1, 2, 3}));
  const Image rgba =
      read_image(folder.file("f", png_of({1, 1, 16, 6, bytes({0, 0, 1, 0, 2, 0, 3, 0, 4})})));
  EXPECT_EQ(rgba.info.kind, ImageKind::rgba);
  EXPECT_EQ(rgba.samples, (Samples{1, 2, 3, 4}));
  const std::string palette =
      chunk("PLTE", bytes({9, 8, 7, 6, 5, 4})) + chunk("tRNS", bytes({0, 128}));
  const Image indexed =
      read_image(folder.file("f", png_of({2, 1, 8, 3, bytes({0, 1, 0}), palette})));
  EXPECT_EQ(indexed.info, (ImageInfo{2, 1, ImageKind::rgb, 8, 255}));
  EXPECT_EQ(indexed.samples, (Samples{6, 5, 4, 9, 8, 7}));
  const Image bits = read_image(folder.file("f", png_of({8, 1, 1, 0, bytes({0, 0xa0})})));
  EXPECT_EQ(bits.samples, (Samples{255, 0, 255, 0, 0, 0, 0, 0}));
}

TEST(ReadImage, ReadsInterlacedPng) {
  const TempFolder folder;
  // Adam7 of 2 x 2: pass 1 has (0,0), pass 6 has (1,0), pass 7 has row 1.
  const PngFile file{2, 2, 8, 0, bytes({0, 10, 0, 11, 0, 20, 21}), "", 1};
  EXPECT_EQ(read_image(folder.file("f", png_of(file))).samples, (Samples{10, 11, 20, 21}));
  ImageOptions options;
  options.first_row = 1;
  EXPECT_EQ(read_image(folder.file("f", png_of(file)), options).samples, (Samples{20, 21}));
}

TEST(ReadImage, ReadsTextAndBinaryPnm) {
  const TempFolder folder;
  const Image p2 = read_image(folder.file("f", "P2 # gray\n# size\n3 1\n100\n0 50\n100\n"));
  EXPECT_EQ(p2.info, (ImageInfo{3, 1, ImageKind::gray, 8, 100}));
  EXPECT_EQ(p2.samples, (Samples{0, 50, 100}));
  EXPECT_EQ(p2.unit(1, 0), 0.5);
  EXPECT_EQ(read_image(folder.file("f", "P2 2#wide, 7 pixels\n1#high\n100#white\n0 50")).samples,
            (Samples{0, 50}));
  EXPECT_EQ(read_image(folder.file("f", "P3\n1 1 65535\n1 2 65535")).samples,
            (Samples{1, 2, 65535}));
  EXPECT_EQ(read_image(folder.file("f", "P5 2 1 255\n" + bytes({'\n', 255}))).samples,
            (Samples{10, 255}));
  const Image p6 = read_image(folder.file("f", "P6 1 1 300\n" + bytes({1, 0, 0, 7, 1, 44})));
  EXPECT_EQ(p6.info.bits, 16);
  EXPECT_EQ(p6.samples, (Samples{256, 7, 300}));
}

TEST(ReadImage, ReadsOnlyTheRowsAskedFor) {
  const TempFolder folder;
  std::string rows;
  std::string text = "P2 2 5 255\n";
  std::string raw = "P5 2 5 255\n";
  for (int y = 0; y < 5; ++y) {
    rows += bytes({0, y, 10 * y});
    raw += bytes({y, 10 * y});
    text += std::to_string(y) + " " + std::to_string(10 * y) + "\n";
  }
  ImageOptions options;
  options.first_row = 2;
  options.n_rows = 2;
  for (const auto& content : {png_of({2, 5, 8, 0, rows}), text, raw}) {
    const Image image = read_image(folder.file("f", content), options);
    EXPECT_EQ(image.samples, (Samples{2, 20, 3, 30}));
    EXPECT_EQ(image.at(1, 3), 30);
    EXPECT_EQ(image.info.height, 5U);
  }
  options.first_row = 4;
  EXPECT_EQ(read_image(folder.file("f", raw), options).samples, (Samples{4, 40}));
}

std::string message_for(const std::string& content, const ImageOptions& options = {}) {
  const TempFolder folder;
  const std::string path = folder.file("map.img", content);
  std::string message = error_of([&] { static_cast<void>(read_image(path, options)); });
  if (const auto at = message.find(path); at != std::string::npos) {
    message.replace(at, path.size(), "FILE");
  }
  return message;
}

TEST(ReadImage, SaysWhatItExpectedOfKindAndDepth) {
  ImageOptions options;
  options.kind = ImageKind::gray;
  options.bits = 8;
  EXPECT_EQ(message_for(png_of({1, 1, 16, 0, bytes({0, 1, 2})}), options),
            "FILE: expected 8-bit gray samples, found 16-bit gray samples");
  EXPECT_EQ(message_for(png_of({1, 1, 8, 2, bytes({0, 1, 2, 3})}), options),
            "FILE: expected 8-bit gray samples, found 8-bit RGB samples");
}

TEST(ReadImage, SaysWhatAnotherFileIs) {
  EXPECT_EQ(message_for("\xff\xd8\xff\xe0 photo"),
            "FILE: expected a PNG, PGM or PPM image, found a JPEG");
  EXPECT_EQ(message_for(""), "FILE: expected a PNG, PGM or PPM image, found an empty file");
  EXPECT_EQ(message_for("P4 1 1\n1"),
            "FILE: expected a PNG, PGM or PPM image, found a bitmap of 1 bit (P4)");
}

TEST(ReadImage, SaysWhereAPnmIsBroken) {
  EXPECT_EQ(message_for("P2\n2 1\n255\n1 x2\n"),
            "FILE: line 4: expected a sample, from 0 to 255, found \"x2\"");
  EXPECT_EQ(message_for("P2\n2 1\n9\n1 10\n"),
            "FILE: line 4: expected a sample, from 0 to 9, found \"10\"");
  EXPECT_EQ(message_for("P5\n0 1\n255\n"),
            "FILE: line 2: expected the width, from 1 to 16777216, found \"0\"");
  EXPECT_EQ(message_for("P5 4 4 255\nabc"), "FILE: expected 16 bytes for 4 x 4 pixels, found 3");
  EXPECT_EQ(message_for("P5 2 1 99\n" + bytes({1, 100})),
            "FILE: row 1: expected samples up to 99, found 100");
  EXPECT_EQ(message_for("P6 9999999 9999999 255\nabc").substr(0, 14), "FILE: expected");
}

TEST(ReadImage, ReportsABrokenPng) {
  const std::string good = png_of({3, 2, 8, 0, bytes({0, 1, 2, 3, 0, 4, 5, 6})});
  EXPECT_EQ(message_for(good.substr(0, good.size() - 30)).substr(0, 25),
            "reading FILE: broken PNG:");
  EXPECT_NE(message_for(png_of({900'000, 900'000, 8, 0, "\0"})).find("900000 x 900000 pixels"),
            std::string::npos);
}

TEST(ReadImage, FuzzedPnmEitherParsesOrThrows) {
  const auto parse = [](const std::string& path) { static_cast<void>(read_image(path)); };
  for (const std::string& good :
       {std::string("P2\n3 2\n255\n1 2 3\n4 5 6\n"),
        std::string("P6 2 1 300\n\1\2\1\3\1\4\1\5\1\6\1\7"), std::string("P5\n#c\n3 1 200\nabc")}) {
    EXPECT_GT(testing::fuzz_file(good, 700, "0129P# \n", parse), 0U);
  }
}

// With the checksums mended, so that mutations reach the decoder behind them.
TEST(ReadImage, FuzzedPngEitherParsesOrThrows) {
  const TempFolder folder;
  const auto parse = [](const std::string& path) { static_cast<void>(read_image(path)); };
  const PngFile file{
      4, 2, 8, 3, bytes({0, 1, 0, 1, 0, 0, 0, 1, 1, 0}), chunk("PLTE", bytes({9, 8, 7, 6, 5, 4})),
      0};
  testing::fuzz_file(png_of(file), 700, "IDATPLTE", parse);
  std::size_t n_parsed = 0;
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    RandomStream random(seed, 1);
    PngFile bad = file;
    bad.width = static_cast<std::uint32_t>(random.between(0, 9));
    bad.height =
        random.between(0, 9) == 0 ? 0x7fffffff : static_cast<std::uint32_t>(random.between(0, 5));
    bad.depth = 1 << random.between(0, 5);
    bad.color_type = static_cast<int>(random.between(0, 7));
    bad.interlaced = static_cast<int>(random.between(0, 1));
    bad.rows = testing::mutated(bad.rows, random, std::string("\0\1\2\3\4", 5));
    if (random.between(0, 2) == 0)
      bad.extra = chunk("PLTE", testing::mutated("abcdef", random, "ab"));
    try {
      parse(folder.file("f", png_of(bad)));
      ++n_parsed;
    } catch (const Error&) {  // as it should
    }
  }
  EXPECT_GT(n_parsed, 0U);
  EXPECT_LT(n_parsed, 700U);
}

TEST(WritePng, IsReadBackExactly) {
  const TempFolder folder;
  RgbImage image{5, 3, std::vector<Rgb>(15)};
  Samples expected;
  for (std::size_t i = 0; i < 15; ++i) {
    image.pixels[i] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(100 + i), 255};
    for (const auto c : {image.pixels[i].r, image.pixels[i].g, image.pixels[i].b}) {
      expected.push_back(c);
    }
  }
  write_png(folder / "f.png", image);
  const Image back = read_image(folder / "f.png");
  EXPECT_EQ(back.info, (ImageInfo{5, 3, ImageKind::rgb, 8, 255}));
  EXPECT_EQ(back.samples, expected);
}

TEST(WritePgm, IsReadBackExactly) {
  const TempFolder folder;
  const Samples samples = {0, 1, 256, 40000, 5, 6};
  write_pgm(folder / "f.pgm", 3, samples, 65535);
  const Image back = read_image(folder / "f.pgm");
  EXPECT_EQ(back.info, (ImageInfo{3, 2, ImageKind::gray, 16, 65535}));
  EXPECT_EQ(back.samples, samples);
  write_pgm(folder / "g.pgm", 2, Samples{3, 200}, 200);
  EXPECT_EQ(read_image(folder / "g.pgm").samples, (Samples{3, 200}));
}

}  // namespace
}  // namespace rubato::io

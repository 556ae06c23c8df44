#include "rubato/io/image.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <sys/stat.h>

#include "rubato/base/error.hpp"
#include "rubato/io/detail/image_formats.hpp"
#include "rubato/io/detail/posix_file.hpp"
#include "rubato/io/output_file.hpp"

namespace rubato::io {
namespace {

// What a file that is no image of ours seems to be.
std::string guessed(std::string_view head) {
  struct Known {
    std::string_view magic;
    const char* name;
  };
  static constexpr std::array<Known, 9> kKnown = {{{"\xff\xd8\xff", "a JPEG"},
                                                   {"GIF8", "a GIF"},
                                                   {"BM", "a BMP"},
                                                   {"II*", "a TIFF"},
                                                   {"MM", "a TIFF"},
                                                   {"RIFF", "a WebP"},
                                                   {"P1", "a bitmap of 1 bit (P1)"},
                                                   {"P4", "a bitmap of 1 bit (P4)"},
                                                   {"\x1f\x8b", "gzip data"}}};
  if (head.empty()) return "an empty file";
  for (const auto& known : kKnown) {
    if (head.starts_with(known.magic)) return known.name;
  }
  return "something else";
}

std::unique_ptr<detail::ImageDecoder> open_image(const std::string& path) {
  detail::ImageFile file{path, detail::FileHandle(std::fopen(path.c_str(), "rbe")), 0};
  if (!file.handle) throw detail::open_error(path);
  struct stat info {};
  if (::fstat(::fileno(file.handle.get()), &info) != 0) throw detail::open_error(path);
  if (!S_ISREG(info.st_mode)) throw Error(path + ": expected an image, found no regular file");
  file.n_bytes = static_cast<std::uint64_t>(info.st_size);
  std::array<char, 8> bytes{};
  const std::size_t n = std::fread(bytes.data(), 1, bytes.size(), file.handle.get());
  std::rewind(file.handle.get());
  const std::string_view head(bytes.data(), n);
  if (head == std::string_view("\x89PNG\r\n\x1a\n", 8)) return detail::open_png(std::move(file));
  for (const char* const magic : {"P2", "P3", "P5", "P6"}) {
    if (head.starts_with(magic)) return detail::open_pnm(std::move(file));
  }
  throw Error(path + ": expected a PNG, PGM or PPM image, found " + guessed(head));
}

std::string kind_name(ImageKind kind) {
  switch (kind) {
    case ImageKind::gray:
      return "gray";
    case ImageKind::gray_alpha:
      return "gray with alpha";
    case ImageKind::rgb:
      return "RGB";
    case ImageKind::rgba:
      return "RGBA";
  }
  return "";
}

void check_expected(const std::string& path, const ImageInfo& info, const ImageOptions& options) {
  const bool kind_fits = !options.kind || *options.kind == info.kind;
  const bool bits_fit = options.bits == 0 || options.bits == info.bits;
  if (kind_fits && bits_fit) return;
  const auto described = [](std::optional<ImageKind> kind, int bits) {
    return (bits == 0 ? "" : std::to_string(bits) + "-bit ") +
           (kind ? kind_name(*kind) + " " : "") + "samples";
  };
  throw Error(path + ": expected " + described(options.kind, options.bits) + ", found " +
              described(info.kind, info.bits));
}

}  // namespace

ImageInfo read_image_info(const std::string& path) {
  return open_image(path)->info();
}

Image read_image(const std::string& path, const ImageOptions& options) {
  const auto decoder = open_image(path);
  Image image;
  image.info = decoder->info();
  check_expected(path, image.info, options);
  RUBATO_REQUIRE(options.first_row <= image.info.height, options.first_row, image.info.height);
  image.first_row = options.first_row;
  image.n_rows = std::min(options.n_rows, image.info.height - options.first_row);
  image.samples.resize(image.n_rows * image.info.width * n_channels(image.info.kind));
  decoder->read_rows(image);
  return image;
}

void write_png(const std::string& path, const RgbImage& image) {
  write_file(path, encode_png(image));
}

void write_pgm(const std::string& path, std::size_t width, std::span<const std::uint16_t> samples,
               std::uint16_t max_value) {
  RUBATO_REQUIRE(width > 0 && !samples.empty() && samples.size() % width == 0, width,
                 samples.size());
  OutputFile file(path);
  file.write("P5\n" + std::to_string(width) + " " + std::to_string(samples.size() / width) + "\n" +
             std::to_string(max_value) + "\n");
  std::string row;
  for (std::size_t at = 0; at < samples.size(); at += width) {
    row.clear();
    for (const std::uint16_t sample : samples.subspan(at, width)) {
      RUBATO_REQUIRE(sample <= max_value, sample, max_value);
      if (max_value > 255) row += static_cast<char>(sample >> 8);
      row += static_cast<char>(sample & 255);
    }
    file.write(row);
  }
  file.commit();
}

}  // namespace rubato::io

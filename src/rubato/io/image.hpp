#pragma once
// Raster images as input and output of models: PNG (by libpng), PGM and PPM.
//
// The one idea: a model's raster is made of exact samples, not of colours. Samples are handed out
// as they stand in the file, with the value that means full intensity beside them; nothing is
// scaled, gamma corrected or cut from 16 to 8 bits. A node reads only the rows that it asks for.
// The kind of file is told by content, not by name. Calls block on the disk.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rubato::io {

enum class ImageKind { gray, gray_alpha, rgb, rgba };

[[nodiscard]] constexpr std::size_t n_channels(ImageKind kind) noexcept {
  return static_cast<std::size_t>(kind) + 1;
}

// What a file says of itself. Palettes count as rgb, since they are expanded (their transparency is
// dropped); gray of 1, 2 and 4 bits counts as 8 bits and is scaled to 0 .. 255.
struct ImageInfo {
  std::size_t width = 0;
  std::size_t height = 0;
  ImageKind kind = ImageKind::gray;
  int bits = 8;                   // 8 or 16
  std::uint32_t max_value = 255;  // full intensity; any value up to 65535 in a PGM

  friend bool operator==(const ImageInfo&, const ImageInfo&) = default;
};

// Rows [first_row, first_row + n_rows) of an image.
struct Image {
  ImageInfo info;
  std::size_t first_row = 0;
  std::size_t n_rows = 0;
  std::vector<std::uint16_t> samples;  // [n_rows][width][channels]

  // `y` counts in the whole image. REQUIRES: the sample is in a row that was read.
  [[nodiscard]] std::uint16_t at(std::size_t x, std::size_t y, std::size_t channel = 0) const {
    return samples[((y - first_row) * info.width + x) * n_channels(info.kind) + channel];
  }
  // The same in [0, 1].
  [[nodiscard]] double unit(std::size_t x, std::size_t y, std::size_t channel = 0) const {
    return static_cast<double>(at(x, y, channel)) / info.max_value;
  }
};

// What the caller can use; an image of another kind or depth is an Error that says both.
struct ImageOptions {
  std::optional<ImageKind> kind = std::nullopt;  // any if absent
  int bits = 0;                                  // 8 or 16; 0: any
  std::size_t first_row = 0;
  std::size_t n_rows = SIZE_MAX;  // cut at the end of the image
};

// Reads the header only.
[[nodiscard]] ImageInfo read_image_info(const std::string& path);

// Reads rows. Throws Error naming the file for what is no such image, is cut or broken, or is not
// what `options` expect. REQUIRES: first_row <= height.
[[nodiscard]] Image read_image(const std::string& path, const ImageOptions& options = {});

struct Rgb {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;

  friend bool operator==(const Rgb&, const Rgb&) = default;
};

// A picture for people. Row 0 is at the top.
struct RgbImage {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<Rgb> pixels;  // [height][width]

  [[nodiscard]] Rgb& at(std::size_t x, std::size_t y) { return pixels[y * width + x]; }
  [[nodiscard]] const Rgb& at(std::size_t x, std::size_t y) const { return pixels[y * width + x]; }
};

// The bytes of a PNG file, 8 bits a channel. REQUIRES: width and height are at least 1.
[[nodiscard]] std::string encode_png(const RgbImage& image);

// Files appear whole (output_file.hpp).
void write_png(const std::string& path, const RgbImage& image);

// A binary PGM, 16 bits a sample if max_value > 255. REQUIRES: samples is [height][width] with
// height >= 1, and no sample is above max_value, which is in 1 .. 65535.
void write_pgm(const std::string& path, std::size_t width, std::span<const std::uint16_t> samples,
               std::uint16_t max_value);

}  // namespace rubato::io

// PNG, by libpng.
//
// libpng reports errors by longjmp. Each function that calls setjmp therefore holds no object with
// a destructor, keeps what changes in a struct behind a pointer, and returns a bool; the callers
// own memory and throw. No C++ exception ever crosses a libpng frame.

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include <png.h>

#include "rubato/base/error.hpp"
#include "rubato/io/detail/image_formats.hpp"

namespace rubato::io {
namespace detail {
namespace {

struct Failure {
  char message[160] = "";
};

void on_error(png_structp png, png_const_charp message) {
  auto* const failure = static_cast<Failure*>(png_get_error_ptr(png));
  std::strncpy(failure->message, message, sizeof failure->message - 1);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, std::size_t n) {
  auto* const file = static_cast<std::FILE*>(png_get_io_ptr(png));
  if (std::fread(to, 1, n, file) != n) png_error(png, "the file ends too early");
}

// Header, and the transformations that leave gray, gray with alpha, RGB or RGBA of 8 or 16 bits.
bool read_header(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;  // NOLINT: libpng's way
  png_read_info(png, info);
  const int type = png_get_color_type(png, info);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  // Expanding a palette would add its transparency as a fourth channel.
  if (type == PNG_COLOR_TYPE_PALETTE && png_get_valid(png, info, PNG_INFO_tRNS) != 0) {
    png_set_strip_alpha(png);
  }
  if (std::endian::native == std::endian::little) png_set_swap(png);
  png_set_interlace_handling(png);
  return true;
}

// Decodes rows 0 .. n_rows_total - 1 once for each pass and keeps a window of them.
struct RowJob {
  png_structp png;
  png_bytep raw;  // [n_kept][row_bytes]
  std::size_t row_bytes;
  std::size_t first_kept;
  std::size_t n_kept;
  std::size_t n_rows_total;
  int n_passes;
};

bool read_raw_rows(const RowJob* job) {
  if (setjmp(png_jmpbuf(job->png)) != 0) return false;  // NOLINT
  // Without interlacing nobody needs the rows behind the window.
  const std::size_t end = job->n_passes == 1 ? job->first_kept + job->n_kept : job->n_rows_total;
  for (int pass = 0; pass < job->n_passes; ++pass) {
    for (std::size_t y = 0; y < end; ++y) {
      const bool kept = y >= job->first_kept && y - job->first_kept < job->n_kept;
      png_read_row(job->png, kept ? job->raw + (y - job->first_kept) * job->row_bytes : nullptr,
                   nullptr);
    }
  }
  if (end == job->n_rows_total) png_read_end(job->png, nullptr);
  return true;
}

bool update_info(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;  // NOLINT
  png_read_update_info(png, info);
  return true;
}

class PngDecoder final : public ImageDecoder {
 public:
  explicit PngDecoder(ImageFile file) : file_(std::move(file)) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure_, on_error, on_warning);
    if (png_ != nullptr) png_info_ = png_create_info_struct(png_);
    if (png_info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw Error("reading " + file_.path + ": libpng is out of memory", ExitCode::failed);
    }
    png_set_read_fn(png_, file_.handle.get(), read_bytes);
    try {
      if (!read_header(png_, png_info_)) throw broken();
      check_size();
      n_passes_ = png_get_interlace_type(png_, png_info_) == PNG_INTERLACE_NONE ? 1 : 7;
      if (!update_info(png_, png_info_)) throw broken();
      describe();
    } catch (...) {
      png_destroy_read_struct(&png_, &png_info_, nullptr);
      throw;
    }
  }
  ~PngDecoder() override { png_destroy_read_struct(&png_, &png_info_, nullptr); }

  [[nodiscard]] const ImageInfo& info() const noexcept override { return info_; }

  void read_rows(Image& image) override {
    const std::size_t row_bytes = png_get_rowbytes(png_, png_info_);
    const std::size_t row_samples = info_.width * n_channels(info_.kind);
    RUBATO_ASSERT(row_bytes == row_samples * static_cast<std::size_t>(info_.bits) / 8, row_bytes);
    std::vector<png_byte> raw(image.n_rows * row_bytes);
    const RowJob job{png_,         raw.data(),   row_bytes, image.first_row,
                     image.n_rows, info_.height, n_passes_};
    if (!read_raw_rows(&job)) throw broken();
    if (info_.bits == 16) {
      std::memcpy(image.samples.data(), raw.data(), raw.size());
    } else {
      std::copy(raw.begin(), raw.end(), image.samples.begin());
    }
  }

 private:
  [[nodiscard]] Error broken() const {
    return Error("reading " + file_.path + ": broken PNG: " + failure_.message);
  }

  // Nothing is allocated on the word of a broken header: deflate packs at most 1032 to 1.
  void check_size() const {
    const double raw_bytes = static_cast<double>(png_get_rowbytes(png_, png_info_)) *
                             png_get_image_height(png_, png_info_);
    if (raw_bytes > 1040.0 * static_cast<double>(file_.n_bytes) + 65536.0) {
      throw Error("reading " + file_.path + ": broken PNG: expected " +
                  std::to_string(png_get_image_width(png_, png_info_)) + " x " +
                  std::to_string(png_get_image_height(png_, png_info_)) + " pixels, found only " +
                  std::to_string(file_.n_bytes) + " bytes");
    }
  }

  void describe() {
    info_.width = png_get_image_width(png_, png_info_);
    info_.height = png_get_image_height(png_, png_info_);
    info_.bits = png_get_bit_depth(png_, png_info_);
    info_.max_value = info_.bits == 16 ? 65535 : 255;
    switch (png_get_color_type(png_, png_info_)) {
      case PNG_COLOR_TYPE_GRAY:
        info_.kind = ImageKind::gray;
        break;
      case PNG_COLOR_TYPE_GRAY_ALPHA:
        info_.kind = ImageKind::gray_alpha;
        break;
      case PNG_COLOR_TYPE_RGB:
        info_.kind = ImageKind::rgb;
        break;
      default:
        info_.kind = ImageKind::rgba;
        break;
    }
  }

  ImageFile file_;
  Failure failure_;
  png_structp png_ = nullptr;
  png_infop png_info_ = nullptr;
  int n_passes_ = 1;
  ImageInfo info_;
};

void append_bytes(png_structp png, png_bytep from, std::size_t n) {
  auto* const out = static_cast<std::string*>(png_get_io_ptr(png));
  try {
    out->append(reinterpret_cast<const char*>(from), n);
    return;
  } catch (const std::bad_alloc&) {  // reported below, outside of the handler
  }
  png_error(png, "out of memory");
}
void flush_nothing(png_structp) {}

bool write_rows(png_structp png, png_infop info, const RgbImage* image) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;  // NOLINT
  png_set_IHDR(png, info, static_cast<png_uint_32>(image->width),
               static_cast<png_uint_32>(image->height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (std::size_t y = 0; y < image->height; ++y) {
    png_write_row(png, reinterpret_cast<png_const_bytep>(&image->pixels[y * image->width]));
  }
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

std::unique_ptr<ImageDecoder> open_png(ImageFile file) {
  return std::make_unique<PngDecoder>(std::move(file));
}

}  // namespace detail

std::string encode_png(const RgbImage& image) {
  static_assert(sizeof(Rgb) == 3);
  RUBATO_REQUIRE(
      image.width > 0 && image.height > 0 && image.pixels.size() == image.width * image.height,
      image.width, image.height, image.pixels.size());
  detail::Failure failure;
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &failure, detail::on_error,
                                            detail::on_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  bool written = false;
  if (info != nullptr) {
    png_set_write_fn(png, &out, detail::append_bytes, detail::flush_nothing);
    written = detail::write_rows(png, info, &image);
  }
  png_destroy_write_struct(&png, &info);
  if (!written) {
    throw Error("encoding a PNG of " + std::to_string(image.width) + " x " +
                    std::to_string(image.height) + " pixels: " + failure.message,
                ExitCode::failed);
  }
  return out;
}

}  // namespace rubato::io

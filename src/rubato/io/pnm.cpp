// PGM and PPM, text (P2, P3) and binary (P5, P6), 8 and 16 bits.

#include <cstring>

#include "rubato/base/error.hpp"
#include "rubato/io/detail/image_formats.hpp"
#include "rubato/io/number.hpp"

namespace rubato::io::detail {
namespace {

class PnmDecoder final : public ImageDecoder {
 public:
  explicit PnmDecoder(ImageFile file) : file_(std::move(file)) {
    get();
    const int digit = get();
    text_ = digit == '2' || digit == '3';
    info_.kind = digit == '3' || digit == '6' ? ImageKind::rgb : ImageKind::gray;
    constexpr std::uint32_t kSideMax = 1U << 24;
    info_.width = number("the width", 1, kSideMax);
    info_.height = number("the height", 1, kSideMax);
    info_.max_value = number("the largest sample", 1, 65535);
    info_.bits = info_.max_value > 255 ? 16 : 8;
    check_size();
  }

  [[nodiscard]] const ImageInfo& info() const noexcept override { return info_; }

  void read_rows(Image& image) override {
    if (text_) {
      read_text(image);
    } else {
      read_binary(image);
    }
  }

 private:
  int get() {
    const int c = std::getc(file_.handle.get());
    if (c == '\n') ++line_;
    return c;
  }

  [[nodiscard]] Error error(const std::string& expected, const std::string& found) const {
    return Error(file_.path + ": line " + std::to_string(line_) + ": expected " + expected +
                 ", found " + found);
  }

  // The next number, and exactly one byte behind it, behind blanks and comments.
  std::uint32_t number(const char* what, std::uint32_t low, std::uint32_t high) {
    int c = get();
    while (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '#') {
      if (c == '#') {
        while (c != '\n' && c != EOF)
          c = get();
      } else {
        c = get();
      }
    }
    constexpr std::size_t kWordMax = 32;
    std::string word;
    const std::uint64_t line = line_;
    for (; c != EOF && std::strchr(" \t\n\r#", c) == nullptr && word.size() < kWordMax; c = get()) {
      word += static_cast<char>(c);
      if (c == '\0') break;
    }
    // A comment that touches the number ends with its line.
    if (c == '#') {
      while (c != '\n' && c != EOF)
        c = get();
    }
    const auto value = parse_number<std::uint32_t>(word);
    if (!value || *value < low || *value > high) {
      line_ = line;
      throw error(
          std::string(what) + ", from " + std::to_string(low) + " to " + std::to_string(high),
          word.empty() ? "the end of the file" : shown(word));
    }
    return *value;
  }

  [[nodiscard]] std::uint64_t row_bytes() const noexcept {
    return std::uint64_t{info_.width} * n_channels(info_.kind) *
           static_cast<std::uint64_t>(info_.bits / 8);
  }

  // Nothing is allocated on the word of a broken header. A sample of text takes two bytes.
  void check_size() {
    data_begin_ = std::ftell(file_.handle.get());
    const std::uint64_t n_samples =
        std::uint64_t{info_.width} * info_.height * n_channels(info_.kind);
    const std::uint64_t needed = text_ ? 2 * n_samples - 1 : row_bytes() * info_.height;
    const auto found = file_.n_bytes - static_cast<std::uint64_t>(data_begin_);
    if (found >= needed) return;
    throw Error(file_.path + ": expected " + (text_ ? "at least " : "") + std::to_string(needed) +
                " bytes for " + std::to_string(info_.width) + " x " + std::to_string(info_.height) +
                " pixels, found " + std::to_string(found));
  }

  void read_text(Image& image) {
    const std::size_t row_samples = info_.width * n_channels(info_.kind);
    const std::size_t n_skipped = image.first_row * row_samples;
    for (std::size_t i = 0; i < n_skipped; ++i)
      number("a sample", 0, info_.max_value);
    for (auto& sample : image.samples) {
      sample = static_cast<std::uint16_t>(number("a sample", 0, info_.max_value));
    }
  }

  void read_binary(Image& image) {
    const auto offset = static_cast<long>(image.first_row * row_bytes()) + data_begin_;
    std::vector<unsigned char> row(row_bytes());
    bool good = std::fseek(file_.handle.get(), offset, SEEK_SET) == 0;
    const std::size_t row_samples = info_.width * n_channels(info_.kind);
    for (std::size_t y = 0; y < image.n_rows; ++y) {
      good = good && std::fread(row.data(), 1, row.size(), file_.handle.get()) == row.size();
      if (!good) throw Error("reading " + file_.path + ": the file ends too early");
      std::uint16_t* const out = &image.samples[y * row_samples];
      for (std::size_t i = 0; i < row_samples; ++i) {
        out[i] =
            info_.bits == 8 ? row[i] : static_cast<std::uint16_t>(row[2 * i] << 8 | row[2 * i + 1]);
        if (out[i] > info_.max_value) {
          throw Error(file_.path + ": row " + std::to_string(image.first_row + y + 1) +
                      ": expected samples up to " + std::to_string(info_.max_value) + ", found " +
                      std::to_string(out[i]));
        }
      }
    }
  }

  ImageFile file_;
  ImageInfo info_;
  bool text_ = false;
  std::uint64_t line_ = 1;
  long data_begin_ = 0;
};

}  // namespace

std::unique_ptr<ImageDecoder> open_pnm(ImageFile file) {
  return std::make_unique<PnmDecoder>(std::move(file));
}

}  // namespace rubato::io::detail

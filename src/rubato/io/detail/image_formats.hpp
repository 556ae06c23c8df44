#pragma once
// The two families of formats behind image.hpp. Private to io.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "rubato/io/image.hpp"

namespace rubato::io::detail {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

// A file at its first byte, and its size, which bounds what may be allocated on its word.
struct ImageFile {
  std::string path;
  FileHandle handle;
  std::uint64_t n_bytes = 0;
};

// A format's decoder: the header is read by its constructor, rows once, by read_rows.
class ImageDecoder {
 public:
  ImageDecoder() = default;
  ImageDecoder(const ImageDecoder&) = delete;
  ImageDecoder& operator=(const ImageDecoder&) = delete;
  virtual ~ImageDecoder() = default;

  [[nodiscard]] virtual const ImageInfo& info() const noexcept = 0;
  // Fills image.samples, whose size is set, with rows [first_row, first_row + n_rows).
  virtual void read_rows(Image& image) = 0;
};

[[nodiscard]] std::unique_ptr<ImageDecoder> open_png(ImageFile file);
[[nodiscard]] std::unique_ptr<ImageDecoder> open_pnm(ImageFile file);

}  // namespace rubato::io::detail

#pragma once
// DirectWriter: appends to a file past the page cache (O_DIRECT), for large files that nobody reads
// soon: their pages would take a processor as long as the copy does, and other files' place. Private
// to io.
//
// Whole blocks go from a buffer of this; the rest, and all where the file system has no such writes,
// goes through the cache.

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace rubato::io::detail {

class DirectWriter {
 public:
  // `fd` is open for writing, empty, and nobody else's until finish(); `path` is for messages.
  DirectWriter(int fd, std::string path);

  // Buffered: an error may show at a later write or at finish(). Throws Error.
  void write(std::string_view bytes);
  // What is left in the buffer.
  void finish();

 private:
  // In the second-level cache of most processors, and long enough for a disk.
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  static constexpr std::align_val_t kAlignment{4096};
  struct Delete {
    void operator()(char* memory) const noexcept { ::operator delete(memory, kAlignment); }
  };

  void set_direct(bool on) noexcept;
  void flush();

  const int fd_;
  const std::string path_;
  std::unique_ptr<char, Delete> buffer_;
  std::size_t n_bytes_ = 0;  // in the buffer
  bool is_direct_ = false;
};

}  // namespace rubato::io::detail

#include "rubato/io/detail/direct_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "rubato/io/detail/posix_file.hpp"

namespace rubato::io::detail {

DirectWriter::DirectWriter(int fd, std::string path)
    : fd_(fd),
      path_(std::move(path)),
      buffer_(static_cast<char*>(::operator new(kBufferBytes, kAlignment))) {
  set_direct(true);
}

// A file system that has no direct writes says so here, or at the first of them.
void DirectWriter::set_direct(bool on) noexcept {
  const int flags = ::fcntl(fd_, F_GETFL);
  is_direct_ =
      flags >= 0 && ::fcntl(fd_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0 && on;
}

void DirectWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kBufferBytes - n_bytes_);
    std::memcpy(buffer_.get() + n_bytes_, bytes.data(), n);
    n_bytes_ += n;
    bytes.remove_prefix(n);
    if (n_bytes_ == kBufferBytes) flush();
  }
}

void DirectWriter::finish() {
  flush();
}

void DirectWriter::flush() {
  std::string_view left(buffer_.get(), std::exchange(n_bytes_, 0));
  while (is_direct_ && left.size() == kBufferBytes) {
    const ssize_t n = ::write(fd_, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EINVAL) throw system_error("writing", path_);
    if (n > 0) left.remove_prefix(static_cast<std::size_t>(n));
    if (n < 0 || !left.empty()) break;  // a disk that is full, or no direct writes: as others then
  }
  if (left.empty()) return;
  if (is_direct_) set_direct(false);
  write_all(fd_, left, path_);
}

}  // namespace rubato::io::detail

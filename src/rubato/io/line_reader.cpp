#include "rubato/io/line_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "rubato/io/detail/posix_file.hpp"

namespace rubato::io {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 18;
constexpr std::uint64_t kGzipBlockBytes = std::uint64_t{1} << 20;

}  // namespace

// The open file: a descriptor, and the unpacker around it if the content is gzip.
struct LineReader::Source {
  int fd = -1;
  gzFile gzip = nullptr;
  std::uint64_t n_bytes = 0;  // of a plain regular file

  explicit Source(const std::string& path) : fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd < 0) throw detail::open_error(path);
    struct stat info {};
    if (::fstat(fd, &info) != 0) fail(path);
    if (S_ISDIR(info.st_mode)) {
      errno = EISDIR;
      fail(path);
    }
    n_bytes = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : UINT64_MAX;
    std::array<unsigned char, 2> magic{};
    // A pipe cannot be looked into without taking the bytes away: it is read as plain text.
    const bool packed =
        ::pread(fd, magic.data(), 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    if (!packed) return;
    gzip = ::gzdopen(fd, "rb");
    if (gzip == nullptr) fail(path);
    ::gzbuffer(gzip, 1U << 17);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    if (gzip != nullptr) {
      ::gzclose_r(gzip);
    } else if (fd >= 0) {
      ::close(fd);
    }
  }

  // Up to `n` bytes to `to`; 0 at the end.
  std::size_t read(char* to, std::size_t n, const std::string& path) const {
    if (gzip != nullptr) {
      const int got = ::gzread(gzip, to, static_cast<unsigned>(n));
      int code = Z_OK;
      const char* const cause = ::gzerror(gzip, &code);
      // A file that was cut gives its bytes and then Z_BUF_ERROR, not a negative count.
      if (got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END)) {
        throw Error("reading " + path + ": broken gzip data: " + std::string(cause));
      }
      return static_cast<std::size_t>(got);
    }
    for (;;) {
      const ssize_t got = ::read(fd, to, n);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) throw detail::system_error("reading", path);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& path) {
    const int cause = errno;
    ::close(fd);
    fd = -1;
    errno = cause;
    throw detail::system_error("reading", path);
  }
};

LineReader::LineReader(const std::string& path, FilePart part)
    : path_(path), part_(part), source_(std::make_unique<Source>(path)) {
  RUBATO_REQUIRE(part.index < part.count, part.index, part.count);
  end_ = UINT64_MAX;
  if (source_->gzip == nullptr && !part.whole()) {
    if (source_->n_bytes == UINT64_MAX) {
      throw Error("reading " + path + ": expected a regular file, since it is read in " +
                  std::to_string(part.count) + " parts");
    }
    // size * i / n without overflow; __int128 is no ISO C++.
    const std::uint64_t size = source_->n_bytes;
    const auto cut = [&](std::uint64_t i) {
      return size / part.count * i + size % part.count * i / part.count;
    };
    begin_ = cut(part.index);
    end_ = cut(std::uint64_t{part.index} + 1);
  }
  if (begin_ > 0) {
    // One byte early: a line that begins exactly at begin_ is ours, and the byte before it tells.
    offset_ = begin_ - 1;
    if (::lseek(source_->fd, static_cast<off_t>(offset_), SEEK_SET) < 0) {
      throw detail::system_error("reading", path);
    }
    std::string other;
    read_line(other);
  } else if (fill()) {
    const std::string_view head(buffer_);
    if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) {
      throw Error(path_ + ": expected UTF-8 text, found UTF-16 (save the file as UTF-8)");
    }
    if (head.starts_with("\xef\xbb\xbf")) {
      at_ = 3;
      offset_ = 3;
      n_mark_bytes_ = 3;
    }
  }
  first_offset_ = offset_;
  n_lines_read_ = 0;
}

LineReader::~LineReader() = default;

bool LineReader::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t old = buffer_.size();
  buffer_.resize(old + kChunkBytes);
  const std::size_t n = source_->read(buffer_.data() + old, kChunkBytes, path_);
  buffer_.resize(old + n);
  return n != 0;
}

// Appends the next line, owned or not, to `line`.
bool LineReader::read_line(std::string& line) {
  std::size_t searched = at_;
  std::size_t end = 0;
  while ((end = buffer_.find('\n', searched)) == std::string::npos) {
    const std::size_t n_pending = buffer_.size() - at_;
    if (n_pending > kLineBytesMax) {
      ++n_lines_read_;
      throw error("expected a line end within 64 MiB (is this a text file?)");
    }
    searched = n_pending;  // fill() moves the pending bytes to the front
    if (fill()) continue;
    if (n_pending == 0) return false;
    end = buffer_.size();
    break;
  }
  std::size_t n = end - at_;
  const std::size_t n_taken = std::min(end + 1, buffer_.size()) - at_;
  if (n > 0 && buffer_[at_ + n - 1] == '\r') --n;
  line.append(buffer_, at_, n);
  at_ += n_taken;
  offset_ += n_taken;
  ++n_lines_read_;
  return true;
}

bool LineReader::owned(std::uint64_t line_begin) const noexcept {
  if (source_->gzip == nullptr || part_.whole()) return true;
  return line_begin / kGzipBlockBytes % part_.count == part_.index;
}

bool LineReader::next(std::string_view& line) {
  n_joined_ = 0;
  for (;;) {
    // The byte order mark belongs to the first line: a part may end between the two.
    line_begin_ = offset_ == n_mark_bytes_ ? 0 : offset_;
    if (line_begin_ >= end_) return false;
    line_.clear();
    if (!read_line(line_)) return false;
    if (!owned(line_begin_)) continue;
    line = line_;
    return true;
  }
}

bool LineReader::extend(std::string_view& line) {
  line_ += '\n';
  if (line_.size() > kLineBytesMax) throw error("expected a closing quote within 64 MiB");
  if (!read_line(line_)) return false;
  ++n_joined_;
  line = line_;
  return true;
}

std::uint64_t LineReader::line_number() const {
  std::uint64_t n_before = 0;
  if (begin_ > 0) {
    const Source again(path_);
    std::string chunk(kChunkBytes, '\0');
    for (std::uint64_t left = first_offset_; left > 0;) {
      const std::size_t n =
          again.read(chunk.data(),
                     static_cast<std::size_t>(std::min<std::uint64_t>(left, chunk.size())), path_);
      if (n == 0) break;
      n_before += static_cast<std::uint64_t>(
          std::count(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(n), '\n'));
      left -= n;
    }
  }
  return n_before + n_lines_read_ - n_joined_;
}

Error LineReader::error(std::string_view message) const {
  return Error(path_ + ": line " + std::to_string(line_number()) + ": " + std::string(message));
}

Error LineReader::error(std::uint64_t column, std::string_view message) const {
  return Error(path_ + ": line " + std::to_string(line_number()) + ", column " +
               std::to_string(column) + ": " + std::string(message));
}

}  // namespace rubato::io

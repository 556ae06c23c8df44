#include "rubato/io/output_file.hpp"

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rubato/io/detail/direct_writer.hpp"
#include "rubato/io/detail/posix_file.hpp"

namespace rubato::io {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;
constexpr mode_t kMode = 0666;  // less the umask

}  // namespace

OutputFile::OutputFile(const std::string& path, Durable durable, Cached cached)
    : durable_(durable), path_(path), target_(detail::resolve_links(path)) {
  static std::atomic<std::uint64_t> counter{0};
  if (std::filesystem::is_directory(target_)) {
    throw Error("writing " + path_ + ": expected a file name, found a folder");
  }
  if (detail::is_special(target_)) {
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) throw detail::system_error("writing", path_);
    return;
  }
  // Another node on another host may have the same process id: O_EXCL decides, and the next name is
  // tried. A few dozen is far beyond what can collide.
  for (int attempt = 0; attempt < 64 && fd_ < 0; ++attempt) {
    temporary_ = detail::beside(
        target_, "tmp" + std::to_string(::getpid()) + "." + std::to_string(counter.fetch_add(1)));
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) throw detail::system_error("writing", path_);
  if (cached == Cached::no) direct_ = std::make_unique<detail::DirectWriter>(fd_, path_);
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::flush() {
  if (direct_) {
    direct_->finish();
    return;
  }
  detail::write_all(fd_, buffer_, path_);
  buffer_.clear();
}

void OutputFile::write(std::string_view bytes) {
  RUBATO_REQUIRE(fd_ >= 0, path_);
  n_bytes_ += bytes.size();
  if (direct_) {
    direct_->write(bytes);
    return;
  }
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() >= kBufferBytes) {
    detail::write_all(fd_, bytes, path_);
  } else {
    buffer_.append(bytes);
  }
}

void OutputFile::commit() {
  RUBATO_REQUIRE(fd_ >= 0, path_);
  flush();
  const int fd = std::exchange(fd_, -1);
  if (temporary_.empty()) {
    if (::close(fd) != 0) throw detail::system_error("writing", path_);
    return;
  }
  try {
    detail::commit_by_rename(fd, {temporary_, target_, path_, durable_ == Durable::yes});
  } catch (...) {
    ::unlink(temporary_.c_str());
    throw;
  }
}

void write_file(const std::string& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

void move_file(const std::string& from, const std::string& to) {
  const std::string target = detail::resolve_links(to);
  if (std::filesystem::is_directory(target) || detail::is_special(target)) {
    throw Error("writing " + to + ": expected a file name");
  }
  if (::rename(from.c_str(), target.c_str()) == 0) {
    detail::sync_folder_of(target);
    return;
  }
  if (errno != EXDEV) throw detail::system_error("writing", to);
  std::ifstream in(from, std::ios::binary);
  OutputFile out(to);
  std::string buffer(kBufferBytes, '\0');
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0)
    out.write(std::string_view(buffer).substr(0, static_cast<std::size_t>(in.gcount())));
  if (!in.eof()) throw Error("reading " + from + ": the file cannot be read", ExitCode::failed);
  out.commit();
  ::unlink(from.c_str());
}

SharedOutputFile::SharedOutputFile(const std::string& path, std::uint64_t job_id)
    : path_(path), target_(detail::resolve_links(path)) {
  if (std::filesystem::is_directory(target_) || detail::is_special(target_)) {
    throw Error("writing " + path_ +
                ": expected a file name, since several nodes write it at once");
  }
  temporary_ = detail::beside(target_, "job" + std::to_string(job_id));
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kMode);
  if (fd_ < 0) throw detail::system_error("writing", path_);
}

SharedOutputFile::~SharedOutputFile() {
  if (!finished_) abandon();
  if (fd_ >= 0) ::close(fd_);
}

void SharedOutputFile::write_at(std::uint64_t offset, std::string_view bytes) {
  RUBATO_REQUIRE(fd_ >= 0 && !finished_, path_);
  detail::write_all_at(fd_, bytes, offset, path_);
}

void SharedOutputFile::finish() {
  RUBATO_REQUIRE(fd_ >= 0, path_);
  // Network file systems report a full disk only here.
  if (::fsync(fd_) != 0) throw detail::system_error("writing", path_);
  finished_ = true;
}

void SharedOutputFile::commit(std::uint64_t n_bytes_total) {
  RUBATO_REQUIRE(finished_, path_);
  struct stat info {};
  if (::fstat(fd_, &info) != 0) throw detail::system_error("writing", path_);
  if (static_cast<std::uint64_t>(info.st_size) != n_bytes_total) {
    abandon();
    throw Error("writing " + path_ + ": expected " + std::to_string(n_bytes_total) +
                    " bytes from all nodes, found " + std::to_string(info.st_size) +
                    " (do the nodes share this file system?)",
                ExitCode::failed);
  }
  try {
    detail::commit_by_rename(std::exchange(fd_, -1), {temporary_, target_, path_, true});
  } catch (...) {
    abandon();
    throw;
  }
}

void SharedOutputFile::abandon() noexcept {
  ::unlink(temporary_.c_str());
}

}  // namespace rubato::io

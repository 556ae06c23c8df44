#include "rubato/io/detail/posix_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rubato::io::detail {
namespace fs = std::filesystem;

Error system_error(std::string_view what, const std::string& path) {
  const int cause = errno;
  const bool is_full = cause == ENOSPC || cause == EDQUOT || cause == EFBIG || cause == EIO;
  return Error(std::string(what) + " " + path + ": " + std::generic_category().message(cause),
               is_full ? ExitCode::failed : ExitCode::bad_input);
}

Error open_error(const std::string& path) {
  const int cause = errno;
  std::string hint;
  if (cause == ENOENT) {
    std::vector<std::string> names;
    const fs::path full(path);
    const fs::path folder = full.has_parent_path() ? full.parent_path() : fs::path(".");
    std::error_code ignored;
    constexpr std::size_t kNamesMax = 10'000;
    for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;) {
      names.push_back(at->path().filename().string());
      if (names.size() == kNamesMax) break;
      at.increment(ignored);
    }
    hint = did_you_mean(full.filename().string(), names);
  }
  errno = cause;
  return Error(system_error("reading", path).what() + hint);
}

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("writing", path);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void write_all_at(int fd, std::string_view bytes, std::uint64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("writing", path);
    bytes.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

std::string resolve_links(const std::string& path) {
  std::error_code failed;
  if (!fs::is_symlink(path, failed)) return path;
  const fs::path real = fs::weakly_canonical(path, failed);
  return failed ? path : real.string();
}

bool is_special(const std::string& path) noexcept {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

std::string beside(const std::string& target, const std::string& suffix) {
  const fs::path full(target);
  std::string name = ".";
  name.append(full.filename().string()).append(".").append(suffix);
  return (full.parent_path() / name).string();
}

void commit_by_rename(int fd, const Rename& names) {
  const bool synced = !names.durable || ::fsync(fd) == 0;
  const int cause = errno;
  const bool closed = ::close(fd) == 0;
  if (!synced) errno = cause;
  if (!synced || !closed) throw system_error("writing", names.shown);
  if (::rename(names.temporary.c_str(), names.target.c_str()) != 0) {
    throw system_error("writing", names.shown);
  }
  if (names.durable) sync_folder_of(names.target);
}

// The rename itself is durable only when its folder is. Some file systems refuse to sync a folder;
// then the file is there all the same, so that a failure is no error.
void sync_folder_of(const std::string& target) noexcept {
  const std::size_t slash = target.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : target.substr(0, slash + 1);
  const int folder = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    static_cast<void>(::fsync(folder));
    ::close(folder);
  }
}

}  // namespace rubato::io::detail

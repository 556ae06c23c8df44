#include "rubato/flow/program/detail/program_path.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rubato/flow/program/detail/descriptor.hpp"

namespace rubato::flow::program_detail {
namespace {

constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

// What others give back sooner or later. ETXTBSY: a program that was just written is still open for
// writing in a child that another thread is about to start.
bool is_passing(int error) {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE ||
         error == ETXTBSY;
}

std::vector<std::string> folders_of(const std::string& path) {
  std::vector<std::string> folders;
  std::size_t at = 0;
  while (at <= path.size()) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    folders.push_back(end == at ? "." : path.substr(at, end - at));
    at = end + 1;
  }
  return folders;
}

bool is_file(int folder_fd, const std::string& path) {
  struct stat info {};
  return ::fstatat(folder_fd, path.c_str(), &info, 0) == 0 && S_ISREG(info.st_mode);
}

bool is_program(int folder_fd, const std::string& path) {
  return is_file(folder_fd, path) && ::faccessat(folder_fd, path.c_str(), X_OK, AT_EACCESS) == 0;
}

// The names in a folder, of programs or of all; none if it cannot be read: this is for messages.
void add_names(const std::string& folder, bool programs_only, std::vector<std::string>& names) {
  std::error_code ignored;
  std::filesystem::directory_iterator entries(folder, ignored);
  for (; entries != std::filesystem::directory_iterator(); entries.increment(ignored)) {
    const std::string path = entries->path().string();
    if (!programs_only || is_program(AT_FDCWD, path)) {
      names.push_back(entries->path().filename().string());
    }
  }
}

std::string near_programs(const std::vector<std::string>& folders, const std::string& name) {
  std::vector<std::string> names;
  for (const std::string& folder : folders)
    add_names(folder, true, names);
  // Sorted, so that of equally near names the same one is said each time.
  std::sort(names.begin(), names.end());
  return did_you_mean(name, names);
}

}  // namespace

StartError start_error(const std::string& what, int error) {
  return {what + ": " + std::strerror(error),  // NOLINT(concurrency-mt-unsafe)
          error == ENOENT ? kNotFound : kCannotExecute, is_passing(error)};
}

std::string ProgramFinder::find(const std::string& path, const std::string& name) const {
  const std::pair key(path, name);
  {
    const std::lock_guard lock(mutex_);
    const auto known = found_.find(key);
    if (known != found_.end()) return known->second;
  }
  const std::vector<std::string> folders = folders_of(path);
  std::string unusable;
  for (const std::string& folder : folders) {
    std::string candidate = folder;
    candidate.append("/").append(name);
    if (is_program(AT_FDCWD, candidate)) {
      // Absolute, since the program may run in another folder.
      candidate = std::filesystem::absolute(candidate).string();
      const std::lock_guard lock(mutex_);
      return found_[key] = candidate;
    }
    if (unusable.empty() && is_file(AT_FDCWD, candidate)) unusable = candidate;
  }
  if (!unusable.empty()) {
    throw StartError("expected a program, found \"" + unusable + "\", which may not be executed",
                     kCannotExecute);
  }
  throw StartError("there is no program \"" + name + "\" in PATH" + near_programs(folders, name),
                   kNotFound);
}

void ProgramFinder::forget(const std::string& path, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  found_.erase(std::pair(path, name));
}

void check_program(int folder_fd, const std::string& name) {
  if (is_program(folder_fd, name)) return;
  struct stat info {};
  if (::fstatat(folder_fd, name.c_str(), &info, 0) == 0) {
    const char* found = S_ISDIR(info.st_mode)   ? "a folder"
                        : S_ISREG(info.st_mode) ? "a file that may not be executed"
                                                : "something that is no file";
    throw StartError("expected a program \"" + name + "\", found " + found, kCannotExecute);
  }
  StartError error = start_error("there is no program \"" + name + "\"", errno);
  if (error.exit_code() != kNotFound) throw error;
  const std::filesystem::path path(name);
  std::vector<std::string> names;
  // The folder as the kernel sees it, for the name is relative to a descriptor.
  std::string folder = path.parent_path().string();
  if (!path.is_absolute() && folder_fd != AT_FDCWD) {
    folder = "/proc/self/fd/" + std::to_string(folder_fd) + "/" + folder;
  }
  add_names(folder, false, names);
  std::sort(names.begin(), names.end());
  throw StartError(error.what() + did_you_mean(path.filename().string(), names), kNotFound);
}

std::string refusal_of(int folder_fd, const std::string& path, int error) {
  const Descriptor file(::openat(folder_fd, path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 256> bytes{};
  const ssize_t n = file.open() ? ::read(file.get(), bytes.data(), bytes.size()) : 0;
  std::string_view line(bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  line = line.substr(0, line.find('\n'));
  if (error == ENOENT && line.starts_with("#!")) {
    return "its first line names an interpreter that is not there: \"" + std::string(line) + "\"";
  }
  if (error == ENOENT && n > 0) return "the loader that it was linked for is not there";
  if (error == ENOEXEC) {
    return "expected a program of this machine or a script that begins with #!, found neither";
  }
  if (error == E2BIG) return "its arguments and environment are longer than the system takes";
  return std::strerror(error);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace rubato::flow::program_detail

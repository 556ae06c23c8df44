#include "rubato/tick/output/detail/work_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rubato/io/number.hpp"

namespace rubato::tick::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";
constexpr const char* kDead = ".dead";
constexpr const char* kMarks = "marks";
constexpr const char* kClaimed = "claimed";
constexpr const char* kTicks = "ticks";
constexpr const char* kWhole = "whole";

[[noreturn]] void fail(const std::string& path, int cause) {
  throw Error("--output: writing " + path + ": " + std::generic_category().message(cause));
}

void make_folders(const std::string& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed) fail(path, failed.value());
}

void make_empty_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) fail(path, errno);
  ::close(fd);
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed))
    names.push_back(at->path().filename().string());
  return names;
}

bool is_same_file(int fd, const std::string& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

// Removes a work folder unless a process that lives holds its lock. Under another name first, so
// that nobody who comes in between finds half a folder.
void remove_if_dead(const std::string& path) noexcept {
  std::error_code ignored;
  // Dead before; whoever was to remove it has died as well.
  if (path.ends_with(kDead)) fs::remove_all(path, ignored);
  const int fd = ::open((path + "/" + kLock).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    const std::string dead = path + kDead;
    if (::rename(path.c_str(), dead.c_str()) == 0) fs::remove_all(dead, ignored);
  }
  ::close(fd);
}

}  // namespace

WorkFolder::WorkFolder(Options options)
    : options_(std::move(options)),
      path_(options_.folder + "/." + options_.name + ".job" + std::to_string(options_.job_id)) {
  lock();
  make_folders(scratch(kWhole));
}

// A folder is without a lock for a moment after it was made, when another job may take it for dead:
// then it is made again.
void WorkFolder::lock() {
  const std::string name = scratch(kLock);
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    make_folders(path_);
    lock_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0 && errno == ENOENT) continue;
    if (lock_ < 0) fail(name, errno);
    const bool held = ::flock(lock_, LOCK_SH | LOCK_NB) == 0;
    if (held && is_same_file(lock_, name)) return;
    const bool busy = held || errno == EWOULDBLOCK || errno == EINTR;
    ::close(lock_);
    lock_ = -1;
    if (!busy) {
      // No locks here. Without the file nobody takes the folder for dead.
      ::unlink(name.c_str());
      return;
    }
  }
  throw Error("--output: writing " + name + ": another job holds it");
}

WorkFolder::~WorkFolder() {
  if (options_.n_processes == 1) close();
  if (lock_ < 0) return;
  ::close(lock_);
  remove_if_dead(path_);
}

void WorkFolder::close() noexcept {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void WorkFolder::remove_dead(const std::string& folder) noexcept {
  for (const std::string& name : names_in(folder)) {
    if (!name.starts_with(".") || name.find(".job") == std::string::npos) continue;
    remove_if_dead(std::string(folder).append("/").append(name));
  }
}

std::string WorkFolder::tick(std::int64_t key) const {
  return scratch(kTicks) + "/" + std::to_string(key);
}

std::string WorkFolder::open(std::int64_t key) const {
  make_folders(tick(key) + "/" + kMarks);
  return tick(key);
}

bool WorkFolder::mark(std::int64_t key, std::uint32_t node) const {
  const std::string marks = tick(key) + "/" + kMarks;
  if (options_.n_processes > 1) {
    make_empty_file(marks + "/" + std::to_string(node));
    if (names_in(marks).size() < options_.n_processes) return false;
  }
  return try_claim(key);
}

bool WorkFolder::try_claim(std::int64_t key) const {
  const std::string folder = tick(key) + "/";
  if (::rename((folder + kMarks).c_str(), (folder + kClaimed).c_str()) == 0) return true;
  if (errno == ENOENT) return false;  // somebody else has it
  fail(folder + kMarks, errno);
}

void WorkFolder::set_whole(std::int64_t key) const {
  make_empty_file(scratch(kWhole) + "/" + std::to_string(key));
  std::error_code ignored;
  fs::remove_all(tick(key), ignored);
}

std::vector<std::int64_t> WorkFolder::whole() const {
  std::vector<std::int64_t> keys;
  for (const std::string& name : names_in(scratch(kWhole))) {
    // A file system may keep files of its own there.
    if (const auto key = io::parse_number<std::int64_t>(name)) keys.push_back(*key);
  }
  std::ranges::sort(keys);
  return keys;
}

}  // namespace rubato::tick::detail

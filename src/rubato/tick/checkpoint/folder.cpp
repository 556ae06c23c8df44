#include "rubato/tick/checkpoint/folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rubato/io/number.hpp"
#include "rubato/tick/checkpoint/part_file.hpp"

namespace rubato::tick {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "tick-";

// "process 4711 on cn-17", for people who look for who holds a folder.
std::string name_of_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"this host"};
  return "process " + std::to_string(::getpid()) + " on " + host.data();
}

// Whether `path` still is the file that is open as `fd`.
bool is_same_file(int fd, const std::string& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

// "ck/tick-00000010/" without its end.
fs::path without_end(const std::string& path) {
  const fs::path folder(path);
  return folder.has_filename() ? folder : folder.parent_path();
}

Error in_the_way(const std::string& folder, Tick tick, Tick begin) {
  const std::string older = begin < 0
                                ? ""
                                : ", which is newer than that of tick " + std::to_string(begin) +
                                      " to go on from, and would be overwritten";
  return Error("--checkpoint: " + folder + " has a checkpoint of tick " + std::to_string(tick) +
                   older + ": expected --resume " + folder +
                   " to go on from it, or --checkpoint with another folder",
               ExitCode::usage);
}

// Of the folder of a checkpoint.
std::optional<Tick> tick_of_name(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto tick = io::parse_number<Tick>(name.substr(kPrefix.size()));
  return tick ? std::optional<Tick>(*tick) : std::nullopt;
}

// It stays, under a name that no checkpoint has.
void set_aside(const CheckpointEntry& entry) {
  const fs::path path(entry.path);
  const std::string name = "damaged-" + path.filename().string();
  fs::path to = path.parent_path() / name;
  std::error_code failed;
  for (int i = 2; fs::exists(to, failed); ++i)
    to = path.parent_path() / (name + "-" + std::to_string(i));
  fs::rename(path, to, failed);
  if (failed) {
    throw Error("renaming the damaged checkpoint " + entry.path + ": " + failed.message(),
                ExitCode::failed);
  }
}

// A part or a manifest, whole or half written: that is .part-00000.tmp4711.0 (io::OutputFile).
bool is_of_checkpoint(const fs::directory_entry& file) {
  std::error_code ignored;
  std::string name = file.path().filename().string();
  if (name.starts_with(".")) {
    const std::size_t end = name.find(".tmp");
    if (end == std::string::npos) return false;
    name = name.substr(1, end - 1);
  }
  const bool is_part = name.starts_with("part-") && name.size() >= 10 &&
                       name.find_first_not_of("0123456789", 5) == std::string::npos;
  return (is_part || name == "manifest") && file.is_regular_file(ignored);
}

// Whether there is nothing in it that no run has written there.
bool is_of_runs(const CheckpointEntry& entry) {
  std::error_code ignored;
  return std::ranges::all_of(fs::directory_iterator(entry.path, ignored), is_of_checkpoint);
}

// First the manifest, so that nobody takes for whole what is half removed. What is not of a checkpoint
// stays, and the folder with it.
void remove_checkpoint(const CheckpointEntry& entry) {
  std::error_code failed;
  std::error_code ignored;
  fs::remove(manifest_path(entry.path), failed);
  std::vector<fs::path> files;
  for (const fs::directory_entry& file : fs::directory_iterator(entry.path, ignored)) {
    if (is_of_checkpoint(file)) files.push_back(file.path());
  }
  for (const fs::path& file : files) {
    if (!failed) fs::remove(file, failed);
  }
  if (!failed && fs::is_empty(entry.path, ignored)) fs::remove(entry.path, failed);
  if (failed) {
    throw Error("removing the old checkpoint " + entry.path + ": " + failed.message(),
                ExitCode::failed);
  }
}

}  // namespace

std::vector<CheckpointEntry> list_checkpoints(const std::string& folder) {
  std::vector<CheckpointEntry> entries;
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator(folder, ignored)) {
    const std::string name = each.path().filename().string();
    const std::optional<Tick> tick = tick_of_name(name);
    if (!tick || !each.is_directory(ignored)) continue;
    const std::string path = checkpoint_path(folder, *tick);
    entries.push_back({*tick, path, fs::exists(manifest_path(path), ignored)});
  }
  std::ranges::sort(entries, {}, &CheckpointEntry::tick);
  return entries;
}

std::string checkpoint_path(const std::string& folder, Tick tick) {
  const std::string digits = std::to_string(tick);
  return folder + "/" + std::string(kPrefix) +
         std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
}

std::string damage_of(const std::string& path) {
  try {
    return CheckpointSource(path, read_manifest(manifest_path(path))).damage();
  } catch (const Error& error) {
    return error.what();
  }
}

Error with_older_checkpoint(const Error& error, const std::string& path) {
  const fs::path folder = without_end(path);
  const std::optional<Tick> tick = tick_of_name(folder.filename().string());
  const std::string parent = folder.parent_path().string();
  std::string older;
  if (tick) {
    for (const CheckpointEntry& entry : list_checkpoints(parent.empty() ? "." : parent)) {
      if (entry.whole && entry.tick < *tick && damage_of(entry.path).empty()) older = entry.path;
    }
  }
  if (older.empty()) return error;
  return Error(std::string(error.what()) + "; the one before it is whole: --resume " + older,
               error.code());
}

Manifest read_checkpoint(const std::string& path) {
  try {
    return read_manifest(manifest_path(path));
  } catch (const Error& error) {
    throw with_older_checkpoint(error, path);
  }
}

std::string find_checkpoint_of_job(const std::string& folder, const std::string& job,
                                   std::vector<std::string>& passed) {
  const std::vector<CheckpointEntry> all = list_checkpoints(folder);
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
    if (!entry->whole) continue;
    std::string damage;
    try {
      const CheckpointSource source(entry->path, read_manifest(manifest_path(entry->path)));
      if (source.manifest().job != job) continue;
      damage = source.damage();
    } catch (const Error& error) {
      damage = error.what();
    }
    if (damage.empty()) return entry->path;
    passed.push_back(std::move(damage));
  }
  return "";
}

CheckpointEntry find_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(manifest_path(path), ignored)) {
    return {read_checkpoint(path).tick, path, true};
  }
  const std::vector<CheckpointEntry> all = list_checkpoints(path);
  const auto newest = std::find_if(all.rbegin(), all.rend(),
                                   [](const CheckpointEntry& entry) { return entry.whole; });
  if (newest != all.rend()) return *newest;
  if (!fs::is_directory(path, ignored)) {
    throw Error(path + ": expected a folder with checkpoints, found " +
                (fs::exists(path, ignored) ? "a file" : "nothing of that name"));
  }
  throw Error(path + ": expected a whole checkpoint, found " +
              (all.empty() ? "none" : std::to_string(all.size()) + " without a manifest"));
}

FolderLock::FolderLock(const std::string& folder) : folder_(folder), path_(folder + "/lock") {
  while (!try_lock())
    ::close(fd_);
  const std::string name = name_of_process() + "\n";
  // A full disk takes no name, and need not.
  if (::ftruncate(fd_, 0) == 0) static_cast<void>(!::write(fd_, name.data(), name.size()));
}

// False if who held it has removed the file between the two calls.
bool FolderLock::try_lock() {
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    throw Error("--checkpoint: cannot make " + path_ + ": " +
                std::generic_category().message(errno));
  }
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return is_same_file(fd_, path_);
  if (errno != EWOULDBLOCK) return true;  // there are no locks here
  ::close(fd_);
  std::string holder;
  std::getline(std::ifstream(path_), holder);
  throw Error("--checkpoint: another run writes to " + folder_ +
                  (holder.empty() ? "" : " (" + holder + ")") +
                  ": expected a folder of its own, or the end of that run",
              ExitCode::usage);
}

// The file first: who opens it from here on makes one of its own.
FolderLock::~FolderLock() {
  if (fd_ < 0) return;
  if (is_same_file(fd_, path_)) ::unlink(path_.c_str());
  ::close(fd_);
}

std::unique_ptr<FolderLock> prepare_checkpoints(const std::string& folder,
                                                const std::string& resumed) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed || !fs::is_directory(folder)) {
    throw Error("--checkpoint: cannot make the folder " + folder + ": " +
                (failed ? failed.message() : "there is a file of that name"));
  }
  auto lock = std::make_unique<FolderLock>(folder);
  // Whether the run goes on in this folder, and from where.
  Tick begin = -1;
  const std::vector<CheckpointEntry> all = list_checkpoints(folder);
  for (const CheckpointEntry& entry : all) {
    if (!resumed.empty() && entry.whole && fs::equivalent(entry.path, resumed, failed))
      begin = entry.tick;
  }
  // Before anything is changed. What is foreign in an old one stays, and is in nobody's way.
  for (const CheckpointEntry& entry : all) {
    if (entry.whole || entry.tick <= begin || is_of_runs(entry)) continue;
    throw Error("--checkpoint: " + entry.path +
                    " is no checkpoint and has files that no run has written: expected a folder "
                    "for checkpoints alone",
                ExitCode::usage);
  }
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
    if (!entry->whole) {
      remove_checkpoint(*entry);
    } else if (entry->tick > begin) {
      if (begin < 0 || damage_of(entry->path).empty()) throw in_the_way(folder, entry->tick, begin);
      set_aside(*entry);
    }
  }
  return lock;
}

void remove_old_checkpoints(const std::string& folder, std::size_t n_kept) {
  const std::vector<CheckpointEntry> all = list_checkpoints(folder);
  std::size_t n_whole = 0;
  for (std::size_t i = all.size(); i-- > 0;) {
    const bool kept = all[i].whole ? ++n_whole <= n_kept : n_whole == 0;
    if (!kept) remove_checkpoint(all[i]);
  }
}

void remove_unfinished_checkpoints(const std::string& folder) noexcept {
  try {
    for (const CheckpointEntry& entry : list_checkpoints(folder)) {
      if (!entry.whole) remove_checkpoint(entry);
    }
  } catch (const std::exception&) {
    return;  // it stays
  }
}

}  // namespace rubato::tick

#pragma once
// The folder of a run's checkpoints: which of them are whole, and which go.

#include <memory>
#include <string>
#include <vector>

#include "rubato/base/error.hpp"
#include "rubato/tick/checkpoint/manifest.hpp"

namespace rubato::tick {

struct CheckpointEntry {
  Tick tick = 0;
  std::string path;    // of its own folder, in that of the run
  bool whole = false;  // it has its manifest
};

// Those in `folder`, by ascending tick; none if there is no such folder.
[[nodiscard]] std::vector<CheckpointEntry> list_checkpoints(const std::string& folder);

// What is wrong with the whole checkpoint at `path`: its manifest or a part cannot be read, is cut, or
// has a byte that was changed. "" if nothing is. Reads all parts.
[[nodiscard]] std::string damage_of(const std::string& path);

// The folder of the checkpoint of that tick.
[[nodiscard]] std::string checkpoint_path(const std::string& folder, Tick tick);

// What people mean by `path`: the newest whole checkpoint of a run's folder, or the very checkpoint.
// Throws Error if there is none, saying what is there.
[[nodiscard]] CheckpointEntry find_checkpoint(const std::string& path);
// The manifest of the whole checkpoint at `path`. Throws Error as read_manifest(), naming the one before
// it as below.
[[nodiscard]] Manifest read_checkpoint(const std::string& path);
// `error`, which is about the checkpoint at `path`, with the newest one before it in the same folder
// that has no damage; without, if there is none.
[[nodiscard]] Error with_older_checkpoint(const Error& error, const std::string& path);
// The path of the newest one in `folder` that `job` has written and that has no damage; "": none.
// `passed` gets what is wrong with newer ones, a sentence each. Reads all parts of what it returns and
// passes, so that all nodes that read the same files find the same one.
[[nodiscard]] std::string find_checkpoint_of_job(const std::string& folder, const std::string& job,
                                                 std::vector<std::string>& passed);

// A folder is one run's for as long as this lives: a lock (flock) on its file `lock`, which the system
// releases when the process dies, however it does. On a file system without locks it holds nothing.
class FolderLock {
 public:
  // Throws Error (usage) if another run holds the folder, saying which.
  explicit FolderLock(const std::string& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  // Removes the file.
  ~FolderLock();

 private:
  [[nodiscard]] bool try_lock();

  const std::string folder_;
  const std::string path_;
  int fd_ = -1;
};

// Makes the folder ready for a run that begins with the checkpoint at `resumed`, or at tick 0 if that
// is "": made if it is not there, what a killed run has left half written in it removed, and what is
// damaged and newer than `resumed`, one of the folder, renamed (tick-8 to damaged-tick-8). It is
// that run's as long as the result lives. Throws Error if it is another run's, or has whole
// checkpoints that are not `resumed` or older ones of its run: they are neither overwritten nor
// removed; or has, where the run would write, files that no run has written, which no run removes. One
// process of a job calls it, before any writes.
[[nodiscard]] std::unique_ptr<FolderLock> prepare_checkpoints(const std::string& folder,
                                                              const std::string& resumed);

// Removes all but the newest `n_kept` whole ones, and what is not whole and older than the newest.
void remove_old_checkpoints(const std::string& folder, std::size_t n_kept);

// Removes what is not whole, when the run that has written it is over. What cannot be removed stays,
// for prepare_checkpoints() of the next run.
void remove_unfinished_checkpoints(const std::string& folder) noexcept;

}  // namespace rubato::tick

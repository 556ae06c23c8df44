#pragma once
// WorkFolder: DIR/.NAME.jobID, where the files of ticks lie while they are made.
//
// All nodes of a job write to it, so a shared file system is all that they need to find out that a
// tick is whole: who has written its part of a tick leaves a mark, and who then sees the marks of
// all claims the tick by a rename, which one of them wins. The winner puts the parts together and
// moves the files to DIR. So no message and no collective is needed, and whatever ends the job, the
// ticks in DIR are whole and all that is left of others lies in this one folder.
//
// Every process holds a shared lock on a file in it for as long as it lives. The last one out
// removes the folder, and a later job that finds a folder without a lock knows that its job is dead
// and removes it (remove_dead). On a file system without locks a dead job's folder stays.

#include <cstdint>
#include <string>
#include <vector>

#include "rubato/base/error.hpp"

namespace rubato::tick::detail {

class WorkFolder {
 public:
  struct Options {
    std::string folder;  // DIR, which is there
    std::string name;    // of the run
    std::uint64_t job_id = 0;
    std::uint32_t n_processes = 1;
  };

  // Every process of the job makes it. Throws Error if it cannot be made.
  explicit WorkFolder(Options options);
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();

  // Removes what jobs that are dead have left in `folder`.
  static void remove_dead(const std::string& folder) noexcept;

  // The folder of one tick's files, by a number for it; made by the first that asks.
  [[nodiscard]] std::string open(std::int64_t key) const;
  // This process, which has `node`, has written its part. True for exactly one
  // process, which makes the tick whole then; or, where a file system shows marks late, for none:
  // then try_claim() after all have finished gives the tick to one.
  [[nodiscard]] bool mark(std::int64_t key, std::uint32_t node) const;
  [[nodiscard]] bool try_claim(std::int64_t key) const;
  // Its files have been moved to DIR: its folder goes, and it is listed.
  void set_whole(std::int64_t key) const;
  [[nodiscard]] std::vector<std::int64_t> whole() const;  // in order

  // A path in it, for a file that is only this process's.
  [[nodiscard]] std::string scratch(const std::string& name) const { return path_ + "/" + name; }
  // All processes have done all: removes the folder. Called on one of them.
  void close() noexcept;

 private:
  void lock();
  [[nodiscard]] std::string tick(std::int64_t key) const;

  Options options_;
  std::string path_;
  int lock_ = -1;  // -1: the file system has no locks
};

}  // namespace rubato::tick::detail

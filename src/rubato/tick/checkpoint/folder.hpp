#pragma once
// The folder of a run's checkpoints: which of them are whole, and which go.

#include <string>
#include <vector>

#include "rubato/tick/checkpoint/manifest.hpp"

namespace rubato::tick {

struct CheckpointEntry {
  Tick tick = 0;
  std::string path;    // of its own folder, in that of the run
  bool whole = false;  // it has its manifest
};

// Those in `folder`, by ascending tick; none if there is no such folder.
[[nodiscard]] std::vector<CheckpointEntry> list_checkpoints(const std::string& folder);

// The folder of the checkpoint of that tick.
[[nodiscard]] std::string checkpoint_path(const std::string& folder, Tick tick);

// What people mean by `path`: the newest whole checkpoint of a run's folder, or the very checkpoint.
// Throws Error if there is none, saying what is there.
[[nodiscard]] CheckpointEntry find_checkpoint(const std::string& path);

// Makes the folder ready for a run that begins with the checkpoint at `resumed`, or at tick 0 if that
// is "": made if it is not there, and what a killed run has left half written in it removed. Throws
// Error if it has whole checkpoints that are not `resumed` or older ones of its run: they are neither
// overwritten nor removed. One process of a job calls it, before any writes.
void prepare_checkpoints(const std::string& folder, const std::string& resumed);

// Removes all but the newest `n_kept` whole ones, and what is not whole and older than the newest.
void remove_old_checkpoints(const std::string& folder, std::size_t n_kept);

}  // namespace rubato::tick

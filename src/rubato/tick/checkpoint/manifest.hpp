#pragma once
// Manifest: the file that makes a checkpoint whole. It is written last, and says what the parts beside
// it are: of which run, at which tick, how many there are and how long. docs/formats.md has the
// bytes of it and of the parts.
//
//   DIR/tick-00000120/part-00000    what node 0 has saved: the versions of its own regions
//   DIR/tick-00000120/part-00001    node 1
//   DIR/tick-00000120/manifest      all of them are whole

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick {

// A parameter of the model as the run had it, set by people or not.
struct CheckpointParameter {
  std::string name;
  std::string text;
  std::uint64_t file_hash = 0;  // of the file that the text names; 0: it names none

  bool operator==(const CheckpointParameter&) const = default;
};

// What of a run's engine people had said, as the options of `rubato run` have it: "policy", "pieces",
// "balance", "epoch", "checkpoint-every". It has no part in the bits.
struct CheckpointSetting {
  std::string name;
  std::string text;

  bool operator==(const CheckpointSetting&) const = default;
};

// One part: a file of its own.
struct CheckpointPart {
  std::uint64_t n_bytes = 0;   // of the file
  std::uint64_t n_pieces = 0;  // of it
  std::uint64_t hash = 0;      // of the hashes of its pieces, in their order

  bool operator==(const CheckpointPart&) const = default;
};

struct Manifest {
  Tick tick = 0;
  Tick ticks = 0;          // at which the run was to end
  Tick ends_at = kNoTick;  // a decision of the stop condition was known; kNoTick: none
  Tick stop_interval = 0;  // of the stop condition; 0: it was not tested
  Tick stop_lag = 0;       // ticks from a test to its effect
  // The tick since which the run has had its parameters: a branch went on there from what others had
  // made, and all that goes on from it is of that branch. 0: all along.
  Tick branch_tick = 0;
  std::uint64_t run_id = 0;        // different for each run
  std::uint64_t build = 0;         // core::Identity of the executable
  std::uint64_t instructions = 0;  // and of the processor
  std::uint64_t seed = 0;          // of all random numbers of the run
  std::string model;
  std::uint32_t model_version = 0;  // App::version()
  std::string program;              // for people: version and commit
  // What a launcher calls all starts of a job (`launch --restarts`); "": nobody starts it again.
  std::string job{};
  std::vector<CheckpointParameter> parameters;
  std::vector<CheckpointPart> parts;  // [n_nodes]
  std::vector<CheckpointSetting> settings{};

  bool operator==(const Manifest&) const = default;
};

// Writes the file durably; it appears whole. Throws Error that names it if it cannot be written.
void write_manifest(const std::string& path, const Manifest& manifest);
// Reads those of versions 1 to 3 too: they have no branch_tick, 1 and 2 no settings, 1 no job. Throws
// Error that names the file: it is not there, no manifest, of another version of the format, cut or
// changed, or its branch_tick is not before its tick.
[[nodiscard]] Manifest read_manifest(const std::string& path);

// CheckpointParameter::file_hash of the file at `path`, which is read block by block; 0 if there is no
// such file.
[[nodiscard]] std::uint64_t hash_of_file(const std::string& path);

// The names of the files of a checkpoint's folder.
[[nodiscard]] std::string manifest_path(const std::string& folder);
[[nodiscard]] std::string part_path(const std::string& folder, std::uint32_t part);

}  // namespace rubato::tick

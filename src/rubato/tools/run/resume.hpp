#pragma once
// Checkpoints of `rubato run`: what its options say, and how a run goes on from one.

#include <memory>
#include <string>
#include <vector>

#include "rubato/tick/checkpoint/checkpoints.hpp"
#include "rubato/tools/model_command.hpp"
#include "rubato/tools/run/runner.hpp"
#include "rubato/tools/run/system_words.hpp"

namespace rubato::tools {

// The texts of the options, as people give them.
struct CheckpointWords {
  // --checkpoint-every: "100" ticks, or a time: "2s", "500ms", "10min"; "": not, or as the run did that
  // goes on; "never"
  std::string every;
  std::string folder;    // --checkpoint; "": a default where `every` is given
  std::string resume;    // --resume; "": the run begins at tick 0
  std::string record{};  // the folder that the run is recorded in, with its checkpoints; "": none
};

void add_checkpoint_options(CLI::App& parser, CheckpointWords& words);

// What a run goes on from, and how it differs from the run that was saved.
struct Resumed {
  // null: the run begins at tick 0. What its manifest says of the end and of a branch is of this run.
  std::unique_ptr<tick::CheckpointSource> source;
  std::string path;                     // of the checkpoint
  std::vector<std::string> warnings{};  // lines for people
  // What a checkpoint of it keeps of how it is run.
  std::vector<tick::CheckpointSetting> settings{};

  // The tick since which the run has had its parameters; 0: all along.
  [[nodiscard]] tick::Tick branch_tick() const noexcept {
    return source ? source->manifest().branch_tick : 0;
  }
  // With it a branch begins: a parameter differs. One that was saved is older than its checkpoints.
  [[nodiscard]] bool begins_branch() const noexcept {
    return source && branch_tick() == source->tick();
  }
};

// Which options people have set themselves.
struct GivenOptions {
  bool seed = false;
  bool ticks = false;
  bool policy = false;
};

// What is run and not what it is run on: a run that goes on takes it from the checkpoint, where people
// have said nothing else.
struct ResumedOptions {
  CheckpointWords& checkpoint;
  SystemWords& system;
  std::uint64_t& seed;
  tick::Tick& ticks;
};

// What `--resume` names, or, in a job that its launcher has started again (kRestartVariable), the
// newest checkpoint that an earlier start of it has written (Manifest::job), if there is one. Sets the parameters that people have
// not set to those of the checkpoint, and `options` likewise: another policy than the saved one has
// none of its pieces, balance and epoch; and the run is saved as it was only where it goes on from
// a folder's newest, not as a branch nor from the very checkpoint, or where people say a folder. Throws Error if it is of another model, or a
// parameter differs that may not; names the parameter and those that may.
[[nodiscard]] Resumed resume_run(ResumedOptions options, ChosenModel& model, GivenOptions given);

// All of the model's, as people have set them or by default.
[[nodiscard]] std::vector<tick::CheckpointParameter> parameters_of(const ChosenModel& model);

// What is to be saved of a run; after resume_run() and when all parameters are set. Throws Error
// (usage) if `words.every` is neither ticks nor a time.
[[nodiscard]] tick::CheckpointOptions checkpoint_options(const CheckpointWords& words,
                                                         const ChosenModel& model,
                                                         const Resumed& resumed, std::uint64_t seed,
                                                         tick::Tick ticks);

// Whether signals have the run saved, by `words` alone.
[[nodiscard]] bool wants_checkpoints(const CheckpointWords& words) noexcept;

// Set by `rubato launch` in the environment of a job that it starts again.
inline constexpr const char* kRestartVariable = "RUBATO_RESTARTED";
// Set by `rubato launch --restarts` in the environment of a job: an id of all of its starts
// (new_run_id()).
inline constexpr const char* kRunIdVariable = "RUBATO_RUN_ID";
// That id, or "".
[[nodiscard]] std::string id_of_job();

}  // namespace rubato::tools

#include "rubato/tools/run/recording.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <ostream>

#include "rubato/core/identity.hpp"
#include "rubato/tools/build_info.hpp"
#include "rubato/tools/run/system_words.hpp"

namespace rubato::tools {
namespace {

namespace fs = std::filesystem;

// The words that this process was started with.
std::vector<std::string> command_of_this_process() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\0', at), all.size());
    words.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::vector<RecordedParameter> recorded_parameters(const ChosenModel& model) {
  std::vector<RecordedParameter> list;
  for (const tick::CheckpointParameter& each : parameters_of(model)) {
    const bool is_set = std::ranges::any_of(
        model.settings(), [&](const auto& setting) { return setting.first == each.name; });
    list.push_back({each.name, each.text, is_set, each.file_hash});
  }
  return list;
}

RecordedBuild this_build() {
  RecordedBuild build;
  build.version = version();
  build.commit = commit();
  build.build_type = build_type();
  build.compiler = compiler();
  build.instruction_sets = instruction_sets();
  build.hash = core::identity_of_this_process(1).build;
  return build;
}

RunFile file_of(const ChosenModel& model, const RunRequest& request, const Resumed& resumed) {
  RunFile file;
  file.model = model.app().name();
  file.model_version = model.app().version();
  file.parameters = recorded_parameters(model);
  file.policy = request.system.empty() ? request.policy.to_string() : request.system;
  file.ticks = request.ticks;
  file.epoch = request.sharing.epoch;
  file.balance = balance_text(request.sharing);
  file.job = id_of_job();
  file.net_seed = request.seed;
  file.profile = request.profile;
  file.is_simulated = request.n_simulated > 0;
  file.is_paced = request.paced;
  file.slowdown = request.slowdowns.all;
  file.slow_nodes = request.slowdowns.nodes_text();
  file.n_nodes = std::max(request.n_simulated, 1U);  // of a job, when its nodes have met
  file.n_cores = file.is_simulated ? request.n_sim_cores : request.n_cores;
  file.command = command_of_this_process();
  std::error_code ignored;
  file.folder = fs::current_path(ignored).string();
  file.trace = request.trace;
  file.build = this_build();
  file.start.checkpoint = resumed.path;
  file.start.begin = resumed.source ? resumed.source->tick() : 0;
  file.start.branch_tick = resumed.branch_tick();
  return file;
}

// The checkpoint is one that has been recorded in this folder.
bool is_of(const std::string& checkpoint, const std::string& folder) {
  std::error_code none;
  return !checkpoint.empty() &&
         fs::equivalent(fs::path(checkpoint).parent_path(), checkpoints_path(folder), none);
}

}  // namespace

void end_record(RunRecord& record, ExitCode code, const std::string& error, std::ostream& err) {
  if (!record.is_open()) return;
  try {
    record.end(code, error);
    if (is_run_folder(record.folder())) err << "recorded in " << record.folder() << std::endl;
  } catch (const Error& second) {
    err << program_invocation_short_name << ": " << second.what() << std::endl;
  }
}

std::string record_folder(const std::string& given, const std::string& model) {
  std::string folder = given;
  while (folder.size() > 1 && folder.ends_with('/'))
    folder.pop_back();
  if (!folder.empty()) return folder;
  const std::string id = id_of_job();
  return default_run_folder(model, id.empty() ? new_run_id() : id);
}

std::unique_ptr<RunRecord> make_record(const std::string& folder, const ChosenModel& model,
                                       RunRequest& request, const Resumed& resumed,
                                       std::uint64_t seed) {
  RecordPlace place{folder};
  tick::OutputOptions& output = request.output;
  place.has_output = output.folder.empty() && (!output.formats.empty() || output.every > 0);
  if (place.has_output) output.folder = output_path(folder);
  place.has_checkpoints = request.checkpoint.folder == checkpoints_path(folder);
  place.may_go_on = is_of(resumed.path, folder);
  place.is_started_again = std::getenv(kRestartVariable) != nullptr;
  RunFile file = file_of(model, request, resumed);
  file.seed = seed;
  return std::make_unique<RunRecord>(std::move(file), std::move(place));
}

RunOutcome run_recorded(tick::App& app, const RunRequest& request, std::ostream& err) {
  if (request.record == nullptr) return run_model(app, request, err);
  RunRecord& record = *request.record;
  try {
    RunOutcome outcome = run_model(app, request, err);
    if (outcome.code != ExitCode::ok) end_record(record, outcome.code, outcome.error, err);
    return outcome;
  } catch (const Error& error) {
    end_record(record, error.code(), error.what(), err);
    throw;
  } catch (const std::bad_alloc&) {
    end_record(record, ExitCode::failed, "not enough memory", err);
    throw;
  }
}

}  // namespace rubato::tools

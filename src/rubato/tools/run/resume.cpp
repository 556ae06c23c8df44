#include "rubato/tools/run/resume.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <CLI/CLI.hpp>

#include "rubato/core/identity.hpp"
#include "rubato/io/number.hpp"
#include "rubato/tick/checkpoint/folder.hpp"
#include "rubato/tools/build_info.hpp"
#include "rubato/tools/record/run_folder.hpp"

namespace rubato::tools {
namespace {

namespace fs = std::filesystem;
using tick::CheckpointParameter;
using tick::Manifest;
using tick::Tick;

// Of the file that a parameter's text names; 0 if it names none.
std::uint64_t hash_of(const tick::Parameters::Parameter& parameter, const std::string& text) {
  return parameter.names_file(text) ? tick::hash_of_file(text) : 0;
}

// The last text that was set, if any was.
const std::string* setting(const ChosenModel& model, const std::string& name) {
  const auto& all = model.settings();
  const auto found =
      std::find_if(all.rbegin(), all.rend(), [&](const auto& each) { return each.first == name; });
  return found == all.rend() ? nullptr : &found->second;
}

std::string changeable(const tick::Parameters& parameters) {
  std::string names;
  for (const auto& parameter : parameters.list()) {
    if (parameter.may_change) names += (names.empty() ? "" : ", ") + parameter.name;
  }
  return names.empty() ? "none may" : "only these may: " + names;
}

// One parameter of the run that was saved, in the run that goes on. Sets it if people have not.
// Returns whether it differs, and the state with it.
bool take_parameter(const CheckpointParameter& saved, ChosenModel& model) {
  const auto& list = model.parameters().list();
  const auto known = std::ranges::find(list, saved.name, &tick::Parameters::Parameter::name);
  if (known == list.end())
    throw Error("has the parameter " + saved.name + ", which is unknown here");
  const std::string* given = setting(model, saved.name);
  if (given == nullptr && saved.text != known->default_text) model.set(saved.name, saved.text);
  const std::string& text = given == nullptr ? saved.text : *given;
  const bool is_file = saved.file_hash != 0 && known->is_file;
  if (is_file ? hash_of(*known, text) == saved.file_hash : known->is_same(text, saved.text))
    return false;
  if (known->may_change) return !known->same_bits;
  const bool same_name = text == saved.text;
  throw Error(
      "--" + saved.name + ": expected " +
          (same_name ? "the file " + text + " as it was for the checkpoint, found another"
                     : "\"" + saved.text + "\" as the checkpoint has it, found \"" + text + "\"") +
          "; this cannot change in a run that goes on, " + changeable(model.parameters()),
      ExitCode::usage);
}

// A longer run would have made stop tests that the saved one had no use for.
void check_tests(const Manifest& saved, Tick ticks) {
  if (saved.stop_interval <= 0 || ticks <= saved.ticks || saved.ends_at != tick::kNoTick) return;
  const Tick first = std::max<Tick>(saved.ticks - saved.stop_lag, 1);
  const Tick untested =
      (first + saved.stop_interval - 1) / saved.stop_interval * saved.stop_interval;
  if (untested > saved.tick || untested + saved.stop_lag >= ticks) return;
  throw Error("--ticks: expected " + std::to_string(untested + saved.stop_lag) +
                  " or less, found " + std::to_string(ticks) +
                  ": the run that was saved was to end at tick " + std::to_string(saved.ticks) +
                  " and did not make the stop test of tick " + std::to_string(untested) +
                  ", which could end a longer one",
              ExitCode::usage);
}

Nanos unit_of(std::string_view text) {
  constexpr std::pair<const char*, Nanos> kUnits[] = {
      {"ms", kMillisecond}, {"s", kSecond}, {"min", 60 * kSecond}, {"h", 3600 * kSecond}};
  for (const auto& [name, nanos] : kUnits) {
    if (text == name) return nanos;
  }
  return 0;
}

void parse_every(const std::string& text, tick::CheckpointOptions& options) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = std::string_view(text).substr(0, digits);
  const std::string_view unit = std::string_view(text).substr(digits);
  if (unit.empty()) {
    if (const auto ticks = io::parse_number<Tick>(number); ticks && *ticks > 0) {
      options.every = *ticks;
      return;
    }
  } else if (const auto value = io::parse_number<double>(number); value && unit_of(unit) > 0) {
    const double nanos = *value * static_cast<double>(unit_of(unit));
    if (nanos >= static_cast<double>(kMillisecond) && nanos < 1e18) {
      options.interval = static_cast<Nanos>(nanos);
      return;
    }
  }
  throw Error(
      "--checkpoint-every: expected a number of ticks, 1 or more, or a time such as 500ms, "
      "2s, 10min or 1h, found \"" +
          text + "\"",
      ExitCode::usage);
}

std::string folder_of(const CheckpointWords& words, const ChosenModel& model,
                      const std::string& resumed) {
  if (!words.folder.empty()) return words.folder;
  if (words.every.empty()) return "";
  if (!words.record.empty()) return checkpoints_path(words.record);
  // Where the checkpoints are that the run goes on from.
  if (!resumed.empty()) {
    const fs::path path(resumed);
    return (path.has_parent_path() ? path.parent_path() : fs::path(".")).string();
  }
  return model.app().name() + ".run/checkpoints";
}

// The newest in `folder` of an earlier start of this job; "" if there is none, or this is the first.
std::string checkpoint_of_job(const std::string& folder, std::vector<std::string>& passed) {
  const std::string job = id_of_job();
  if (job.empty() || std::getenv(kRestartVariable) == nullptr) return "";
  return tick::find_checkpoint_of_job(folder, job, passed);
}

}  // namespace

bool wants_checkpoints(const CheckpointWords& words) noexcept {
  return !words.folder.empty() || !words.every.empty();
}

std::string id_of_job() {
  const char* id = std::getenv(kRunIdVariable);
  return id != nullptr ? id : "";
}

std::vector<CheckpointParameter> parameters_of(const ChosenModel& model) {
  std::vector<CheckpointParameter> list;
  for (const auto& parameter : model.parameters().list()) {
    const std::string* text = setting(model, parameter.name);
    const std::string& value = text == nullptr ? parameter.default_text : *text;
    list.push_back({parameter.name, value, hash_of(parameter, value)});
  }
  return list;
}

void add_checkpoint_options(CLI::App& parser, CheckpointWords& words) {
  const auto add = [&](const char* name, std::string& target, const char* help) {
    // Such as a variable of the shell that is not set: the run would begin at tick 0.
    const auto is_there = [](const std::string& text) {
      return text.empty() ? std::string("expected a name or a time, found \"\"") : std::string();
    };
    parser.add_option(name, target, help)->type_name("")->group("Checkpoints")->check(is_there, "");
  };
  add("--checkpoint-every", words.every,
      "Save the run each N ticks, or each 2s, 10min, 1h, while it goes on");
  add("--checkpoint", words.folder,
      "Folder for that; the newest two are kept. SIGTERM, SIGHUP and SIGUSR1 save the run and end "
      "it with "
      "exit code 75. Default: MODEL.run/checkpoints, or that of --record");
  add("--resume", words.resume,
      "Go on from the newest checkpoint of a folder or of a recorded run, on any number of nodes, "
      "with the same bits; "
      "parameters are those of the checkpoint");
}

Resumed resume_run(const CheckpointWords& words, ChosenModel& model, std::uint64_t& seed,
                   Tick& ticks, GivenOptions given) {
  std::vector<std::string> passed;
  std::string from = checkpoint_of_job(folder_of(words, model, words.resume), passed);
  if (from.empty()) from = words.resume;
  Resumed resumed;
  if (from.empty()) return resumed;
  while (from.size() > 1 && from.ends_with('/'))
    from.pop_back();
  if (is_run_folder(from)) from = checkpoints_path(from);
  resumed.path = tick::find_checkpoint(from).path;
  Manifest saved = tick::read_checkpoint(resumed.path);
  const tick::App& app = model.app();
  if (saved.model != app.name()) {
    throw Error(resumed.path + ": expected a checkpoint of the model " + app.name() +
                ", found one of " + saved.model);
  }
  if (saved.model_version != app.version()) {
    throw Error(resumed.path + ": expected version " + std::to_string(app.version()) + " of " +
                app.name() + ", found " + std::to_string(saved.model_version));
  }
  if (!given.seed) seed = saved.seed;
  if (!given.ticks) ticks = saved.ticks;
  if (model.has("seed")) model.set("seed", std::to_string(seed));
  for (const CheckpointParameter& parameter : saved.parameters) {
    try {
      resumed.is_branch |= take_parameter(parameter, model);
    } catch (const Error& error) {
      throw error.in("--resume " + resumed.path);
    }
  }
  if (resumed.is_branch) {
    saved.ends_at = tick::kNoTick;  // another condition, or another state, may decide otherwise
  } else {
    check_tests(saved, ticks);
  }
  const core::Identity here = core::identity_of_this_process(1);
  if (saved.build != here.build || saved.instructions != here.instructions) {
    resumed.warnings.push_back(
        resumed.path + " was written by another " +
        (saved.build != here.build ? "build, " + saved.program : "kind of processor") +
        ": the bits may differ from those of a run that was not interrupted");
  }
  for (const std::string& damage : passed)
    resumed.warnings.push_back(damage + "; going on from " + resumed.path);
  resumed.source = std::make_unique<tick::CheckpointSource>(resumed.path, std::move(saved));
  return resumed;
}

tick::CheckpointOptions checkpoint_options(const CheckpointWords& words, const ChosenModel& model,
                                           const Resumed& resumed, std::uint64_t seed, Tick ticks) {
  tick::CheckpointOptions options;
  options.folder = folder_of(words, model, resumed.path);
  if (options.folder.empty()) return options;
  if (resumed.is_branch && words.folder.empty() && words.record.empty()) {
    throw Error("--checkpoint: expected a folder for the checkpoints of this branch: in " +
                    options.folder + " those of the run that it leaves would go",
                ExitCode::usage);
  }
  if (!words.every.empty()) parse_every(words.every, options);
  options.on_signal = true;
  options.resumed = resumed.path;
  Manifest& about = options.about;
  about.ticks = ticks;
  about.seed = seed;
  about.model = model.app().name();
  about.model_version = model.app().version();
  about.program = describe_build();
  const core::Identity here = core::identity_of_this_process(1);
  about.build = here.build;
  about.instructions = here.instructions;
  about.job = id_of_job();
  about.parameters = parameters_of(model);
  return options;
}

}  // namespace rubato::tools

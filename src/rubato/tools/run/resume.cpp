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

constexpr std::string_view kNever = "never";

using tick::CheckpointParameter;
using tick::CheckpointSetting;
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
// Returns how it differs, if the state differs with it, else "".
std::string take_parameter(const CheckpointParameter& saved, ChosenModel& model) {
  const auto& list = model.parameters().list();
  const auto known = std::ranges::find(list, saved.name, &tick::Parameters::Parameter::name);
  if (known == list.end())
    throw Error("has the parameter " + saved.name + ", which is unknown here");
  const std::string* given = setting(model, saved.name);
  if (given == nullptr && saved.text != known->default_text) model.set(saved.name, saved.text);
  const std::string& text = given == nullptr ? saved.text : *given;
  const bool is_file = saved.file_hash != 0 && known->is_file;
  if (is_file ? hash_of(*known, text) == saved.file_hash : known->is_same(text, saved.text))
    return "";
  // A file that was edited since, and nobody has said that the run is to be another one.
  if (text == saved.text) {
    throw Error("--" + saved.name + ": expected the file " + text +
                    " as it was for the checkpoint, found another; " +
                    (known->may_change ? "for a branch with what it has now, give it another name"
                                       : "this cannot change in a run that goes on, " +
                                             changeable(model.parameters())),
                ExitCode::usage);
  }
  if (known->may_change) {
    return known->same_bits ? "" : " --" + saved.name + " " + text + " in place of " + saved.text;
  }
  throw Error("--" + saved.name + ": expected \"" + saved.text +
                  "\" as the checkpoint has it, found \"" + text +
                  "\"; this cannot change in a run that goes on, " + changeable(model.parameters()),
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
      "--checkpoint-every: expected a number of ticks, 1 or more, a time such as 500ms, 2s, 10min "
      "or 1h, or never, found \"" +
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

// How the run is run, as its checkpoints keep it.
std::vector<CheckpointSetting> settings_of(const SystemWords& system,
                                           const CheckpointWords& words) {
  std::vector<CheckpointSetting> settings{{"policy", system.policy}};
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) settings.push_back({name, text});
  };
  add("pieces", system.n_pieces ? std::to_string(*system.n_pieces) : "");
  add("balance", system.balance);
  add("epoch", system.epoch ? std::to_string(*system.epoch) : "");
  add("checkpoint-every", words.every);
  return settings;
}

// What of a saved run is taken over, where people have said nothing else.
class TakenOver {
 public:
  TakenOver(const Manifest& saved, std::string path) : saved_(saved), path_(std::move(path)) {}

  void take_system(SystemWords& system) {
    if (const std::string* text = find("policy"); text != nullptr && *text != system.policy) {
      system.policy = *text;
      note("policy", *text);
    }
    take_number("pieces", system.n_pieces);
    take_text("balance", system.balance);
    take_number("epoch", system.epoch);
  }
  void take_interval(CheckpointWords& words) { take_text("checkpoint-every", words.every); }
  // "" if that is nothing.
  [[nodiscard]] std::string words() const {
    return words_.empty() ? "" : "going on from " + path_ + " as it was run:" + words_;
  }

 private:
  [[nodiscard]] const std::string* find(const char* name) const {
    const auto found = std::ranges::find(saved_.settings, name, &CheckpointSetting::name);
    return found == saved_.settings.end() ? nullptr : &found->text;
  }
  void note(const char* name, const std::string& text) {
    words_ += std::string(" --") + name + " " + text;
  }
  void take_text(const char* name, std::string& target) {
    const std::string* text = find(name);
    if (text == nullptr || !target.empty()) return;
    target = *text;
    note(name, *text);
  }
  template <class T>
  void take_number(const char* name, std::optional<T>& target) {
    const std::string* text = find(name);
    if (text == nullptr || target) return;
    const auto number = io::parse_number<T>(*text);
    if (!number) {
      throw Error(path_ + ": --" + name +
                  " of the run that was saved: expected a number, found \"" + *text + "\"");
    }
    target = *number;
    note(name, *text);
  }

  const Manifest& saved_;
  const std::string path_;
  std::string words_;
};

// `may_save`: it is saved as before, if it was.
void take_run(const Manifest& saved, Resumed& resumed, const ResumedOptions& options,
              bool policy_is_given, bool may_save) {
  TakenOver taken(saved, resumed.path);
  if (!policy_is_given) taken.take_system(options.system);
  if (may_save) taken.take_interval(options.checkpoint);
  if (!taken.words().empty()) resumed.warnings.push_back(taken.words());
}

void check_model(const Manifest& saved, const tick::App& app, const std::string& path) {
  if (saved.model != app.name()) {
    throw Error(path + ": expected a checkpoint of the model " + app.name() + ", found one of " +
                saved.model);
  }
  if (saved.model_version != app.version()) {
    throw Error(path + ": expected version " + std::to_string(app.version()) + " of " + app.name() +
                ", found " + std::to_string(saved.model_version));
  }
}

void warn_of_others(const Manifest& saved, Resumed& resumed) {
  const core::Identity here = core::identity_of_this_process(1);
  if (saved.build == here.build && saved.instructions == here.instructions) return;
  resumed.warnings.push_back(
      resumed.path + " was written by another " +
      (saved.build != here.build ? "build, " + saved.program : "kind of processor") +
      ": the bits may differ from those of a run that was not interrupted");
}

// The newest in `folder` of an earlier start of this job; "" if there is none, or this is the first.
std::string checkpoint_of_job(const std::string& folder, std::vector<std::string>& passed) {
  const std::string job = id_of_job();
  if (job.empty() || std::getenv(kRestartVariable) == nullptr) return "";
  return tick::find_checkpoint_of_job(folder, job, passed);
}

}  // namespace

bool wants_checkpoints(const CheckpointWords& words) noexcept {
  return !words.folder.empty() || (!words.every.empty() && words.every != kNever);
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
      "Save the run each N ticks, or each 2s, 10min, 1h, of virtual time with --simulate, while it "
      "goes on; never: not, which a run that --resume goes on with may have done");
  add("--checkpoint", words.folder,
      "Folder for that; the newest two are kept. SIGTERM, SIGHUP and SIGUSR1 save the run and end "
      "it with "
      "exit code 75. Default: MODEL.run/checkpoints, or that of --record");
  add("--resume", words.resume,
      "Go on from the newest checkpoint of a folder or of a recorded run, on any number of nodes, "
      "with the same bits; parameters, policy, pieces, balance, epoch and --checkpoint-every are "
      "those of the run that was saved, unless others are given");
}

Resumed resume_run(ResumedOptions options, ChosenModel& model, GivenOptions given) {
  CheckpointWords& words = options.checkpoint;
  const bool is_never_saved = words.every == kNever;
  if (is_never_saved) words.every.clear();
  std::vector<std::string> passed;
  std::string from = checkpoint_of_job(folder_of(words, model, words.resume), passed);
  if (from.empty()) from = words.resume;
  Resumed resumed;
  resumed.settings = settings_of(options.system, words);
  if (from.empty()) return resumed;
  while (from.size() > 1 && from.ends_with('/'))
    from.pop_back();
  if (is_run_folder(from)) from = checkpoints_path(from);
  resumed.path = tick::find_checkpoint(from).path;
  Manifest saved = tick::read_checkpoint(resumed.path);
  check_model(saved, model.app(), resumed.path);
  if (!given.seed) options.seed = saved.seed;
  if (!given.ticks) options.ticks = saved.ticks;
  if (model.has("seed")) model.set("seed", std::to_string(options.seed));
  std::string changes;
  for (const CheckpointParameter& parameter : saved.parameters) {
    try {
      changes += take_parameter(parameter, model);
    } catch (const Error& error) {
      throw error.in("--resume " + resumed.path);
    }
  }
  const bool is_branch = !changes.empty();
  if (is_branch) {
    saved.ends_at = tick::kNoTick;  // another condition, or another state, may decide otherwise
    saved.branch_tick = saved.tick;
    resumed.warnings.push_back("a branch of " + resumed.path + ", from tick " +
                               std::to_string(saved.tick) + " on:" + changes);
  } else {
    check_tests(saved, options.ticks);
  }
  // The very checkpoint is one to begin with more than once: two newer ones would take its place.
  const bool goes_on_there = !is_branch && resumed.path != from;
  const bool has_folder = !words.folder.empty() || !words.record.empty();
  take_run(saved, resumed, options, given.policy, !is_never_saved && (has_folder || goes_on_there));
  warn_of_others(saved, resumed);
  for (const std::string& damage : passed)
    resumed.warnings.push_back(damage + "; going on from " + resumed.path);
  resumed.settings = settings_of(options.system, words);
  resumed.source = std::make_unique<tick::CheckpointSource>(resumed.path, std::move(saved));
  return resumed;
}

tick::CheckpointOptions checkpoint_options(const CheckpointWords& words, const ChosenModel& model,
                                           const Resumed& resumed, std::uint64_t seed, Tick ticks) {
  tick::CheckpointOptions options;
  options.folder = folder_of(words, model, resumed.path);
  if (options.folder.empty()) return options;
  if (resumed.begins_branch() && words.folder.empty() && words.record.empty()) {
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
  about.branch_tick = resumed.branch_tick();
  about.settings = resumed.settings;
  return options;
}

}  // namespace rubato::tools

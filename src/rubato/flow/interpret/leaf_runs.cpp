#include "rubato/flow/interpret/leaf_runs.hpp"

#include <algorithm>
#include <filesystem>

#include <cxxabi.h>

#include "rubato/flow/in_time.hpp"
#include "rubato/flow/interpret/evaluate.hpp"
#include "rubato/flow/journal/equal_tasks.hpp"

namespace rubato::flow {
namespace {

// Of what a value of that type is; none: of more than one.
Kind kind_of(const tic::Type& type) {
  switch (type.kind) {
    case tic::Kind::integer:
      return Kind::integer;
    case tic::Kind::floating:
      return Kind::floating;
    case tic::Kind::string:
      return Kind::string;
    case tic::Kind::boolean:
      return Kind::boolean;
    case tic::Kind::void_type:
      return Kind::unit;
    case tic::Kind::blob:
      return Kind::blob;
    case tic::Kind::file:
      return Kind::file;
    default:
      return Kind::none;
  }
}

// What decides what a leaf does; nothing, if some of it is only a reference.
std::optional<TaskIdentity> identity_of(const LeafCall& leaf, const LeafFunction& function,
                                        const tic::Callable& callable, const Journal& journal) {
  std::string text = in_call(leaf);
  if (text.ends_with(": ")) text.resize(text.size() - 2);
  TaskIdentity task(text.empty() ? leaf.name : text, journal.temporary_folder());
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < leaf.inputs.size(); ++i) {
    inputs.push_back(leaf.inputs[i]);
    inputs.push_back(Value::integer(static_cast<std::int64_t>(leaf.containers[i].size())));
    for (const auto& [key, value] : leaf.containers[i]) {
      inputs.push_back(key);
      inputs.push_back(value);
    }
  }
  for (const Value& input : inputs) {
    if (input.is_reference()) return {};
    if (input.kind() == Kind::file) task.add_input(input.as_text());
  }
  for (const std::string& file : leaf.files_waited_for) {
    const auto is_it = [&](const Value& input) {
      return input.kind() == Kind::file && input.as_text() == file;
    };
    if (std::ranges::none_of(inputs, is_it)) task.add_input(file);
  }
  for (const Value& output : leaf.outputs) {
    if (output.kind() == Kind::file) task.add_output(output.as_text());
  }
  task.add("leaf");
  task.add(leaf.name);
  for (const Value& input : inputs) {
    task.add(Value::integer(static_cast<std::int64_t>(input.kind())));
    if (input.kind() != Kind::file) task.add(input);
  }
  for (const tic::Parameter& output : callable.outputs)
    task.add(type_text(output.type));
  if (function.library.path.empty()) {
    task.set_code(journal.program(), "program");
  } else {
    task.set_code(function.library,
                  "plugin " + std::filesystem::path(function.library.path).filename().string());
  }
  return task;
}

// What lies in a string, a blob or the name of a file is text for functions.
bool is_text(Kind kind) {
  return kind == Kind::string || kind == Kind::blob || kind == Kind::file;
}
// Whether a script may say `type` of what a function returns as `found`.
bool is_result(const tic::Type& type, Kind found) {
  const Kind expected = kind_of(type);
  if (expected == found || (expected == Kind::floating && found == Kind::integer)) return true;
  return is_text(expected) && is_text(found) && expected != Kind::file && found != Kind::file;
}

// What a leaf sets is of the type that the script says.
void check_output(const tic::Callable& callable, std::size_t i, const Value& value) {
  const tic::Parameter& output = callable.outputs[i];
  const std::string what = "leaf " + callable.name + " set ";
  if (value.kind() == Kind::none)
    throw Error(what + "no value for its output '" + output.name.text + "'");
  const Kind expected = kind_of(output.type);
  const auto are = [&](Kind a, Kind b) { return expected == a && value.kind() == b; };
  const bool converts = are(Kind::floating, Kind::integer) || are(Kind::string, Kind::blob) ||
                        are(Kind::blob, Kind::string);
  if (expected == Kind::none || expected == value.kind() || converts) return;
  throw Error(what + "its output '" + output.name.text + "' to a value of kind " +
              std::string(name_of(value.kind())) + ", expected " + type_text(output.type));
}

// For the others of a team.
Bytes packed(const std::vector<Value>& names) {
  Writer out;
  for (const Value& name : names)
    out.put_string(name.kind() == Kind::file ? name.as_text() : "");
  return out.take();
}
void unpack(const Bytes& bytes, std::vector<Value>& names) {
  Reader in(bytes);
  for (Value& name : names) {
    std::string text = in.get_string();
    if (name.kind() == Kind::file) name = Value::text(Kind::file, std::move(text));
  }
}

bool has_files(const LeafCall& leaf) {
  return std::ranges::any_of(leaf.outputs, [](const Value& v) { return v.kind() == Kind::file; });
}

}  // namespace

void check_signature(const tic::Callable& callable, const LeafFunction& function) {
  if (!function.signature) return;
  const LeafSignature& is = *function.signature;
  const auto wrong = [&](const std::string& found, const std::string& expected) {
    throw Error("leaf " + callable.name + " has " + found + " in the script, expected " + expected +
                ", as its function has");
  };
  const auto many = [](std::size_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  if (callable.inputs.size() != is.inputs.size())
    wrong(many(callable.inputs.size(), "input"), std::to_string(is.inputs.size()));
  for (std::size_t i = 0; i < is.inputs.size(); ++i) {
    const tic::Parameter& input = callable.inputs[i];
    const Kind found = kind_of(input.type);
    if (found == is.inputs[i] || (is_text(found) && is_text(is.inputs[i]))) continue;
    wrong(
        type_text(input.type) + " '" + input.name.text + "' as its input " + std::to_string(i + 1),
        std::string(name_of(is.inputs[i])));
  }
  if (callable.outputs.size() < is.outputs.size())
    wrong(many(callable.outputs.size(), "output"), std::to_string(is.outputs.size()));
  for (std::size_t i = 0; i < callable.outputs.size(); ++i) {
    const tic::Parameter& output = callable.outputs[i];
    const bool is_set = i < is.outputs.size();
    const bool is_void = is.sets_all && output.type.kind == tic::Kind::void_type;
    if (is_set ? is_result(output.type, is.outputs[i])
               : is_void || output.type.kind == tic::Kind::file)
      continue;
    wrong(type_text(output.type) + " '" + output.name.text + "' as its output " +
              std::to_string(i + 1),
          is_set ? std::string(name_of(is.outputs[i])) : "none");
  }
}

void check_outputs(const LeafCall& leaf, const tic::Callable& callable) {
  for (std::size_t i = 0; i < leaf.outputs.size(); ++i)
    check_output(callable, i, leaf.outputs[i]);
}

// --- what it writes

LeafFiles::LeafFiles(LeafCall& leaf) : leaf_(leaf), names_(leaf.outputs) {
  if (!has_files(leaf)) return;
  std::vector<std::string> paths;
  for (const Value& name : names_) {
    if (name.kind() == Kind::file) paths.push_back(name.as_text());
  }
  files_.emplace(paths, OutputOptions{.writer = "the leaf"});
  for (Value& output : leaf.outputs) {
    if (output.kind() == Kind::file)
      output = Value::text(Kind::file, files_->temporary(output.as_text()));
  }
}

void LeafFiles::commit() {
  if (!files_) return;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].kind() != Kind::file) continue;
    const std::string& path = names_[i].as_text();
    Value& output = leaf_.outputs.at(i);
    const bool is_own = output != Value::text(Kind::file, files_->temporary(path));
    if (is_own || files_->was_written_itself(path)) files_->leave(path);
    if (!is_own) output = names_[i];
  }
  files_->commit();
}

// --- what is done already

bool JournalledLeaf::find(const LeafFunction& function, const tic::Callable& callable,
                          std::uint32_t n_cores) {
  if (journal_ == nullptr) return false;
  task_ = flow_.run_native([&] { return identity_of(leaf_, function, callable, *journal_); },
                           {core::NativeTime::brief});
  if (!task_) return false;
  if (n_cores > 0) task_->add(Value::integer(n_cores));
  number_among_equals(*task_);
  const auto done =
      flow_.run_native([&] { return journal_->find(*task_); }, {core::NativeTime::brief});
  if (!done) return false;
  for (std::size_t i = 0; i < leaf_.outputs.size(); ++i) {
    if (leaf_.outputs[i].kind() != Kind::file) leaf_.outputs[i] = done->at(i);
  }
  return true;
}

void JournalledLeaf::add() const {
  const auto is_set = [](const Value& value) { return value.kind() != Kind::none; };
  if (!task_ || !std::ranges::all_of(leaf_.outputs, is_set)) return;
  flow_.run_native([&] { journal_->add(*task_, leaf_.outputs); }, {core::NativeTime::brief});
}

// --- texts

std::string in_call(const LeafCall& leaf) {
  if (leaf.inputs.empty()) return "";
  constexpr std::size_t kArgumentsMost = 8;
  constexpr std::size_t kCharactersMost = 60;
  std::string text = leaf.name + "(";
  for (std::size_t i = 0; i < leaf.inputs.size(); ++i) {
    if (i > 0) text += ", ";
    if (i == kArgumentsMost) {
      text += "..";
      break;
    }
    const Value& input = leaf.inputs[i];
    if (input.kind() == Kind::none) {
      const std::size_t n = leaf.containers[i].size();
      text += std::to_string(n) + (n == 1 ? " member" : " members");
    } else if (input.kind() == Kind::blob) {
      text += std::to_string(input.as_text().size()) + " bytes";
    } else {
      std::string of_input = text_of(input);
      const bool is_long = of_input.size() > kCharactersMost;
      if (is_long) {
        std::size_t n = kCharactersMost;  // not within a character of UTF-8
        while (n > 0 && (static_cast<unsigned char>(of_input[n]) & 0xC0U) == 0x80U)
          --n;
        of_input.resize(n);
      }
      if (is_long) of_input += "..";
      text += is_text(input.kind()) ? "'" + of_input + "'" : of_input;
    }
  }
  return text + "): ";
}

// --- runs

namespace {

// Runs what a user has written: whatever it throws, the task has failed, and no other.
template <class F>
void run_of_user(const F& run) {
  try {
    run();
  } catch (const std::exception&) {
    throw;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    throw Error(kUnknownException);
  }
}

}  // namespace

bool run_leaf(const LeafFunction& function, LeafCall& leaf, const tic::Callable& callable) {
  LeafFiles files(leaf);
  run_of_user([&] { function.run(leaf); });
  // One that was told to end may have done a part of it.
  const bool is_whole = !time_is_up();
  if (!is_whole && files.any()) throw Error("leaf " + leaf.name + " was told to end");
  check_outputs(leaf, callable);
  files.commit();
  return is_whole;
}

void run_leaf_by_team(Flow& flow, TeamTask& team, const LeafFunction& function, LeafCall& leaf,
                      const tic::Callable& callable) {
  JournalledLeaf journalled(leaf, flow);
  bool is_done = false;
  if (flow.journal() != nullptr) {
    if (team.is_first) is_done = journalled.find(function, callable, team.team.size());
    is_done = team.team.broadcast(std::uint32_t{is_done}) != 0;
  }
  std::optional<LeafFiles> files;
  if (!is_done) {
    if (has_files(leaf)) {
      if (team.is_first) flow.run_native([&] { files.emplace(leaf); }, {core::NativeTime::brief});
      const Bytes names = team.team.broadcast(packed(leaf.outputs));
      if (!team.is_first) unpack(names, leaf.outputs);
    }
    team.run_beside(flow, [&] { run_of_user([&] { function.run_by_team(leaf, team.team); }); });
  }
  team.settle();
  if (!team.is_first || is_done) return;
  check_outputs(leaf, callable);
  if (files) flow.run_native([&] { files->commit(); }, {core::NativeTime::brief});
  journalled.add();
}

}  // namespace rubato::flow

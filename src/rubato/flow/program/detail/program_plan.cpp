#include "rubato/flow/program/detail/program_plan.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include <sys/mman.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/flow/program/detail/descriptor.hpp"

namespace rubato::flow::program_detail {
namespace {

using detail::Role;

void put_strings(Writer& out, const std::vector<std::string>& strings) {
  out.put(static_cast<std::uint64_t>(strings.size()));
  for (const std::string& each : strings)
    out.put_string(each);
}
std::vector<std::string> get_strings(Reader& in) {
  std::vector<std::string> strings(in.get<std::uint64_t>());
  for (std::string& each : strings)
    each = in.get_string();
  return strings;
}

// The shortest text that is read as the same number.
std::string text_of(double x) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), x);
  RUBATO_ASSERT(error == std::errc());
  return {digits.data(), end};
}

std::string word_of(const Value& value, const std::string& folder) {
  switch (value.kind()) {
    case Kind::integer:
      return std::to_string(value.as_integer());
    case Kind::floating:
      return text_of(value.as_floating());
    case Kind::boolean:
      return value.as_boolean() ? "true" : "false";
    case Kind::string:
      return value.as_text();
    case Kind::file:
      // Relative to where the node runs, which is not where the program does.
      return folder.empty() ? value.as_text() : std::filesystem::absolute(value.as_text()).string();
    default:
      throw Error("a word of a program: expected text, a number or a file, found " +
                  std::string(name_of(value.kind())));
  }
}

std::string shown_word(const Value& value, const std::string& folder) {
  const Kind kind = value.kind();
  const bool is_word = kind == Kind::integer || kind == Kind::floating || kind == Kind::boolean ||
                       kind == Kind::string || kind == Kind::file;
  return is_word ? word_of(value, folder) : "?";
}

ProgramCall call_of(const ProgramPlan& plan, const std::vector<Value>& values,
                    const OutputNames& names) {
  ProgramCall call;
  call.environment = plan.options.environment;
  call.environment_removed = plan.options.environment_removed;
  call.timeout = plan.options.timeout;
  for (const ProgramPlan::Item& item : plan.items) {
    if (item.role == Role::only_waited_for) continue;
    std::string text = item.is_output ? names.temporary(plan.outputs[item.index])
                                      : word_of(values[item.index], plan.options.folder);
    if (item.role == Role::in)
      call.stdin_path = std::move(text);
    else if (item.role == Role::out)
      call.stdout_path = std::move(text);
    else if (item.role == Role::errors)
      call.stderr_path = std::move(text);
    else if (item.role == Role::part_of_word && !call.words.empty())
      call.words.back() += text;
    else
      call.words.push_back(std::move(text));
  }
  return call;
}

// A file in memory for what a program says, which costs no disk and leaves nothing behind.
class Captured {
 public:
  // `stream` for people.
  explicit Captured(const char* stream)
      : stream_(stream), file_(::memfd_create("output of a program", MFD_CLOEXEC)) {
    if (!file_.open()) {
      throw Error(std::string("memory for the output of a program: ") + std::strerror(errno),
                  ExitCode::failed);
    }
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }
  [[nodiscard]] bool is_too_long() const {
    const off_t n_bytes = ::lseek(file_.get(), 0, SEEK_END);
    return n_bytes < 0 || static_cast<std::size_t>(n_bytes) > kTextBytesMost;
  }
  [[nodiscard]] std::string text() const {
    const off_t n_bytes = ::lseek(file_.get(), 0, SEEK_END);
    if (is_too_long()) {
      throw Error(std::string(stream_) + ", taken as text: expected at most " +
                  std::to_string(kTextBytesMost) + " bytes, found " + std::to_string(n_bytes) +
                  "; give it a file");
    }
    return text_from(0, static_cast<std::size_t>(n_bytes));
  }
  // Of a program that failed, for people.
  [[nodiscard]] std::string last_bytes() const {
    const off_t n_bytes = std::max<off_t>(0, ::lseek(file_.get(), 0, SEEK_END));
    const off_t n = std::min<off_t>(n_bytes, kLastBytes);
    return text_from(n_bytes - n, static_cast<std::size_t>(n));
  }

 private:
  static constexpr off_t kLastBytes = 4096;  // as of what is not captured

  [[nodiscard]] std::string text_from(off_t from, std::size_t n_bytes) const {
    std::string text(n_bytes, '\0');
    std::size_t n_read = 0;
    while (n_read < text.size()) {
      const ssize_t n = ::pread(file_.get(), text.data() + n_read, text.size() - n_read,
                                from + static_cast<off_t>(n_read));
      if (n <= 0) break;
      n_read += static_cast<std::size_t>(n);
    }
    text.resize(n_read);
    return text;
  }

  const char* stream_;
  Descriptor file_;
};

// The standard streams of a program that become values.
class CapturedStreams {
 public:
  explicit CapturedStreams(const ProgramTaskOptions& options) : options_(options) {
    if (options.captures_stdout) out_.emplace("its standard output");
    if (options.captures_stderr) errors_.emplace("its standard error");
  }
  void redirect(ProgramCall& call) const {
    if (out_) call.stdout_path = out_->path();
    if (errors_) call.stderr_path = errors_->path();
    if (options_.text_has_errors) call.stderr_path = call.stdout_path;
    // It lies in memory: what nobody can take is not to fill it.
    if (out_ || errors_) {
      call.has_enough = [this] {
        return (out_ && out_->is_too_long()) || (errors_ && errors_->is_too_long());
      };
    }
  }
  // Throws Error if there is too much.
  void take(PlanEnd& all) const {
    if (all.end.well() || all.end.had_enough) {
      if (out_) all.text = out_->text();
      if (errors_) all.errors = errors_->text();
      return;
    }
    // Nobody gets the texts; why it failed may stand there.
    const auto& said = options_.text_has_errors ? out_ : errors_;
    const std::string last = said && all.end.started ? said->last_bytes() : "";
    if (!last.empty()) all.end.problem += "; the last lines of its errors:\n" + last;
  }

 private:
  const ProgramTaskOptions& options_;
  std::optional<Captured> out_;
  std::optional<Captured> errors_;
};

}  // namespace

Bytes ProgramPlan::to_bytes() const {
  Writer out;
  out.put_string(options.called);
  out.put(static_cast<std::uint8_t>(was_dealt ? 1 : 0));
  out.put(static_cast<std::uint8_t>(options.durable ? 1 : 0));
  out.put(static_cast<std::uint8_t>(options.captures_stdout ? 1 : 0));
  out.put(static_cast<std::uint8_t>(options.text_has_errors ? 1 : 0));
  out.put(static_cast<std::uint8_t>(options.captures_stderr ? 1 : 0));
  out.put(static_cast<std::uint8_t>(options.retry.after_timeout ? 1 : 0));
  out.put(static_cast<std::uint8_t>(options.retry.elsewhere ? 1 : 0));
  out.put(static_cast<std::uint64_t>(failed.size()));
  for (const std::string& problem : failed)
    out.put_string(problem);
  out.put(number);
  out.put(options.retry.n_tries);
  out.put(options.retry.pause);
  out.put(options.retry.growth);
  out.put(options.retry.pause_max);
  out.put(options.timeout);
  out.put_string(options.folder);
  out.put(static_cast<std::uint64_t>(options.environment.size()));
  for (const auto& [name, value] : options.environment) {
    out.put_string(name);
    out.put_string(value);
  }
  put_strings(out, options.environment_removed);
  out.put(static_cast<std::uint64_t>(items.size()));
  for (const Item& item : items) {
    out.put(static_cast<std::uint8_t>(item.role));
    out.put(static_cast<std::uint8_t>(item.is_output ? 1 : 0));
    out.put(item.index);
  }
  put_strings(out, outputs);
  for (const std::int32_t input : paths_from)
    out.put(input);
  return out.take();
}

std::string ProgramPlan::called(ByteView bytes) {
  Reader in(bytes);
  return in.get_string();
}

ProgramPlan ProgramPlan::from_bytes(ByteView bytes) {
  Reader in(bytes);
  ProgramPlan plan;
  plan.options.called = in.get_string();
  plan.was_dealt = in.get<std::uint8_t>() != 0;
  plan.options.durable = in.get<std::uint8_t>() != 0;
  plan.options.captures_stdout = in.get<std::uint8_t>() != 0;
  plan.options.text_has_errors = in.get<std::uint8_t>() != 0;
  plan.options.captures_stderr = in.get<std::uint8_t>() != 0;
  plan.options.retry.after_timeout = in.get<std::uint8_t>() != 0;
  plan.options.retry.elsewhere = in.get<std::uint8_t>() != 0;
  plan.failed.resize(in.get<std::uint64_t>());
  for (std::string& problem : plan.failed)
    problem = in.get_string();
  plan.number = in.get<std::uint64_t>();
  plan.options.retry.n_tries = in.get<std::uint32_t>();
  plan.options.retry.pause = in.get<Nanos>();
  plan.options.retry.growth = in.get<double>();
  plan.options.retry.pause_max = in.get<Nanos>();
  plan.options.timeout = in.get<Nanos>();
  plan.options.folder = in.get_string();
  plan.options.environment.resize(in.get<std::uint64_t>());
  for (auto& [name, value] : plan.options.environment) {
    name = in.get_string();
    value = in.get_string();
  }
  plan.options.environment_removed = get_strings(in);
  plan.items.resize(in.get<std::uint64_t>());
  for (Item& item : plan.items) {
    item.role = static_cast<Role>(in.get<std::uint8_t>());
    item.is_output = in.get<std::uint8_t>() != 0;
    item.index = in.get<std::uint32_t>();
  }
  plan.outputs = get_strings(in);
  for (std::size_t i = 0; i < plan.outputs.size(); ++i)
    plan.paths_from.push_back(in.get<std::int32_t>());
  return plan;
}

void ProgramPlan::take_paths(const std::vector<Value>& values) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (paths_from[i] >= 0)
      outputs[i] = values.at(static_cast<std::size_t>(paths_from[i])).as_text();
  }
}

FileName ProgramPlan::file_of(const std::string& output) const {
  return {options.folder.empty() ? output
                                 : (std::filesystem::path(options.folder) / output).string()};
}

std::string text_of(const ProgramPlan& plan, const std::vector<Value>& values) {
  std::string text;
  for (const ProgramPlan::Item& item : plan.items) {
    if (item.role == Role::only_waited_for) continue;
    if (item.role != Role::part_of_word && !text.empty()) text += ' ';
    if (item.role == Role::in) text += "< ";
    if (item.role == Role::out) text += "> ";
    if (item.role == Role::errors) text += "2> ";
    text += item.is_output ? plan.outputs[item.index]
                           : shown_word(values[item.index], plan.options.folder);
  }
  return text;
}

std::string program_of(const ProgramPlan& plan, const std::vector<Value>& values) {
  if (plan.items.empty()) return "";
  const ProgramPlan::Item& first = plan.items.front();
  const std::string path = first.is_output ? plan.outputs[first.index]
                                           : shown_word(values[first.index], plan.options.folder);
  return std::filesystem::path(path).filename().string();
}

namespace {

// A name that the program is given, from where the node runs.
std::string in_folder(const ProgramPlan& plan, const std::string& path) {
  return plan.options.folder.empty() ? path
                                     : (std::filesystem::path(plan.options.folder) / path).string();
}

}  // namespace

TaskIdentity identity_of(const ProgramPlan& plan, const std::vector<Value>& values,
                         const Journal& journal) {
  TaskIdentity task(text_of(plan, values), journal.temporary_folder());
  bool is_program = true;
  for (const ProgramPlan::Item& item : plan.items) {
    const bool is_named_program =
        std::exchange(is_program, false) && item.role == Role::word && !item.is_output;
    if (item.is_output) continue;
    const Value& value = values[item.index];
    if (value.kind() == Kind::file) {
      task.add_input(value.as_text());
    } else if (item.role == Role::in ||
               (is_named_program && word_of(value, "").find('/') != std::string::npos)) {
      task.add_input(in_folder(plan, word_of(value, "")));
    }
  }
  for (const std::string& output : plan.outputs)
    task.add_output(plan.file_of(output).path);
  task.add("program");
  task.add(plan.options.folder);
  for (const auto& [name, value] : plan.options.environment) {
    task.add(name);
    task.add(value);
  }
  for (const std::string& name : plan.options.environment_removed)
    task.add(name);
  task.add(Value::boolean(plan.options.captures_stdout));
  // Only if so: journals from before that was possible stand for the same tasks.
  if (plan.options.text_has_errors) task.add("text has errors");
  if (plan.options.captures_stderr) task.add("captures stderr");
  for (const ProgramPlan::Item& item : plan.items) {
    const Value& value = item.is_output ? Value::integer(item.index) : values[item.index];
    task.add(Value::integer(static_cast<std::int64_t>(item.role) * 2 + (item.is_output ? 1 : 0)));
    if (value.kind() == Kind::file || value.kind() == Kind::string) {
      task.add(value.as_text());
    } else {
      task.add(value);
    }
  }
  return task;
}

PlanEnd run_plan(Launcher& launcher, const ProgramPlan& plan, const std::vector<Value>& values,
                 const JournalledTask* journalled, bool is_one_try) {
  // Later tries are of what was not found.
  if (journalled != nullptr && plan.failed.empty()) {
    if (const auto done = journalled->journal.find(journalled->task)) {
      PlanEnd all;
      if (plan.options.captures_stdout) all.text = done->front().as_text();
      if (plan.options.captures_stderr) all.errors = done->back().as_text();
      return all;
    }
  }
  const CapturedStreams captured(plan.options);
  Leaf leaf;
  leaf.outputs = plan.outputs;
  leaf.options = {plan.options.folder, plan.options.durable};
  leaf.retry = plan.options.retry;
  if (is_one_try) leaf.retry.n_tries = 1;
  leaf.call = [&](const OutputNames& names) {
    ProgramCall call = call_of(plan, values, names);
    captured.redirect(call);
    return call;
  };
  const auto n_failed = static_cast<std::uint32_t>(plan.failed.size());
  if (n_failed > 0 && !launcher.pause(pause_after(plan.options.retry, n_failed))) {
    PlanEnd stopped;
    stopped.end.stopped = true;
    stopped.end.problem = "it was stopped before its next try";
    return stopped;
  }
  PlanEnd all{run_leaf(launcher, leaf), {}, {}};
  captured.take(all);
  if (journalled != nullptr && all.end.well()) {
    std::vector<Value> kept;
    if (plan.options.captures_stdout) kept.push_back(Value::text(Kind::string, all.text));
    if (plan.options.captures_stderr) kept.push_back(Value::text(Kind::string, all.errors));
    journalled->journal.add(journalled->task, kept);
  }
  return all;
}

}  // namespace rubato::flow::program_detail

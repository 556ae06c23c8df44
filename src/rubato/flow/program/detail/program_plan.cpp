#include "rubato/flow/program/detail/program_plan.hpp"

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
  Captured() : file_(::memfd_create("stdout of a program", MFD_CLOEXEC)) {
    if (!file_.open()) {
      throw Error(std::string("memory for the output of a program: ") + std::strerror(errno),
                  ExitCode::failed);
    }
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }
  [[nodiscard]] std::string text() const {
    const off_t n_bytes = ::lseek(file_.get(), 0, SEEK_END);
    if (n_bytes < 0 || static_cast<std::size_t>(n_bytes) > kTextBytesMost) {
      throw Error("its standard output, taken as text: expected at most " +
                  std::to_string(kTextBytesMost) + " bytes, found " + std::to_string(n_bytes) +
                  "; give it a file with stdout_to()");
    }
    std::string text(static_cast<std::size_t>(n_bytes), '\0');
    std::size_t n_read = 0;
    while (n_read < text.size()) {
      const ssize_t n = ::pread(file_.get(), text.data() + n_read, text.size() - n_read,
                                static_cast<off_t>(n_read));
      if (n <= 0) break;
      n_read += static_cast<std::size_t>(n);
    }
    text.resize(n_read);
    return text;
  }

 private:
  Descriptor file_;
};

}  // namespace

Bytes ProgramPlan::to_bytes() const {
  Writer out;
  out.put(static_cast<std::uint8_t>(was_dealt ? 1 : 0));
  out.put(static_cast<std::uint8_t>(options.durable ? 1 : 0));
  out.put(static_cast<std::uint8_t>(options.captures_stdout ? 1 : 0));
  out.put(static_cast<std::uint8_t>(options.retry.after_timeout ? 1 : 0));
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
  return out.take();
}

ProgramPlan ProgramPlan::from_bytes(ByteView bytes) {
  Reader in(bytes);
  ProgramPlan plan;
  plan.was_dealt = in.get<std::uint8_t>() != 0;
  plan.options.durable = in.get<std::uint8_t>() != 0;
  plan.options.captures_stdout = in.get<std::uint8_t>() != 0;
  plan.options.retry.after_timeout = in.get<std::uint8_t>() != 0;
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
  return plan;
}

FileName ProgramPlan::file_of(const std::string& output) const {
  return {options.folder.empty() ? output
                                 : (std::filesystem::path(options.folder) / output).string()};
}

PlanEnd run_plan(Launcher& launcher, const ProgramPlan& plan, const std::vector<Value>& values) {
  std::optional<Captured> captured;
  if (plan.options.captures_stdout) captured.emplace();
  Leaf leaf;
  leaf.outputs = plan.outputs;
  leaf.options = {plan.options.folder, plan.options.durable};
  leaf.retry = plan.options.retry;
  leaf.call = [&](const OutputNames& names) {
    ProgramCall call = call_of(plan, values, names);
    if (captured) call.stdout_path = captured->path();
    return call;
  };
  PlanEnd all{run_leaf(launcher, leaf), {}};
  if (captured && all.end.well()) all.text = captured->text();
  return all;
}

}  // namespace rubato::flow::program_detail

#include "rubato/tools/record/run_file.hpp"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rubato/io/json.hpp"
#include "rubato/tools/run/report.hpp"

namespace rubato::tools {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<RunStatus, const char*>, 6> kStatuses = {
    {{RunStatus::running, "running"},
     {RunStatus::done, "done"},
     {RunStatus::failed, "failed"},
     {RunStatus::interrupted, "interrupted"},
     {RunStatus::checkpointed, "checkpointed"},
     {RunStatus::lost, "lost"}}};

void put_texts(io::JsonWriter& out, const char* name, const std::vector<std::string>& texts) {
  out.key(name).begin_array();
  for (const std::string& text : texts)
    out.value(text);
  out.end_array();
}

void put_start(io::JsonWriter& out, const RunStart& start) {
  out.field("began", start.began)
      .field("ended", start.ended)
      .field("checkpoint", start.checkpoint)
      .field("begin", start.begin)
      .field("branch_tick", start.branch_tick)
      .field("status", to_string(start.status))
      .field("exit_code", start.exit_code)
      .field("error", start.error);
}

void put_parameters(io::JsonWriter& out, const std::vector<RecordedParameter>& parameters) {
  out.key("parameters").begin_array();
  for (const RecordedParameter& parameter : parameters) {
    out.begin_object()
        .field("name", parameter.name)
        .field("value", parameter.text)
        .field("set", parameter.is_set);
    if (parameter.file_hash != 0) out.field("file_hash", shown_checksum(parameter.file_hash));
    out.end_object();
  }
  out.end_array();
}

void put_build(io::JsonWriter& out, const RecordedBuild& build) {
  out.key("build")
      .begin_object()
      .field("version", build.version)
      .field("commit", build.commit)
      .field("build_type", build.build_type)
      .field("compiler", build.compiler);
  put_texts(out, "instruction_sets", build.instruction_sets);
  out.field("hash", shown_checksum(build.hash)).end_object();
}

void put_hosts(io::JsonWriter& out, const std::vector<RecordedHost>& hosts) {
  out.key("hosts").begin_array();
  for (const RecordedHost& host : hosts) {
    out.begin_object()
        .field("name", host.name)
        .field("system", host.system)
        .field("processor", host.processor)
        .field("processors", host.n_processors)
        .field("memory_bytes", host.memory_bytes);
    out.key("nodes").begin_array();
    for (const std::uint32_t node : host.nodes)
      out.value(node);
    out.end_array().end_object();
  }
  out.end_array();
}

// What is expected of a field, for messages.
template <class T>
struct Expected;
template <>
struct Expected<std::string> {
  static constexpr const char* kText = "a text";
  static bool fits(const json& value) { return value.is_string(); }
};
template <>
struct Expected<bool> {
  static constexpr const char* kText = "true or false";
  static bool fits(const json& value) { return value.is_boolean(); }
};
template <>
struct Expected<double> {
  static constexpr const char* kText = "a number";
  static bool fits(const json& value) { return value.is_number(); }
};
template <std::integral T>
struct Expected<T> {
  static constexpr const char* kText = "a whole number";
  static bool fits(const json& value) {
    return value.is_number_integer() && (std::signed_integral<T> || value.is_number_unsigned());
  }
};

[[noreturn]] void refuse(const std::string& name, const char* expected, const json& found) {
  throw Error("\"" + name + "\": expected " + expected + ", found " +
              (found.is_discarded() ? "nothing" : found.type_name()));
}

const json& at(const json& object, const std::string& name) {
  static const json nothing(json::value_t::discarded);
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

template <class T>
T get(const json& object, const std::string& name) {
  const json& value = at(object, name);
  if (!Expected<T>::fits(value)) refuse(name, Expected<T>::kText, value);
  return value.get<T>();
}

// Of a field that may be missing.
template <class T>
T get_if(const json& object, const std::string& name) {
  return object.contains(name) ? get<T>(object, name) : T{};
}

const json& get_object(const json& object, const std::string& name) {
  const json& value = at(object, name);
  if (!value.is_object()) refuse(name, "an object", value);
  return value;
}

// The items of an array, each an object unless it is of texts or numbers.
const json& get_array(const json& object, const std::string& name, bool of_objects) {
  const json& value = at(object, name);
  if (!value.is_array()) refuse(name, "an array", value);
  for (const json& item : value) {
    if (of_objects && !item.is_object()) refuse(name, "an array of objects", item);
  }
  return value;
}

template <class T>
std::vector<T> get_list(const json& object, const std::string& name) {
  std::vector<T> list;
  for (const json& item : get_array(object, name, false)) {
    if (!Expected<T>::fits(item)) refuse(name, Expected<T>::kText, item);
    list.push_back(item.get<T>());
  }
  return list;
}

std::uint64_t get_hash(const json& object, const std::string& name) {
  const auto text = get<std::string>(object, name);
  std::uint64_t hash = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  if (error != std::errc{} || end != text.data() + text.size() || text.size() != 16) {
    throw Error("\"" + name + "\": expected 16 hexadecimal digits, found \"" + text + "\"");
  }
  return hash;
}

RunStatus get_status(const json& object) {
  const auto text = get<std::string>(object, "status");
  std::vector<std::string> names;
  for (const auto& [status, name] : kStatuses) {
    if (text == name) return status;
    names.emplace_back(name);
  }
  throw Error("\"status\": expected the word for a status, found \"" + text + "\"" +
              did_you_mean(text, names));
}

// Older files tell in place of it whether a branch began at `begin`.
tick::Tick get_branch_tick(const json& object, tick::Tick begin) {
  if (object.contains("branch")) return get<bool>(object, "branch") ? begin : 0;
  const auto branch_tick = get<tick::Tick>(object, "branch_tick");
  if (branch_tick < 0 || branch_tick > begin) {
    throw Error(fmt::format("\"branch_tick\": expected 0 to {}, with which it began, found {}",
                            begin, branch_tick));
  }
  return branch_tick;
}

RunStart get_start(const json& object) {
  RunStart start;
  start.began = get<std::string>(object, "began");
  start.ended = get<std::string>(object, "ended");
  start.checkpoint = get<std::string>(object, "checkpoint");
  start.begin = get<tick::Tick>(object, "begin");
  start.branch_tick = get_branch_tick(object, start.begin);
  start.status = get_status(object);
  start.exit_code = get<int>(object, "exit_code");
  start.error = get<std::string>(object, "error");
  return start;
}

RecordedBuild get_build(const json& object) {
  RecordedBuild build;
  build.version = get<std::string>(object, "version");
  build.commit = get<std::string>(object, "commit");
  build.build_type = get<std::string>(object, "build_type");
  build.compiler = get<std::string>(object, "compiler");
  build.instruction_sets = get_list<std::string>(object, "instruction_sets");
  build.hash = get_hash(object, "hash");
  return build;
}

RecordedHost get_host(const json& object) {
  RecordedHost host;
  host.name = get<std::string>(object, "name");
  host.system = get<std::string>(object, "system");
  host.processor = get<std::string>(object, "processor");
  host.n_processors = get<std::uint32_t>(object, "processors");
  host.memory_bytes = get<std::uint64_t>(object, "memory_bytes");
  host.nodes = get_list<std::uint32_t>(object, "nodes");
  return host;
}

RunFile get_run(const json& object) {
  const int format = get<int>(object, "format");
  if (format != kRunFileFormat) {
    throw Error(fmt::format("expected format {}, found {}", kRunFileFormat, format));
  }
  RunFile run;
  run.model = get<std::string>(object, "model");
  run.model_version = get<std::uint32_t>(object, "model_version");
  for (const json& each : get_array(object, "parameters", true)) {
    run.parameters.push_back({get<std::string>(each, "name"), get<std::string>(each, "value"),
                              get<bool>(each, "set"),
                              each.contains("file_hash") ? get_hash(each, "file_hash") : 0});
  }
  run.policy = get<std::string>(object, "policy");
  run.ticks = get<tick::Tick>(object, "ticks");
  run.epoch = get<tick::Tick>(object, "epoch");
  run.n_pieces = get_if<std::uint32_t>(object, "pieces");
  run.balance = get_if<std::string>(object, "balance");
  run.seed = get<std::uint64_t>(object, "seed");
  run.net_seed = get<std::uint64_t>(object, "net_seed");
  run.profile = get<std::string>(object, "profile");
  run.is_simulated = get<bool>(object, "simulated");
  run.is_paced = get<bool>(object, "paced");
  run.slowdown = get<double>(object, "slowdown");
  run.slow_nodes = get_if<std::string>(object, "slow_nodes");
  run.n_nodes = get<std::uint32_t>(object, "n_nodes");
  run.n_cores = get<std::uint32_t>(object, "n_cores");
  run.command = get_list<std::string>(object, "command");
  run.folder = get<std::string>(object, "folder");
  run.output = get<std::string>(object, "output");
  run.checkpoints = get<std::string>(object, "checkpoints");
  run.trace = get<std::string>(object, "trace");
  run.job = get_if<std::string>(object, "job");
  run.build = get_build(get_object(object, "build"));
  run.mpi = get<std::string>(object, "mpi");
  for (const json& each : get_array(object, "hosts", true))
    run.hosts.push_back(get_host(each));
  run.start = get_start(object);
  for (const json& each : get_array(object, "earlier", true))
    run.earlier.push_back(get_start(each));
  return run;
}

RunFigures get_figures(const json& object) {
  RunFigures figures;
  figures.begin = get<tick::Tick>(object, "begin");
  figures.ticks = get<tick::Tick>(object, "ticks");
  figures.stopped = get<bool>(object, "stopped");
  figures.wall_s = get<double>(object, "wall_s");
  figures.ticks_per_second = get<double>(object, "ticks_per_second");
  figures.waiting_share = get<double>(object, "waiting_share");
  figures.checksum = get<std::string>(object, "checksum");
  figures.n_messages = get<std::uint64_t>(object, "messages");
  figures.n_bytes = get<std::uint64_t>(object, "bytes");
  figures.n_epochs = get<std::int64_t>(object, "epochs");
  figures.bytes_moved = get<std::int64_t>(object, "bytes_moved");
  for (const json& node : get_array(object, "nodes", true)) {
    figures.nodes.push_back({get<std::uint32_t>(node, "node"), get<std::string>(node, "host"),
                             get<double>(node, "waiting")});
  }
  return figures;
}

// What `take` makes of the object of JSON that `text` is; the path stands in front of what is wrong.
template <class Take>
auto parse_object(const std::string& text, const std::string& path, const Take& take) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) {
    throw Error(path + ": expected an object of JSON, found " +
                (object.is_discarded() ? "what is no JSON" : object.type_name()));
  }
  try {
    return take(object);
  } catch (const Error& error) {
    throw error.in(path);
  }
}

}  // namespace

const char* to_string(RunStatus status) noexcept {
  return kStatuses[static_cast<std::size_t>(status)].second;
}

RunStatus status_of(ExitCode code) noexcept {
  switch (code) {
    case ExitCode::ok:
      return RunStatus::done;
    case ExitCode::checkpointed:
      return RunStatus::checkpointed;
    case ExitCode::interrupted:
    case ExitCode::terminated:
      return RunStatus::interrupted;
    case ExitCode::node_lost:
      return RunStatus::lost;
    default:
      return RunStatus::failed;
  }
}

std::string to_json(const RunFile& run) {
  io::JsonWriter out;
  out.begin_object()
      .field("format", kRunFileFormat)
      .field("model", run.model)
      .field("model_version", run.model_version);
  put_start(out, run.start);
  put_parameters(out, run.parameters);
  out.field("policy", run.policy)
      .field("ticks", run.ticks)
      .field("epoch", run.epoch)
      .field("pieces", run.n_pieces)
      .field("balance", run.balance)
      .field("seed", run.seed)
      .field("net_seed", run.net_seed)
      .field("profile", run.profile)
      .field("simulated", run.is_simulated)
      .field("paced", run.is_paced)
      .field("slowdown", run.slowdown);
  if (!run.slow_nodes.empty()) out.field("slow_nodes", run.slow_nodes);
  out.field("n_nodes", run.n_nodes).field("n_cores", run.n_cores);
  put_texts(out, "command", run.command);
  out.field("folder", run.folder)
      .field("output", run.output)
      .field("checkpoints", run.checkpoints)
      .field("trace", run.trace);
  if (!run.job.empty()) out.field("job", run.job);
  put_build(out, run.build);
  out.field("mpi", run.mpi);
  put_hosts(out, run.hosts);
  out.key("earlier").begin_array();
  for (const RunStart& start : run.earlier) {
    out.begin_object();
    put_start(out, start);
    out.end_object();
  }
  out.end_array().end_object();
  return out.text();
}

RunFile parse_run_file(const std::string& text, const std::string& path) {
  return parse_object(text, path, get_run);
}

RunFigures parse_figures(const std::string& text, const std::string& path) {
  return parse_object(text, path, get_figures);
}

}  // namespace rubato::tools

#include "rubato/tools/record/run_tables.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "rubato/io/number.hpp"
#include "rubato/tools/run/report.hpp"

namespace rubato::tools {
namespace {

std::string joined(const std::vector<std::string>& texts, const char* between) {
  std::string all;
  for (const std::string& text : texts)
    all += (all.empty() ? "" : between) + text;
  return all;
}

// "2026-11-21T23:15:00Z" without what says that it is UTC.
std::string shown_time(std::string time) {
  std::ranges::replace(time, 'T', ' ');
  if (time.ends_with('Z')) time.pop_back();
  return time;
}

std::string shown_nodes(const RunFile& run) {
  return std::to_string(run.n_nodes) + (run.is_simulated ? " virtual" : "");
}

// When the run began, though it may have gone on since.
const std::string& beginning_of(const RunFile& run) {
  return run.earlier.empty() ? run.start.began : run.earlier.front().began;
}

// "0-3, 7".
std::string shown_ranges(const std::vector<std::uint32_t>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t end = i + 1;
    while (end < nodes.size() && nodes[end] == nodes[end - 1] + 1)
      ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(nodes[i]);
    if (end - i > 1) text += "-" + std::to_string(nodes[end - 1]);
    i = end;
  }
  return text;
}

// Of what branch it is; "": of none.
std::string shown_branch(const RunStart& start) {
  return start.branch_tick > 0 ? fmt::format("since tick {}", start.branch_tick) : "";
}

std::string shown_start(const RunStart& start) {
  std::string text = std::string(to_string(start.status)) + ", began " + shown_time(start.began);
  if (!start.ended.empty()) text += ", ended " + shown_time(start.ended);
  if (!start.checkpoint.empty())
    text += fmt::format(", from tick {} of {}", start.begin, start.checkpoint);
  if (start.branch_tick > 0) text += ", a branch " + shown_branch(start);
  if (!start.error.empty()) text += ": " + start.error;
  return text;
}

std::string shown_build(const RecordedBuild& build) {
  return fmt::format("{} ({}, {})", build.version, build.commit, build.build_type);
}

// Each kind once.
std::string shown_processors(const RunFile& run) {
  std::vector<std::string> kinds;
  for (const RecordedHost& host : run.hosts) {
    if (std::ranges::find(kinds, host.processor) == kinds.end()) kinds.push_back(host.processor);
  }
  return joined(kinds, "; ");
}

// How it went, and where things are: what facts_of() leaves out.
io::Table summary_table(const RecordedRun& run) {
  const RunFile& file = run.file;
  io::Table table({{"run"}, {name_of_run(run)}});
  const auto row = [&](const std::string& what, const std::string& value) {
    if (!value.empty()) table.row().text(what).text(value);
  };
  row("status", to_string(file.start.status));
  if (file.start.status != RunStatus::running && file.start.status != RunStatus::done)
    row("exit code", file.start.ended.empty() ? "" : std::to_string(file.start.exit_code));
  row("error", file.start.error);
  row("began (UTC)", shown_time(file.start.began));
  row("ended (UTC)", shown_time(file.start.ended));
  if (!file.start.checkpoint.empty())
    row("resumed", fmt::format("at tick {}, from {}", file.start.begin, file.start.checkpoint));
  for (std::size_t i = 0; i < file.earlier.size(); ++i)
    row(fmt::format("start {}", i + 1), shown_start(file.earlier[i]));
  row("folder", run.folder);
  row("called in", file.folder);
  row("command", joined(file.command, " "));
  row("output", file.output);
  row("checkpoints", file.checkpoints);
  row("last of them", last_checkpoint(file));
  row("trace", file.trace);
  return table;
}

bool is_parameter(const RunFact& fact) {
  return fact.what.starts_with("--");
}

io::Table configuration_table(const RunFile& run) {
  io::Table table({{"configuration"}, {"value"}});
  for (const RunFact& fact : facts_of(run)) {
    if (!is_parameter(fact) && !fact.value.empty()) table.row().text(fact.what).text(fact.value);
  }
  return table;
}

io::Table parameters_table(const RunFile& run) {
  io::Table table({{"parameter"}, {"value"}, {"by"}, {"content of the file"}});
  for (const RecordedParameter& parameter : run.parameters) {
    table.row()
        .text(parameter.name)
        .text(parameter.text)
        .text(parameter.is_set ? "the user" : "default")
        .text(parameter.file_hash != 0 ? shown_checksum(parameter.file_hash) : "");
  }
  return table;
}

io::Table hosts_table(const RunFile& run) {
  io::Table table({{"host"}, {"nodes"}, {"processor"}, {"processors"}, {"GB", 1}, {"system"}});
  for (const RecordedHost& host : run.hosts) {
    table.row()
        .text(host.name)
        .text(shown_ranges(host.nodes))
        .text(host.processor)
        .integer(host.n_processors)
        .number(static_cast<double>(host.memory_bytes) / 1e9)
        .text(host.system);
  }
  return table;
}

// Of more than kTableNodesMax nodes, those that waited least, as in the table of a run.
io::Table waiting_bars(const RunFigures& figures, bool unicode) {
  constexpr double kBarLength = 50;
  std::vector<NodeShare> nodes = figures.nodes;
  if (nodes.size() > kTableNodesMax) {
    std::ranges::stable_sort(nodes, {}, &NodeShare::waiting);
    nodes.resize(kTableNodesMax);
  }
  io::Table table({{"node"}, {"waiting", 1, " %"}, {"share of all time"}});
  for (const NodeShare& node : nodes) {
    std::string bar;
    const auto length = std::lround(kBarLength * std::clamp(node.waiting, 0.0, 1.0));
    for (long i = 0; i < length; ++i)
      bar += unicode ? "\u2588" : "#";
    table.row()
        .text(std::to_string(node.node) + (node.host.empty() ? "" : " (" + node.host + ")"))
        .number(100 * node.waiting)
        .text(bar);
  }
  return table;
}

}  // namespace

std::string name_of_run(const RecordedRun& run) {
  const std::filesystem::path path = std::filesystem::absolute(run.folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::vector<RunFact> facts_of(const RunFile& run) {
  std::vector<RunFact> facts;
  const auto add = [&](const std::string& what, const std::string& value) {
    facts.push_back({what, value});
  };
  add("model", run.model);
  add("version of the model", std::to_string(run.model_version));
  for (const RecordedParameter& parameter : run.parameters) {
    add("--" + parameter.name, parameter.text);
    if (parameter.file_hash != 0)
      add("--" + parameter.name + ", content", shown_checksum(parameter.file_hash));
  }
  add("ticks", std::to_string(run.ticks));
  add("policy", run.policy);
  add("nodes", shown_nodes(run));
  add("cores of each", std::to_string(run.n_cores));
  add("seed", std::to_string(run.seed));
  add("seed of the network", std::to_string(run.net_seed));
  add("profile", run.profile);
  add("pieces", run.n_pieces > 0 ? std::to_string(run.n_pieces) : "");
  add("epoch", run.epoch > 0 ? std::to_string(run.epoch) : "");
  add("balance", run.balance != "none" ? run.balance : "");
  add("slowdown", run.slowdown != 1 ? io::number_text(run.slowdown) : "");
  add("slow nodes", run.slow_nodes);
  add("paced", run.is_paced ? "yes" : "");
  add("first tick", std::to_string(run.start.begin));
  add("branch", shown_branch(run.start));
  add("build", shown_build(run.build));
  add("compiler", run.build.compiler);
  add("instruction sets", joined(run.build.instruction_sets, " "));
  add("executable", shown_checksum(run.build.hash));
  add("MPI", run.mpi);
  add("hosts", std::to_string(run.hosts.size()));
  add("processors", shown_processors(run));
  return facts;
}

io::Table runs_table(const std::vector<RecordedRun>& runs) {
  io::Table table({{"name"},
                   {"model"},
                   {"began (UTC)"},
                   {"nodes"},
                   {"policy"},
                   {"ticks"},
                   {"ticks/s", 1},
                   {"waiting", 1, " %"},
                   {"status"}});
  for (const RecordedRun& run : runs) {
    table.row()
        .text(name_of_run(run))
        .text(run.file.model)
        .text(shown_time(beginning_of(run.file)))
        .text(shown_nodes(run.file))
        .text(run.file.policy)
        .integer(run.figures ? run.figures->ticks : run.file.ticks);
    if (run.figures) {
      table.number(run.figures->ticks_per_second).number(100 * run.figures->waiting_share);
    } else {
      table.empty().empty();
    }
    table.text(to_string(run.file.start.status));
  }
  return table;
}

void put_runs(io::JsonWriter& json, const std::vector<RecordedRun>& runs) {
  json.begin_array();
  for (const RecordedRun& run : runs) {
    json.begin_object()
        .field("name", name_of_run(run))
        .field("folder", run.folder)
        .field("model", run.file.model)
        .field("began", beginning_of(run.file))
        .field("simulated", run.file.is_simulated)
        .field("n_nodes", run.file.n_nodes)
        .field("n_cores", run.file.n_cores)
        .field("policy", run.file.policy)
        .field("status", to_string(run.file.start.status))
        .field("exit_code", run.file.start.exit_code)
        .field("ticks", run.figures ? run.figures->ticks : run.file.ticks);
    if (run.figures) {
      json.field("ticks_per_second", run.figures->ticks_per_second)
          .field("waiting_share", run.figures->waiting_share)
          .field("checksum", run.figures->checksum);
    } else {
      json.key("ticks_per_second").null().key("waiting_share").null().key("checksum").null();
    }
    json.end_object();
  }
  json.end_array();
}

std::string run_page(const RecordedRun& run, const io::TableStyle& style) {
  std::string page = summary_table(run).to_text(style) + '\n' +
                     configuration_table(run.file).to_text(style) + '\n' +
                     parameters_table(run.file).to_text(style) + '\n' +
                     hosts_table(run.file).to_text(style);
  if (!run.report.empty()) page += '\n' + run.report;
  if (run.figures && run.figures->nodes.size() > 1)
    page += '\n' + waiting_bars(*run.figures, style.unicode).to_text(style);
  return page;
}

void put_run(io::JsonWriter& json, const RecordedRun& run) {
  json.field("name", name_of_run(run))
      .field("folder", run.folder)
      .key("run")
      .raw(to_json(run.file))
      .field("last_saved", last_checkpoint(run.file))
      .key("figures");
  if (run.figures_json.empty()) {
    json.null();
  } else {
    json.raw(run.figures_json);
  }
}

}  // namespace rubato::tools

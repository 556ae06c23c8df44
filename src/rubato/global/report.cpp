#include "rubato/global/report.hpp"

#include <algorithm>
#include <cstdio>

namespace rubato::global {
namespace {

using core::CoreCounters;

struct Named {
  const char* name;
  std::uint64_t CoreCounters::*value;
};
constexpr Named kNamed[] = {
    {"records_posted", &CoreCounters::n_posted},
    {"records_applied", &CoreCounters::n_applied},
    {"runs", &CoreCounters::n_runs},
    {"blocks", &CoreCounters::n_blocks},
    {"blocks_full", &CoreCounters::n_full_blocks},
    {"bytes", &CoreCounters::n_bytes},
    {"buffers", &CoreCounters::n_buffers},
    {"buffers_full", &CoreCounters::n_full_buffers},
    {"buffers_hurried", &CoreCounters::n_hurried_buffers},
    {"buffers_late", &CoreCounters::n_late_buffers},
    {"room_waits", &CoreCounters::n_room_waits},
    {"combined", &CoreCounters::n_combined},
    {"tasks", &CoreCounters::n_tasks},
    {"switches", &CoreCounters::n_switches},
    {"pooled", &CoreCounters::n_pooled},
    {"pooled_run", &CoreCounters::n_pooled_run},
    {"stolen", &CoreCounters::n_stolen},
    {"given", &CoreCounters::n_given},
    {"begs", &CoreCounters::n_begs},
    {"slices", &CoreCounters::n_slices},
    {"waiting_max", &CoreCounters::n_waiting_max},
    {"queued_max", &CoreCounters::n_queued_max},
};
static_assert(sizeof(CoreCounters) == std::size(kNamed) * sizeof(std::uint64_t));

double share(Nanos part, Nanos whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

double ratio(std::uint64_t a, std::uint64_t b) {
  return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0;
}

void add_row(io::Table& table, const std::string& name, const core::CoreFigures& time,
             const CoreCounters& counters) {
  constexpr double kMega = 1e6;
  table.row().text(name);
  table.number(100 * share(time.busy_total(), time.wall));
  table.number(100 * share(time.sending, time.wall));
  table.number(100 * share(time.idle, time.wall));
  table.number(static_cast<double>(counters.n_posted) / kMega);
  table.number(ratio(counters.n_posted, counters.n_runs));
  table.number(static_cast<double>(counters.n_bytes) / kMega);
  table.integer(static_cast<std::int64_t>(counters.n_buffers));
  table.number(static_cast<double>(counters.n_tasks + counters.n_pooled_run) / kMega);
  table.number(static_cast<double>(counters.n_switches) / kMega);
  table.integer(static_cast<std::int64_t>(counters.n_stolen + counters.n_given));
  table.integer(static_cast<std::int64_t>(counters.n_waiting_max));
}

// Of the buffers that left, those that did because their core had nothing else to do.
std::uint64_t n_idle_buffers(const CoreCounters& counters) {
  const std::uint64_t n_others =
      counters.n_full_buffers + counters.n_hurried_buffers + counters.n_late_buffers;
  return counters.n_buffers - std::min(counters.n_buffers, n_others);
}

void add_traffic_row(io::Table& table, const std::string& name, const CoreCounters& counters) {
  constexpr double kMega = 1e6;
  const auto percent = [&](std::uint64_t n) { return 100 * ratio(n, counters.n_buffers); };
  table.row().text(name);
  table.number(static_cast<double>(counters.n_blocks) / kMega);
  table.number(100 * ratio(counters.n_full_blocks, counters.n_blocks));
  table.number(percent(counters.n_full_buffers));
  table.number(percent(counters.n_hurried_buffers));
  table.number(percent(counters.n_late_buffers));
  table.number(percent(n_idle_buffers(counters)));
  table.number(static_cast<double>(counters.n_combined) / kMega);
  table.integer(static_cast<std::int64_t>(counters.n_room_waits));
  table.integer(static_cast<std::int64_t>(counters.n_queued_max));
  table.integer(static_cast<std::int64_t>(counters.n_stolen));
  table.integer(static_cast<std::int64_t>(counters.n_given));
}

std::string row_name(const core::NodeFigures& node) {
  return std::to_string(node.node) + (node.host.empty() ? "" : " (" + node.host + ")");
}

std::vector<MakeReportPart>& registered_parts() {
  static std::vector<MakeReportPart> all;  // filled before main
  return all;
}

}  // namespace

bool register_report_part(MakeReportPart make) {
  registered_parts().push_back(make);
  return true;
}

std::vector<std::unique_ptr<ReportPart>> make_report_parts() {
  std::vector<std::unique_ptr<ReportPart>> parts;
  for (const MakeReportPart make : registered_parts())
    parts.push_back(make());
  return parts;
}

ProgramFigures gather_figures(core::NodeHost& host, const core::NodeFigures& mine,
                              const CoreCounters& counters) {
  Writer out;
  put(out, mine);
  put(out, counters);
  ProgramFigures all;
  for (const Bytes& bytes : host.gather(out.take())) {
    Reader in(bytes);
    all.nodes.push_back(core::get_node_figures(in));
    all.counters.push_back(core::get_core_counters(in));
  }
  return all;
}

io::Table figures_table(const ProgramFigures& figures) {
  io::Table table({{"node"},
                   {"busy", 0, "%"},
                   {"sending", 0, "%"},
                   {"idle", 0, "%"},
                   {"messages, M", 3},
                   {"a run", 1},
                   {"MB", 1},
                   {"buffers"},
                   {"tasks, M", 3},
                   {"switches, M", 3},
                   {"moved"},
                   {"waiting, most"}});
  core::CoreFigures time;
  CoreCounters counters;
  for (std::size_t i = 0; i < figures.nodes.size(); ++i) {
    const core::NodeFigures& node = figures.nodes[i];
    add_row(table, row_name(node), node.total(), figures.counters[i]);
    time.add(node.total());
    counters.add(figures.counters[i]);
  }
  if (figures.nodes.size() > 1) {
    add_row(table, "all", time, counters);
    table.highlight();
  }
  return table;
}

io::Table traffic_table(const ProgramFigures& figures) {
  io::Table table({{"node"},
                   {"blocks, M", 3},
                   {"full", 0, "%"},
                   {"left full", 0, "%"},
                   {"hurried", 0, "%"},
                   {"late", 0, "%"},
                   {"idle", 0, "%"},
                   {"combined, M", 3},
                   {"room waits"},
                   {"queued, most"},
                   {"stolen"},
                   {"given"}});
  CoreCounters counters;
  for (std::size_t i = 0; i < figures.nodes.size(); ++i) {
    add_traffic_row(table, row_name(figures.nodes[i]), figures.counters[i]);
    counters.add(figures.counters[i]);
  }
  if (figures.nodes.size() > 1) {
    add_traffic_row(table, "all", counters);
    table.highlight();
  }
  return table;
}

observe::TraceCounters named_counters(const CoreCounters& counters) {
  observe::TraceCounters named;
  for (const Named& counter : kNamed)
    named.emplace_back(counter.name, counters.*counter.value);
  named.emplace_back("buffers_idle", n_idle_buffers(counters));
  return named;
}

void put_figures(io::JsonWriter& json, const ProgramFigures& figures) {
  Nanos wall = 0;
  for (const auto& node : figures.nodes)
    wall = std::max(wall, node.wall);
  json.field("wall_s", static_cast<double>(wall) / static_cast<double>(kSecond));
  json.key("nodes").begin_array();
  for (std::size_t i = 0; i < figures.nodes.size(); ++i) {
    const core::NodeFigures& node = figures.nodes[i];
    const core::CoreFigures time = node.total();
    json.begin_object().field("node", node.node).field("host", node.host);
    json.field("cores", node.cores.size());
    json.field("busy_share", share(time.busy_total(), time.wall));
    json.field("sending_share", share(time.sending, time.wall));
    json.field("idle_share", share(time.idle, time.wall));
    json.field("messages_sent", node.n_sent).field("bytes_sent", node.bytes_sent);
    for (const auto& [name, n] : named_counters(figures.counters[i]))
      json.field(name, n);
    json.end_object();
  }
  json.end_array();
}

io::HtmlReport figures_page(const std::string& title, const ProgramFigures& figures) {
  io::HtmlReport page(title);
  Nanos wall = 0;
  std::size_t n_cores = 0;
  for (const core::NodeFigures& node : figures.nodes) {
    wall = std::max(wall, node.wall);
    n_cores += node.cores.size();
  }
  char seconds[40];
  std::snprintf(seconds, sizeof seconds, "%.3f s", static_cast<double>(wall) / kSecond);
  const auto many = [](std::size_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  page.paragraph(std::string(seconds) + " on " + many(figures.nodes.size(), "node") + " with " +
                 many(n_cores, "core") + " in all.");
  page.table(figures_table(figures), "Where the time of the cores went, and what they sent.");
  page.table(traffic_table(figures),
             "How full blocks of messages were, why buffers left, and how tasks moved.");
  return page;
}

observe::TraceText trace_text(const ProgramFigures& figures) {
  observe::TraceText text{"program", figures.nodes, {{"turn", "", "waiting tasks", true}}};
  for (const CoreCounters& of_node : figures.counters)
    text.counters.push_back(named_counters(of_node));
  return text;
}

}  // namespace rubato::global

#pragma once
// What a program has done and where its time went: by node, for people and for programs.
//
// run_main() writes it where the environment says:
//   RUBATO_REPORT=1           a table on stderr, at the end
//   RUBATO_REPORT=FILE.html   a page for people
//   RUBATO_JSON=FILE          one object, "-" for stdout
//   RUBATO_TRACE=FILE         each turn of each core and the messages between nodes (observe/trace.hpp)

#include <memory>
#include <string>
#include <vector>

#include "rubato/core/node_host.hpp"
#include "rubato/global/program.hpp"
#include "rubato/io/html_report.hpp"
#include "rubato/io/json.hpp"
#include "rubato/io/table.hpp"
#include "rubato/observe/trace.hpp"

namespace rubato::global {

struct ProgramFigures {
  std::vector<core::NodeFigures> nodes;      // [n_nodes]
  std::vector<core::CoreCounters> counters;  // of the cores of each node
};

// Collective, between runs: those of all nodes at node 0, nothing elsewhere.
[[nodiscard]] ProgramFigures gather_figures(core::NodeHost& host, const core::NodeFigures& mine,
                                            const core::CoreCounters& counters);

// A row for each node, and one of all: shares of the cores' time, messages and tasks.
[[nodiscard]] io::Table figures_table(const ProgramFigures& figures);
// The same: blocks of messages, of how many percent of the buffers it was what that made them leave (full,
// hurried by a task that waits, the deadline, an idle core), queues, and tasks between cores and nodes.
[[nodiscard]] io::Table traffic_table(const ProgramFigures& figures);
// Into an open object: `wall_s`, and of each node `nodes` with all counters.
void put_figures(io::JsonWriter& json, const ProgramFigures& figures);
// All counters by name; a name lives for ever.
[[nodiscard]] observe::TraceCounters named_counters(const core::CoreCounters& counters);
// A page that begins with the table.
[[nodiscard]] io::HtmlReport figures_page(const std::string& title, const ProgramFigures& figures);

// What a layer above adds to what is said of a program: what it has seen of the run itself.
class ReportPart {
 public:
  ReportPart() = default;
  ReportPart(const ReportPart&) = delete;
  ReportPart& operator=(const ReportPart&) = delete;
  virtual ~ReportPart() = default;

  // Before the host of a node is made, if there may be a report: the host's observer, which shows
  // `next` all that it sees, if there is one. `trace`, if there is one, is shown the rest. All
  // outlive the host.
  [[nodiscard]] virtual core::Observer* observer(core::Observer* next, observe::Trace* trace) = 0;
  // On each node, before the run, if there will be one.
  virtual void attach(core::MessageEngine& engine, const core::JobShape& shape) = 0;
  // After the run, on every node; and what all of them packed, on the node that speaks.
  [[nodiscard]] virtual Bytes pack() const = 0;
  virtual void take(const std::vector<Bytes>& parts) = 0;
  // On that node, then.
  [[nodiscard]] virtual std::string text(const io::TableStyle& style) const = 0;
  virtual void put(io::JsonWriter& json) const = 0;
  virtual void add(io::HtmlReport& page) const = 0;
  // What the run ends with, on that node, after all that was said. Throws Error if it was not good.
  virtual void check() const = 0;
};
using MakeReportPart = std::unique_ptr<ReportPart> (*)();

// Before main, by static objects: each program of run_main has such a part. Returns true.
bool register_report_part(MakeReportPart make);
[[nodiscard]] std::vector<std::unique_ptr<ReportPart>> make_report_parts();

// What a trace of a program says beside its events.
[[nodiscard]] observe::TraceText trace_text(const ProgramFigures& figures);

}  // namespace rubato::global

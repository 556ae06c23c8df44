#pragma once
// What a program has done and where its time went: by node, for people and for programs.
//
// run_main() writes it where the environment says:
//   RUBATO_REPORT=1           a table on stderr, at the end
//   RUBATO_JSON=FILE          one object, "-" for stdout
//   RUBATO_TRACE=FILE         each turn of each core and the messages between nodes (observe/trace.hpp)

#include <string>
#include <vector>

#include "rubato/core/node_host.hpp"
#include "rubato/global/program.hpp"
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
// An object: `wall_s`, and of each node `nodes` with all counters.
void put_figures(io::JsonWriter& json, const ProgramFigures& figures);

// What a trace of a program says beside its events.
[[nodiscard]] observe::TraceText trace_text(const ProgramFigures& figures);

}  // namespace rubato::global

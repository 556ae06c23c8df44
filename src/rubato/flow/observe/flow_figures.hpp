#pragma once
// FlowFigures: what is told of the tasks of a run, of all cores: for people and for programs.

#include <string>
#include <vector>

#include "rubato/flow/observe/core_watch.hpp"
#include "rubato/io/html_report.hpp"
#include "rubato/io/json.hpp"
#include "rubato/io/table.hpp"

namespace rubato::flow {

struct CoreUseFigures {
  CoreId core = 0;
  observe::UseOverTime own;     // what the core itself did
  observe::UseOverTime beside;  // native work and programs that it started; several at once count
};

struct FlowFigures {
  TaskCounts counts;
  std::vector<NameTotals> names;      // what took most first
  std::vector<SlowTask> slowest;      // the slowest first; kSlowestKept at most
  std::vector<CoreUseFigures> cores;  // [n_cores], all bins of one width
  Nanos end = 0;                      // the last time that is known of

  // Of NodeWatch::pack() of all nodes.
  [[nodiscard]] static FlowFigures of(const std::vector<Bytes>& parts);
};

// A row for each name, kNamesShown at most; and for each of the slowest tasks.

inline constexpr std::size_t kNamesShown = 40;
[[nodiscard]] io::Table names_table(const FlowFigures& figures);
[[nodiscard]] io::Table slowest_table(const FlowFigures& figures);

// The fields `names`, `slowest` and `use`, into an open object.
void put_figures(io::JsonWriter& json, const FlowFigures& figures);

// The tables, and a picture of each core over time, into a report.
void add_figures(io::HtmlReport& report, const FlowFigures& figures);

// Of one core, as NodeWatch::pack() has them.
void put_core(Writer& out, CoreId core, const CoreWatch& watch, const observe::UseOverTime& own);

}  // namespace rubato::flow

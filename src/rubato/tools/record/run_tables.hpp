#pragma once
// Recorded runs for people and programs: a table of many, a page of one.

#include <string>
#include <vector>

#include "rubato/io/table.hpp"
#include "rubato/tools/record/run_folder.hpp"

namespace rubato::tools {

// The last name of its path.
[[nodiscard]] std::string name_of_run(const RecordedRun& run);

// What a run was started with and on, a row each, in an order for people; parameters are "--NAME".
struct RunFact {
  std::string what;
  std::string value;
};
[[nodiscard]] std::vector<RunFact> facts_of(const RunFile& run);

// A row for each run.
[[nodiscard]] io::Table runs_table(const std::vector<RecordedRun>& runs);
// An array of an object each.
void put_runs(io::JsonWriter& json, const std::vector<RecordedRun>& runs);

// Facts, parameters and machines, the report of its end, and a bar for what each node waited.
[[nodiscard]] std::string run_page(const RecordedRun& run, const io::TableStyle& style);
// Fields of an open object: name, folder, run (run.json, with the status as it is now), last_saved and
// figures (figures.json, or null).
void put_run(io::JsonWriter& json, const RecordedRun& run);

}  // namespace rubato::tools

#pragma once
// What a run says when it is done: a table and a result for people, one line of JSON for programs.

#include <string>

#include "rubato/io/table.hpp"
#include "rubato/tools/model_command.hpp"
#include "rubato/tools/run/runner.hpp"

namespace rubato::tools {

// The table of nodes and the lines below it, for standard error.
[[nodiscard]] std::string report_of_run(const RunRequest& request, const RunOutcome& outcome,
                                        const io::TableStyle& style);
// What the model has found, if that is something, and the line with the checksum.
[[nodiscard]] std::string result_of_run(const ChosenModel& model, const RunRequest& request,
                                        const RunOutcome& outcome, const io::TableStyle& style);
// Without a line feed.
[[nodiscard]] std::string json_of_run(const ChosenModel& model, const RunRequest& request,
                                      const RunOutcome& outcome);

}  // namespace rubato::tools

#pragma once
// `run --record`: what is known of a run before it begins, and its record around it.

#include <memory>
#include <string>

#include "rubato/tools/model_command.hpp"
#include "rubato/tools/record/run_record.hpp"
#include "rubato/tools/run/resume.hpp"
#include "rubato/tools/run/runner.hpp"

namespace rubato::tools {

// The folder that people mean by `given`, "" for a new one. On the nodes of a job without an id_of_job()
// new ones differ, until the record begins.
[[nodiscard]] std::string record_folder(const std::string& given, const std::string& model);

// The record of a run whose parameters are all set, in `folder`. Has the files that people have given
// no folder for go there: sets request.output.folder if a format or an interval is set.
[[nodiscard]] std::unique_ptr<RunRecord> make_record(const std::string& folder,
                                                     const ChosenModel& model, RunRequest& request,
                                                     const Resumed& resumed, std::uint64_t seed);

// The run has ended in another way than well; says so on `err` if that cannot be written. Nothing, if the
// record has ended already.
void end_record(RunRecord& record, ExitCode code, const std::string& error, std::ostream& err);

// run_model(), and whatever ends the run in another way than well ends the record.
[[nodiscard]] RunOutcome run_recorded(tick::App& app, const RunRequest& request, std::ostream& err);

}  // namespace rubato::tools

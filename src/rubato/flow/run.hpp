#pragma once
// Running a flow, and what came of it.
//
//   int main() { return rubato::flow::run_main([] { ... async(...)(...); ... }); }
//
// A flow is a part of a program on global memory: run() is called by one of its tasks, and by one
// at a time. It returns when nothing is left to do anywhere. Then rules that still wait will wait for
// ever: what they wait for is said, with the places in the program. (A task that blocks in get() is
// open work: if nothing else goes on, the runtime says that the job is in a deadlock, and for what
// each get() waits.) No handle outlives it.

#include <functional>
#include <string>
#include <vector>

#include "rubato/flow/flow.hpp"
#include "rubato/global/program.hpp"

namespace rubato::flow {

struct FlowResult {
  FlowCounters counters;  // of all cores
  // Tasks that failed, and those that did not run since what they needed was never set
  // (counters.n_never_set); not those that needed what these were to set.
  std::uint64_t n_failures = 0;
  std::vector<std::string> failures;  // the first hundred, in the order of the cores
  std::vector<std::string> waiting;   // what waits for ever, and for what: as many
  std::uint64_t n_waiting = 0;        // of which there are
  std::uint64_t n_rules_waiting = 0;  // of them, rules that were never run, since they wait
  std::uint64_t n_data_awaited = 0;   // for so many data that are not set
  // Data that nobody has freed, of all cores, and where they were made. In a run in which nothing
  // waits for ever, these are leaks: somebody keeps handles. Rules that wait hold what they wait for
  // and what they would set.
  std::uint64_t n_data_held = 0;
  HeldPlaces held;
  // Data that nobody has set, and nobody needed (counters.n_unset): no failure.
  HeldPlaces unset;
  JournalCounts journal;  // of all nodes
  // What a failed run ends with: some_tasks_failed, or what main itself threw.
  ExitCode code = ExitCode::some_tasks_failed;

  // Of rules that ran, those that are tasks to people.
  [[nodiscard]] std::uint64_t n_tasks() const noexcept { return counters.n_run - counters.n_steps; }
  // Tasks that did not run since they need what failed or was never set; those that are failures
  // themselves are not among them.
  [[nodiscard]] std::uint64_t n_not_run() const noexcept;
  // "3 tasks, 1 failed, 0 not run", and what is no task to people where it did not run.
  [[nodiscard]] std::string summary() const;
  [[nodiscard]] bool is_good() const noexcept { return n_failures == 0 && waiting.empty(); }
  // What failed and what waits, for people; "" if the run was good.
  [[nodiscard]] std::string text() const;
  // What leaks, in one line: "3 data were not freed: 2 futures (integer) of a.cpp:12, ..."; "" if
  // nothing does, or if rules wait for ever.
  [[nodiscard]] std::string leak_text() const;
  // What was never set, and not needed, for people: "2 data were never set, and nothing needed them:"
  // and a line for each place; "" if there is none.
  [[nodiscard]] std::string unset_text() const;
  // Throws Error with text(): its code if something failed, `failed` if something only waits for
  // ever. Nothing if the run was good.
  void check() const;

  // That of other cores, behind these; and how it travels.
  void add(const FlowResult& other);
  void put(Writer& out) const;
  [[nodiscard]] static FlowResult get(Reader& in);
};

struct RunOptions {
  Workers workers = {};         // of types of work (pool/workers.hpp)
  JournalOptions journal = {};  // what ends well is written down, and not done again (journal.hpp)
};

// Runs `main` as a part of the calling task, and waits for all that it started. What main throws is
// a failure like that of any task, and its code that of the run. Called by a task.
FlowResult run(const std::function<void()>& main, const RunOptions& options = {});

// Of a run that did not end, by a signal or since a node was lost: what had failed on this node so far,
// and what had run. Behind that run, whose engine it was.
[[nodiscard]] FlowResult result_so_far(core::MessageEngine& engine, const core::JobShape& shape);

// Of this run. Throws Error, with the nearest name, if there are no workers of it.
[[nodiscard]] WorkType work_type(std::string_view name);

// The whole main() of a program: run() on the cores of this job, and check(). See global::run_main.
// In the environment, RUBATO_WORKERS names its workers, as "gpu=1/node licence=4", and
// RUBATO_JOURNAL or RUBATO_RESUME the folder of its journal.
[[nodiscard]] int run_main(const std::function<void()>& main,
                           const global::ProgramOptions& options = {},
                           SourcePlace at = SourcePlace::here());

}  // namespace rubato::flow

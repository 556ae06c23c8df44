#pragma once
// run_main: the whole main() of a program on global memory.
//
//   int main() {
//     return rubato::global::run_main([] { ... forall(...); ... });
//   }
//
// On a laptop it uses the cores of the machine (RUBATO_CORES for another number); under `rubato
// launch`, mpirun or srun the job has a node for each process, and the same bits come out.
// RUBATO_REPORT=1 shows at the end what all did, RUBATO_REPORT=FILE.html, RUBATO_JSON and
// RUBATO_TRACE name files for it (report.hpp).

#include <functional>

#include "rubato/global/report.hpp"

namespace rubato::global {

// Collective: makes the job, runs `main` as a task on core 0, and ends when all that it started
// has. Returns the exit code for the process; an Error, of any node, is said once, on stderr.
[[nodiscard]] int run_main(const std::function<void()>& main, const ProgramOptions& options = {},
                           SourcePlace at = SourcePlace::here());

}  // namespace rubato::global

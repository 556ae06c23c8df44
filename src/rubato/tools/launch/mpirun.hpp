#pragma once
// The words of an mpirun call that starts a job anywhere: as root, in a container, with more nodes
// than cores. Nothing is started here.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/tools/launch/hosts.hpp"

namespace rubato::tools {

enum class MpiKind { open_mpi, mpich };

struct JobPlan {
  MpiKind mpi = MpiKind::open_mpi;
  std::string launcher;  // path of its mpirun
  std::uint32_t n_nodes = 1;
  std::vector<Host> hosts;                    // empty: this machine
  std::vector<std::string> launcher_options;  // passed to mpirun as they are
  std::vector<std::string> program;
};

// "openmpi" or "mpich" as an MPI; "" chooses the one that is installed, Open MPI first. Throws
// Error naming the packages if it is not installed, or the nearest name if there is no such MPI.
// Fills in mpi and launcher.
void choose_mpi(std::string_view name, JobPlan& plan);

// All words of the call, the launcher first.
[[nodiscard]] std::vector<std::string> mpirun_words(const JobPlan& plan);

}  // namespace rubato::tools

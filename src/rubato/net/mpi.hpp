#pragma once
// The fabric of a job that an MPI launcher started. The MPI stands in a plugin that is loaded here,
// so one build of a program serves no MPI, Open MPI and MPICH, and a laptop needs none of them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rubato/net/fabric.hpp"

namespace rubato::net {

enum class Mpi : std::uint8_t { openmpi, mpich };

// What the environment says about who started this process.
struct Launch {
  bool by_launcher = false;       // else this process is a job of its own
  std::vector<Mpi> candidates;    // MPIs that fit the launcher, the best first
  std::uint32_t n_processes = 0;  // 0 if the launcher does not say
  std::string evidence;           // e.g. "OMPI_COMM_WORLD_SIZE=4", for messages
};

using GetEnvironment = std::function<const char*(const char*)>;

// Recognises mpirun of Open MPI and of MPICH, and srun. RUBATO_MPI=openmpi|mpich decides instead,
// and RUBATO_MPI=none says that there is no launcher. Throws Error if RUBATO_MPI is another word.
[[nodiscard]] Launch detect_launch(const GetEnvironment& get);
[[nodiscard]] Launch detect_launch();  // from this process's environment

// Loads the plugin of the launch's MPI and joins the job. Looks in RUBATO_PLUGIN_DIR, beside the
// program, in ../lib/rubato, and where this library was built or installed. To be called once a
// process, by all processes of the job; blocks until all have. The fabric refuses to send above
// `pair_bytes_max` bytes that are on their way to one node. Destroying it is collective too. Throws
// Error if there is no plugin (and says what to install), or if the launcher started several
// processes and MPI finds itself alone (N singletons instead of a job).
// REQUIRES: launch.by_launcher.
[[nodiscard]] std::unique_ptr<Fabric> load_mpi_fabric(const Launch& launch,
                                                      std::size_t pair_bytes_max);

// "Open MPI", "MPICH".
[[nodiscard]] const char* name_of(Mpi mpi) noexcept;

// The MPI, and its version, whose job this process has joined by load_mpi_fabric(); "" if none. As
// much of the process as MPI itself.
[[nodiscard]] std::string joined_mpi();

// Where the plugin of `mpi` is, or "" if it is nowhere; `searched` (may be null) gets the folders.
[[nodiscard]] std::string find_mpi_plugin(Mpi mpi, std::vector<std::string>* searched = nullptr);

}  // namespace rubato::net

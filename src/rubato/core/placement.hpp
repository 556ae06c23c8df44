#pragma once
// Placement: which processors this node may use, and where its core threads run.

#include <cstdint>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/net/fabric.hpp"

namespace rubato::core {

// The processors that this process may run on, one of each physical core first, its siblings after
// them.
[[nodiscard]] std::vector<std::uint32_t> allowed_processors();

// The nodes of a job that share this machine.
struct Neighbourhood {
  std::uint32_t n_nodes = 1;  // on this machine, this one included
  std::uint32_t index = 0;    // of this node among them
};

// From what the launcher says (Open MPI, MPICH, Slurm), or else from the host names of the nodes
// next to this one. The latter is right if nodes were placed in blocks; if it finds none, it may be
// wrong, and `is_certain` would be false in a job of several nodes without a launcher's word.
struct NeighbourhoodGuess : Neighbourhood {
  bool is_certain = false;
};
[[nodiscard]] NeighbourhoodGuess find_neighbourhood(const net::Fabric& fabric);

// How many cores a node uses if nobody says: its share of the machine, at least one.
[[nodiscard]] std::uint32_t default_n_cores(const Neighbourhood& neighbourhood);

// The processor for each of `n_cores` cores of this node, or nothing where the kernel places them
// better: if cores would have to share one, or if the job leaves half of the processors to others,
// which may be jobs that would choose the same ones.
[[nodiscard]] std::vector<std::uint32_t> place_cores(const std::vector<std::uint32_t>& processors,
                                                     const Neighbourhood& neighbourhood,
                                                     std::uint32_t n_cores);

// Binds the calling thread. False if the kernel refuses, which harms speed alone.
bool pin_thread(std::uint32_t processor) noexcept;

// Lets short naps of the calling thread end on time: the kernel adds 50 us otherwise.
void lower_timer_slack() noexcept;

// Makes the calling thread a batch thread of the kernel: it still gets its share of a processor,
// but does not take the processor from a thread in the middle of its work when it wakes. Where
// nodes share processors, each such switch costs a cache. Does nothing on a processor of its own.
void run_in_batches() noexcept;

}  // namespace rubato::core

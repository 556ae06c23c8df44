#pragma once
// make_fabric: the fabric that fits where the program runs, wearing a latency profile if it is told
// to.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rubato/net/fabric.hpp"

namespace rubato::net {

struct FabricOptions {
  // A profile in its text form (profile.hpp) that the fabric wears in real time; "" takes that of
  // the environment: RUBATO_PROFILE, else none.
  std::string profile;
  // Of the profile's draws; 0 takes RUBATO_SEED, else 1. The same on all nodes.
  std::uint64_t seed = 0;
  // Bytes on their way from one node to another above which try_send refuses.
  std::size_t pair_bytes_max = std::size_t{64} << 20;
};

// Local without a launcher, else that of the launcher's MPI (mpi.hpp). Under a launcher it is
// collective, may be called once a process, and blocks until all nodes are there. Throws Error for
// a bad profile, or as load_mpi_fabric() does.
[[nodiscard]] std::unique_ptr<Fabric> make_fabric(const FabricOptions& options = {});

}  // namespace rubato::net

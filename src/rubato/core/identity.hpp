#pragma once
// Identity: are all nodes of a job the same program on machines that compute the same bits?
//
// Nodes compare it before anything else, because a node of another build would not fail but compute
// something else: handler ids would mean other functions, and a mathematical library picks its code
// by the processor, so that the last bit of a sine can differ between two machines of one job.

#include <cstdint>
#include <string>

namespace rubato::core {

struct Identity {
  std::uint64_t build = 0;         // of the executable file's contents
  std::uint64_t instructions = 0;  // the instruction sets that change floating-point code
  std::uint64_t handlers = 0;      // of the table of message handlers (message/handlers.hpp)
  std::uint64_t n_cores = 0;       // of the node

  bool operator==(const Identity&) const = default;
};

// This process's, with the handlers registered so far. Reads the executable once.
[[nodiscard]] Identity identity_of_this_process(std::uint32_t n_cores);

// What distinguishes two identities, for people: "another build (1f.. and 2e..)", or "".
[[nodiscard]] std::string difference(const Identity& a, const Identity& b);

}  // namespace rubato::core

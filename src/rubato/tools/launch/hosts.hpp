#pragma once
// The machines of a job: those of a hostfile, and which of them can be reached.

#include <cstdint>
#include <string>
#include <vector>

namespace rubato::tools {

struct Host {
  std::string name;
  std::uint32_t n_slots = 1;
  std::string place = "";  // "FILE:LINE" of a hostfile
};

// The hosts of a hostfile: one a line, `NAME [slots=N]` or `NAME:N`, "#" starts a comment. A name
// that comes again adds slots. Throws Error with file and line; an empty file is an error.
[[nodiscard]] std::vector<Host> read_hostfile(const std::string& path);

// Throws Error with file and line for the first host whose name neither the resolver nor ssh's
// configuration knows: a launcher would wait for it without a word. Blocks for some seconds at
// most.
void check_hosts(const std::vector<Host>& hosts);

// Whether ssh reaches each host, 32 asked at a time and each once more if it did not. Blocks, 10 s for
// one that does not answer; those that it has not reached when a signal to end is pending have not
// answered (codes_of in process.hpp).
[[nodiscard]] std::vector<bool> hosts_that_answer(const std::vector<Host>& hosts);

// Of a job with `n_nodes` nodes on `n_slots` slots, how many start where so many slots are left: as many as
// there are slots, no more than before; where there were more nodes than slots, in proportion.
// REQUIRES: n_slots > 0.
[[nodiscard]] std::uint32_t nodes_for(std::uint32_t n_nodes, std::uint64_t n_slots,
                                      std::uint64_t n_slots_left);

}  // namespace rubato::tools

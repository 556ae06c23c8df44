#pragma once
// The start of a process: descriptors, environment, processors, posix_spawn. Private to
// flow/program.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/types.h>

#include "rubato/flow/program/detail/descriptor.hpp"
#include "rubato/flow/program/detail/program_path.hpp"
#include "rubato/flow/program/program.hpp"

namespace rubato::flow::program_detail {

// What all programs of a node share; constant once made, so that threads read it without a lock.
struct NodeState {
  explicit NodeState(const std::vector<std::uint32_t>& allowed);

  cpu_set_t processors{};
  std::vector<std::string> environment;  // NAME=value, of the node's start
  std::string path;                      // PATH of it
  ProgramFinder finder;
  Descriptor stop;  // an eventfd: readable from kill_all() on
};

// A program that runs. Its number stays its own until somebody reaps it, and that is the watcher.
struct Child {
  pid_t pid = -1;
  Descriptor end;     // readable once it has ended; closed if the system has no such thing
  Descriptor errors;  // what it writes to standard error; closed if that is redirected
};

// Starts the program of `call`. Throws StartError. REQUIRES: the call was checked.
[[nodiscard]] Child spawn(const NodeState& node, const ProgramCall& call);

// Throws StartError for what no system would take: no words, zero bytes, names with a '='.
void check_call(const ProgramCall& call);

}  // namespace rubato::flow::program_detail

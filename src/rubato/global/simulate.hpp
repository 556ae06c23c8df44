#pragma once
// simulate: a program on virtual nodes, in virtual time, repeatable to the bit from its seed.
//
//   const auto run = simulate([] { ... forall(...); ... }, {.n_nodes = 16, .profile = "ec2-large"});
//   run.wall;      what it would take there
//
// The program is the one that runs on real cores; a network of that profile lies between the nodes,
// and messages, tasks and records cost what MessageOptions says. Also what tests are made of: with
// `shuffle`, each seed is another order of everything that has no order.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rubato/global/program.hpp"

namespace rubato::global {

struct SimulateOptions {
  std::uint32_t n_nodes = 2;
  std::uint32_t n_cores = 1;      // of each
  std::string profile = "const";  // of the network, as `rubato --help profiles` lists them
  std::uint64_t seed = 1;
  bool shuffle = false;       // events of one instant, and which idle core gets work
  Nanos extra_delay_max = 0;  // of each piece of work, drawn from the seed
  std::vector<std::pair<core::NodeId, Nanos>> kills{};  // nodes that are lost, and when
  // Sees each turn of each core and each message between nodes; outlives the run.
  core::Observer* observer = nullptr;
  // Called for each node before the run, e.g. to give its cores objects of their own.
  std::function<void(core::MessageEngine&, const core::JobShape&)> on_engine{};
  ProgramOptions program{};
};

struct SimulatedRun {
  Nanos wall = 0;  // virtual
  core::CoreCounters counters;
  std::vector<core::NodeFigures> nodes;  // [n_nodes]
};

// Blocks until the program has ended. Throws Error as a real run does: what a task threw, a
// deadlock, a profile that does not exist.
SimulatedRun simulate(const std::function<void()>& main, const SimulateOptions& options = {},
                      SourcePlace at = SourcePlace::here());

}  // namespace rubato::global

#pragma once
// Progress lines of a run: ticks per second, share of waiting, time left.

#include <iosfwd>
#include <string>

#include "rubato/core/node_host.hpp"
#include "rubato/core/observer.hpp"
#include "rubato/tick/dataflow.hpp"
#include "rubato/tools/progress.hpp"

namespace rubato::tools {

// The part of longer work that one run is: it fills [begin, end] of `progress`.
struct ProgressShare {
  Progress& progress;
  double begin = 0;
  double end = 1;
  std::string name = "";  // of the run, in front of its figures
};

// Of what comes before the first tick: reading and building, cutting, and each node's plan and start.
// A thread of its own shows how long that has taken.
class SetUpWatch {
 public:
  // `err` outlives this, and nobody else writes to it meanwhile. `inputs`: files that are read, for
  // people.
  SetUpWatch(std::ostream& err, bool is_terminal, const std::string& title,
             const std::string& inputs);

  // What is under way from now on.
  void cut(std::uint32_t n_nodes);
  void node(tick::NodeId node);

 private:
  ProgressClock progress_;
  std::uint32_t n_nodes_ = 1;
};

// Of a simulation: looks at the work that ends, and hands everything on to another observer.
class SimulationWatch final : public core::ChainedObserver {
 public:
  // `next` may be null and outlives this, as share.progress does. `n_cores` of all nodes.
  SimulationWatch(ProgressShare share, tick::Tick ticks, std::uint64_t n_cores,
                  core::Observer* next);

  void on_work(net::NodeId node, std::uint32_t core, const core::Work& work, Nanos begin,
               Nanos end) noexcept override;

 private:
  ProgressShare share_;
  tick::Tick ticks_;
  double n_cores_;
  std::uint64_t n_works_ = 0;
  Nanos busy_ = 0;  // virtual, of all cores
};

// Of a real run: the service thread calls look() (core::NodeHostOptions::glance).
class RunWatch {
 public:
  // `err` outlives this.
  RunWatch(std::ostream& err, bool is_terminal, const std::string& title, tick::Tick ticks);

  // `engine` must live as long as look() is called.
  void follow(const tick::TickEngine& engine) noexcept { engine_ = &engine; }
  void look(const core::RunGlance& glance);

 private:
  Progress progress_;
  tick::Tick ticks_;
  const tick::TickEngine* engine_ = nullptr;
  Nanos before_ = 0;   // of the host's runs that have ended
  Nanos elapsed_ = 0;  // of the one under way
};

}  // namespace rubato::tools

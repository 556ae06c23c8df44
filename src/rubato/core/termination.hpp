#pragma once
// Termination: has everything ended, everywhere? Found by counting messages, never by a fixed wait.
//
// Four counters [Mattern, "Algorithms for distributed termination detection", 1987]: a wave adds up
// how many messages all nodes have sent and received, each node giving its counts while it is
// passive. If two waves in a row find four equal sums, no message was on its way between them, so
// no passive node was woken: nothing can happen any more. A single wave proves nothing, since its
// counts are not taken at one instant. If then a node has not finished, all are quiet: what nodes
// hold back may go on (Engine::on_quiet). If all are quiet again and nothing was let go meanwhile,
// that node waits for something that will never come: a deadlock, found the moment it is one.
//
// A wave is an allreduce of the team; a node takes part when it is passive, so that waves wait for
// busy nodes instead of going round. Lives under the node's lock like all of an engine's state.

#include <cstdint>
#include <optional>

#include "rubato/core/team.hpp"

namespace rubato::core {

class Termination {
 public:
  enum class State : std::uint8_t { running, terminated, quiet, deadlocked };

  struct Local {
    std::uint64_t n_sent = 0;  // messages since the start, those of the waves excluded
    std::uint64_t n_received = 0;
    // REQUIRES: of a passive node, that only a message can make it send or work again; a timer that
    // was asked for is activity.
    bool passive = false;
    bool finished = false;
    std::uint64_t n_let_go = 0;  // how often, when all were quiet, it had something to go on with
  };

  // Looks after all cores of `team` on this node. `team` outlives this, and is used by nothing else
  // unless all nodes mix the calls in the same order.
  explicit Termination(Team& team) noexcept : team_(team) {}
  Termination(const Termination&) = delete;
  Termination& operator=(const Termination&) = delete;

  // Takes note of the node's state and joins the current wave if it is passive. Called after each
  // event and when the node becomes passive. All nodes come to the same answer.
  State update(Port& port, const Local& local);

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] std::uint64_t n_waves() const noexcept { return n_waves_; }

  // Goes on looking. REQUIRES: state() is quiet; each node calls it when it has found that.
  void resume();
  // Starts anew, for another run on the same team. REQUIRES: state() is not running; called on all
  // nodes.
  void restart();

 private:
  struct Sums {
    std::uint64_t n_sent = 0;
    std::uint64_t n_received = 0;
    std::uint64_t n_unfinished = 0;
    std::uint64_t n_let_go = 0;
  };

  void on_wave(const Sums& sums);

  Team& team_;
  State state_ = State::running;
  bool in_wave_ = false;
  bool has_previous_ = false;
  Sums previous_;
  std::optional<std::uint64_t> let_go_when_quiet_;  // n_let_go of all, when all were quiet last
  std::uint64_t n_waves_ = 0;
};

}  // namespace rubato::core

#include "rubato/core/termination.hpp"

namespace rubato::core {

Termination::State Termination::update(Port& port, const Local& local) {
  // A node alone is through its waves at once, and needs two; otherwise this ends in a wave.
  while (state_ == State::running && local.passive && !in_wave_) {
    in_wave_ = true;
    const std::uint64_t first = team_.first_local_rank();
    for (std::uint32_t i = 0; i < team_.n_local(); ++i) {
      // The node's first core speaks for all of them.
      const Sums mine =
          i == 0 ? Sums{local.n_sent, local.n_received, local.finished ? 0U : 1U, local.n_let_go}
                 : Sums{};
      const bool decides = i == 0;
      team_.async_allreduce<Sums>(
          port, first + i, mine,
          [](const Sums& a, const Sums& b) {
            return Sums{a.n_sent + b.n_sent, a.n_received + b.n_received,
                        a.n_unfinished + b.n_unfinished, a.n_let_go + b.n_let_go};
          },
          [this, decides](Port&, const Sums& sums) {
            if (decides) on_wave(sums);
          });
    }
    // Out of balance: a message of this node to itself is on its way, and brings the next update.
    if (!in_wave_ && !has_previous_) break;
    if (team_.failure()) break;
  }
  return state_;
}

void Termination::on_wave(const Sums& sums) {
  in_wave_ = false;
  ++n_waves_;
  const bool balanced = sums.n_sent == sums.n_received;
  if (balanced && has_previous_ && previous_.n_sent == sums.n_sent &&
      previous_.n_received == sums.n_received) {
    const bool is_quiet_again = let_go_when_quiet_ == sums.n_let_go;
    state_ = sums.n_unfinished == 0 ? State::terminated
             : is_quiet_again       ? State::deadlocked
                                    : State::quiet;
    let_go_when_quiet_ = sums.n_let_go;
  }
  previous_ = sums;
  has_previous_ = balanced;
}

void Termination::resume() {
  RUBATO_REQUIRE(state_ == State::quiet, state_);
  state_ = State::running;
  has_previous_ = false;
}

void Termination::restart() {
  RUBATO_REQUIRE(state_ != State::running, state_);
  RUBATO_REQUIRE(!in_wave_, n_waves_);
  state_ = State::running;
  has_previous_ = false;
  let_go_when_quiet_.reset();
}

}  // namespace rubato::core

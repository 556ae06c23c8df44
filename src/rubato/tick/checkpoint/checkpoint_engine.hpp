#pragma once
// CheckpointEngine: around the engine of a node's run: agrees with the other nodes on ticks to save
// that nobody knew before, and tells node 0 of parts that are whole.
//
// A tick for now (some time has passed, a signal has come) must be one that no own region of any node
// has reached. Node 0 asks down a binary tree; each node promises not to go beyond a tick P, which is
// a little ahead of where it can be, and the latest of all P comes up the tree; E = P + 1 goes down
// and frees all. So nobody waits unless the answer takes longer than that little, and no tick has a
// collective.

#include <cstdint>

#include "rubato/core/wrapped_engine.hpp"
#include "rubato/tick/checkpoint/checkpoints.hpp"

namespace rubato::tick {

class CheckpointEngine final : public core::WrappedEngine {
 public:
  // Both outlive it.
  CheckpointEngine(Checkpoints& all, NodeId self, TickEngine& run)
      : WrappedEngine(run), all_(all), saver_(all.saver(self)), run_(run), self_(self) {}

  void start(core::Port& port) override;
  void on_message(core::Port& port, NodeId from, Bytes bytes) override;
  void on_finished(core::Port& port, const core::Work& work) override;
  void on_time(core::Port& port) override;
  [[nodiscard]] bool finished() const override;
  [[nodiscard]] std::string waiting_for() const override;

 private:
  // In the header's `detail`; the payload of `whole` is a CheckpointPart, that of `failed` the error's text.
  enum class Word : std::uint32_t { wanted = 1, ask, promise, save, whole, failed };

  void look(core::Port& port);
  void look_at_0(core::Port& port);
  void note_failure(core::Port& port, const Error& error);
  void set_timer(core::Port& port);
  void ask(core::Port& port);
  void promise(core::Port& port, Tick t);
  void save(core::Port& port, Tick t);
  void send(core::Port& port, NodeId to, Word word, Tick t, ByteView payload = {}) const;
  void send_down(core::Port& port, Word word, Tick t) const;
  [[nodiscard]] std::uint32_t n_children() const noexcept;

  Checkpoints& all_;
  detail::NodeSaver& saver_;
  TickEngine& run_;
  const NodeId self_;
  bool asking_ = false;        // from the question to its answer
  std::uint32_t missing_ = 0;  // promises of children, and by one its own
  Tick latest_ = 0;            // of the promises so far
  bool wanted_ = false;        // of node 0: a question is to be asked
  bool ends_run_ = false;      // the answer is the run's last checkpoint
  bool heard_signal_ = false;
  bool told_failure_ = false;
  Nanos timer_at_ = kNever;  // asked of the port
};

}  // namespace rubato::tick

#include "rubato/tick/checkpoint/checkpoint_engine.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rubato/core/signals.hpp"
#include "rubato/tick/checkpoint/folder.hpp"
#include "rubato/tick/detail/collective.hpp"

namespace rubato::tick {
namespace {

// From one look at what the writing thread has done to the next, where nothing else happens.
constexpr Nanos kLook = 2 * kMillisecond;

}  // namespace

void CheckpointEngine::start(core::Port& port) {
  if (all_.options().interval > 0 && all_.next_at_ == kNever)
    all_.next_at_ = port.now() + all_.options().interval;
  WrappedEngine::start(port);
}

void CheckpointEngine::on_message(core::Port& port, NodeId from, Bytes bytes) {
  detail::MessageHeader header;
  RUBATO_ASSERT(bytes.size() >= sizeof header, bytes.size());
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.type != detail::MessageType::checkpoint) {
    WrappedEngine::on_message(port, from, std::move(bytes));
    look(port);
    return;
  }
  switch (static_cast<Word>(header.detail)) {
    case Word::wanted:
      wanted_ = ends_run_ = true;
      break;
    case Word::ask:
      ask(port);
      break;
    case Word::promise:
      promise(port, header.tick);
      break;
    case Word::save:
      save(port, header.tick);
      break;
    case Word::whole: {
      Reader payload(ByteView(bytes).subspan(sizeof header));
      all_.add_part(from, header.tick, payload.get<CheckpointPart>());
      break;
    }
    case Word::failed: {
      const ByteView text = ByteView(bytes).subspan(sizeof header);
      all_.add_failure(from, std::string(reinterpret_cast<const char*>(text.data()), text.size()));
      break;
    }
  }
  look(port);
}

void CheckpointEngine::on_finished(core::Port& port, const core::Work& work) {
  WrappedEngine::on_finished(port, work);
  look(port);
}

void CheckpointEngine::on_time(core::Port& port) {
  timer_at_ = kNever;
  WrappedEngine::on_time(port);
  look(port);
}

bool CheckpointEngine::finished() const {
  return WrappedEngine::finished() && !asking_ && !saver_.is_busy() &&
         (self_ != 0 || !all_.is_gathering());
}

std::string CheckpointEngine::waiting_for() const {
  std::string text = WrappedEngine::waiting_for();
  if (!text.empty()) return text;
  if (asking_) return "the tick of the next checkpoint";
  if (saver_.is_busy()) return "its part of a checkpoint to be written";
  return self_ == 0 && all_.is_gathering() ? "other nodes' parts of a checkpoint" : "";
}

// After each event: what has become whole, and what is wanted.
void CheckpointEngine::look(core::Port& port) {
  // Asked for first: what was done before it is told before it.
  const std::optional<Error> error = all_.error();
  // In virtual time all nodes write in turn, and nothing is under way.
  if (error && self_ != 0 && !all_.has_threads()) throw *error;
  for (const detail::NodeSaver::Done& done : saver_.take_done()) {
    if (self_ == 0) {
      all_.add_part(0, done.tick, done.part);
    } else {
      send(port, 0, Word::whole, done.tick, std::as_bytes(std::span(&done.part, 1)));
    }
  }
  if (error && !told_failure_) note_failure(port, *error);
  if (all_.options().on_signal && !heard_signal_ && core::CheckpointSignals::received() != 0) {
    heard_signal_ = true;
    if (self_ == 0) {
      wanted_ = ends_run_ = true;
    } else {
      send(port, 0, Word::wanted, run_.own_tick());
    }
  }
  if (self_ == 0) look_at_0(port);
  set_timer(port);
}

// This node writes no more. Node 0 ends the run with it, once what all have saved before is whole.
void CheckpointEngine::note_failure(core::Port& port, const Error& error) {
  told_failure_ = true;
  const std::string_view text = error.what();
  if (self_ != 0) {
    send(port, 0, Word::failed, 0, std::as_bytes(std::span(text)));
    return;
  }
  for (NodeId node = 0; node < (all_.has_threads() ? 1 : all_.n_nodes()); ++node)
    all_.add_failure(node, std::string(text));
}

void CheckpointEngine::look_at_0(core::Port& port) {
  all_.write_manifests(run_);
  all_.throw_if_failed();
  if (all_.ending_ != kNoTick && all_.last_tick() >= all_.ending_) {
    throw Error("ended at a checkpoint, of tick " + std::to_string(all_.last_tick()) +
                    ": --resume " + all_.options().folder + " goes on from it",
                ExitCode::checkpointed);
  }
  const bool over = WrappedEngine::finished();
  if (port.now() >= all_.next_at_) {
    wanted_ = true;
    all_.next_at_ = port.now() + all_.options().interval;
  }
  // One at a time; what is saved at multiples of a tick does not count.
  const bool pending = saver_.armed() != kNoTick && saver_.armed() > all_.last_tick();
  if (!wanted_ || asking_ || over || (pending && !ends_run_)) return;
  wanted_ = false;
  if (pending && all_.ending_ == kNoTick) {
    all_.ending_ = saver_.armed();  // the one under way does
    return;
  }
  if (all_.ending_ == kNoTick) ask(port);
}

// Only while something is being written: a timer that is always set would keep a deadlock from being
// found, and a run that goes on has events enough. In virtual time nothing happens beside them.
void CheckpointEngine::set_timer(core::Port& port) {
  if (!all_.has_threads() || timer_at_ != kNever) return;
  if (!saver_.is_busy() && (self_ != 0 || !all_.is_gathering())) return;
  timer_at_ = port.now() + kLook;
  port.wake_at(timer_at_);
}

// The question has come, or at node 0 is begun.
void CheckpointEngine::ask(core::Port& port) {
  asking_ = true;
  missing_ = 1 + n_children();
  latest_ = 0;
  send_down(port, Word::ask, 0);
  // As many ticks beyond where it can be as it does in the time of an answer.
  const Nanos elapsed = std::max<Nanos>(port.now() - run_.started(), 1);
  const double rate =
      static_cast<double>(run_.own_tick() - run_.run_begin()) / static_cast<double>(elapsed);
  const Tick ahead = 1 + static_cast<Tick>(rate * static_cast<double>(all_.options().answer));
  const Tick last = run_.reach() + ahead;
  run_.hold(last);
  promise(port, last);
}

void CheckpointEngine::promise(core::Port& port, Tick t) {
  latest_ = std::max(latest_, t);
  if (--missing_ != 0) return;
  if (self_ != 0) {
    send(port, (self_ - 1) / 2, Word::promise, latest_);
    return;
  }
  if (ends_run_) all_.ending_ = latest_ + 1;
  save(port, latest_ + 1);
}

// The answer.
void CheckpointEngine::save(core::Port& port, Tick t) {
  saver_.arm(t);
  run_.hold(kNoTick);
  asking_ = false;
  send_down(port, Word::save, t);
}

std::uint32_t CheckpointEngine::n_children() const noexcept {
  const std::uint64_t first = 2 * std::uint64_t{self_} + 1;
  return (first < all_.n_nodes() ? 1U : 0U) + (first + 1 < all_.n_nodes() ? 1U : 0U);
}

void CheckpointEngine::send_down(core::Port& port, Word word, Tick t) const {
  for (std::uint32_t i = 0; i < n_children(); ++i)
    send(port, static_cast<NodeId>(2 * std::uint64_t{self_} + 1 + i), word, t);
}

void CheckpointEngine::send(core::Port& port, NodeId to, Word word, Tick t,
                            ByteView payload) const {
  Writer out;
  out.put(
      detail::MessageHeader{detail::MessageType::checkpoint, static_cast<std::uint32_t>(word), t});
  out.append(payload.data(), payload.size());
  port.send(to, out.take());
}

}  // namespace rubato::tick

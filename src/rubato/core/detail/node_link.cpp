#include "rubato/core/detail/node_link.hpp"

#include <algorithm>
#include <utility>

#include <sched.h>

namespace rubato::core::detail {
namespace {

JobShape shape_of(const net::Fabric& fabric, std::uint32_t n_cores) {
  return {fabric.node(), fabric.n_nodes(), n_cores};
}

}  // namespace

NodeLink::NodeLink(net::Fabric& fabric, std::uint32_t n_cores, Nanos stop_grace)
    : fabric_(fabric),
      stop_grace_(stop_grace),
      shape_(shape_of(fabric, n_cores)),
      wire_(fabric, mutex_, [this](net::Arrival arrival) { deliver(std::move(arrival)); }),
      wire_port_(wire_),
      control_port_(wire_port_, kControl),
      last_words_port_(wire_port_, kLastWords),
      control_(shape_of(fabric, 1)),
      last_words_(shape_of(fabric, 1)),
      termination_(control_.job()) {
  nodes().set_on_failure([this](Port&, const Error& error) {
    if (listener_) listener_->on_failure(error);
  });
}

void NodeLink::post_to_engine(NodeId to, Bytes bytes) {
  add_tag(bytes, engine_channel(n_runs_));
  wire_.post(to, std::move(bytes));
}

void NodeLink::listen(Listener listener, const std::function<void()>& start) {
  RUBATO_REQUIRE(!listener_, n_runs_);
  listener_ = std::move(listener);
  ++n_runs_;
  if (nodes().failure()) {
    listener_->on_failure(*nodes().failure());
    return;
  }
  start();
  for (auto& arrival : std::exchange(early_, {})) {
    listener_->on_engine_message(arrival.from, std::move(arrival.bytes));
  }
}

void NodeLink::deliver(net::Arrival arrival) {
  const std::lock_guard lock(mutex_);
  try {
    receive(arrival.from, std::move(arrival.bytes));
  } catch (const Error& error) {
    fail(error.in("message from node " + std::to_string(arrival.from)));
  } catch (const std::exception& error) {
    fail(Error(error.what(), ExitCode::failed)
             .in("message from node " + std::to_string(arrival.from)));
  }
}

void NodeLink::receive(NodeId from, Bytes bytes) {
  const std::uint32_t channel = take_tag(bytes);
  if (channel == kControl) {
    control_.on_message(control_port_, from, bytes);
  } else if (channel == kLastWords) {
    last_words_.on_message(last_words_port_, from, bytes);
  } else {
    receive_for_engine(from, channel, std::move(bytes));
  }
}

void NodeLink::receive_for_engine(NodeId from, std::uint32_t channel, Bytes bytes) {
  if (nodes().failure()) return;
  if (listener_ && channel == engine_channel(n_runs_)) {
    listener_->on_engine_message(from, std::move(bytes));
  } else if (channel == engine_channel(n_runs_ + 1)) {
    // Bounded by what an engine sends before it has heard from this node's.
    early_.push_back({from, std::move(bytes)});
  } else {
    throw Error("message for channel " + std::to_string(channel) + ": expected run " +
                    std::to_string(n_runs_) + " or the next",
                ExitCode::failed);
  }
}

bool NodeLink::pump_until(const std::function<bool()>& done, Nanos deadline) {
  for (Nanos pause = 0;; pause = std::min(pause + 5 * kMicrosecond, 50 * kMicrosecond)) {
    if (wire_.pump(true) > 0) pause = 0;
    {
      const std::lock_guard lock(mutex_);
      if (done()) return true;
    }
    if (steady_now() > deadline) return false;
    if (pause < 20 * kMicrosecond) {
      sched_yield();
    } else {
      nap(pause);
    }
  }
}

void NodeLink::complete(const std::function<void()>& begin, const std::function<bool()>& done) {
  std::optional<Error> failure;
  {
    const std::lock_guard lock(mutex_);
    begin();
  }
  pump_until(
      [&] {
        failure = nodes().failure();
        return failure || done();
      },
      kNever);
  // Others may have begun a run, which has failed, and wait for this node to have heard of it.
  if (failure) {
    leave_failed(*failure, stop_grace_);
    throw *failure;  // NOLINT: a copy
  }
  // Whoever asks next may be in no hurry: the answers to others leave now.
  (void)drain(kSecond);
}

// Messages may still be on their way, which keeps some fabrics from ending; so all nodes tell each
// other that they have stopped, and empty the network.
void NodeLink::leave_failed(const Error& error, Nanos time) {
  if (std::exchange(has_left_, true)) return;
  if (!last_words(time) || !drain(time))
    fabric_.abort(static_cast<int>(error.code()), error.what());
}

bool NodeLink::last_words(Nanos time) {
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    last_words_.job().async_barrier(last_words_port_, shape_.node,
                                    [&](Port&, const Bytes&) { all = true; });
  }
  return pump_until([&] { return all; }, steady_now() + time);
}

bool NodeLink::drain(Nanos time) {
  const Nanos deadline = steady_now() + time;
  while (!wire_.drained()) {
    wire_.pump(true);
    if (steady_now() > deadline) return false;
    if (!wire_.drained()) nap(20 * kMicrosecond);
  }
  return true;
}

}  // namespace rubato::core::detail

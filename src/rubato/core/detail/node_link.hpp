#pragma once
// NodeLink: what a node keeps from run to run: its lock, its wire, and its conversations with the
// other hosts (collectives between nodes, termination, failure), each on a channel of its own.

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "rubato/core/adaptive_mutex.hpp"
#include "rubato/core/channel.hpp"
#include "rubato/core/detail/wire.hpp"
#include "rubato/core/team.hpp"
#include "rubato/core/termination.hpp"

namespace rubato::core::detail {

class NodeLink {
 public:
  // What a run wants to hear; both under the node's lock.
  struct Listener {
    std::function<void(NodeId from, Bytes bytes)> on_engine_message;
    std::function<void(const Error&)> on_failure;  // of another node, or noticed while receiving
  };

  // `stop_grace`: how long others may take to hear of a failure.
  NodeLink(net::Fabric& fabric, std::uint32_t n_cores, Nanos stop_grace);
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  [[nodiscard]] net::Fabric& fabric() noexcept { return fabric_; }
  [[nodiscard]] const JobShape& shape() const noexcept { return shape_; }
  [[nodiscard]] AdaptiveMutex& mutex() noexcept { return mutex_; }
  [[nodiscard]] Wire& wire() noexcept { return wire_; }

  // Under the lock. Begins the next run: calls `start`, then hands over its messages, those that
  // came before included. Messages carry the number of their run, since another node may begin the
  // next one before this has heard that the last one has ended.
  void listen(Listener listener, const std::function<void()>& start);
  void stop_listening() { listener_.reset(); }
  void post_to_engine(NodeId to, Bytes bytes);

  // Under the lock: the team of all nodes (a core each), and the state of its run.
  [[nodiscard]] Team& nodes() noexcept { return control_.job(); }
  [[nodiscard]] Port& control_port() noexcept { return control_port_; }
  [[nodiscard]] Termination& termination() noexcept { return termination_; }
  void fail(const Error& error) { nodes().async_fail(control_port_, error); }

  // Blocking, without the lock, by the only thread of the node that is awake: `begin` starts
  // collectives (under the lock), and `done()` (under the lock) says when they are complete. Throws
  // the Error that ended the team of nodes meanwhile, if any.
  void complete(const std::function<void()>& begin, const std::function<bool()>& done);

  // Blocking: after a failure, until all nodes have stopped sending and all that was posted has left;
  // the second time it has. Aborts the job if that takes longer.
  void leave_failed(const Error& error, Nanos time);
  // Blocking: until everything posted has left. False if it has not by then.
  [[nodiscard]] bool drain(Nanos time);

 private:
  // Blocking: until all nodes have said that they send no more. False if some have not by then.
  [[nodiscard]] bool last_words(Nanos time);

  static constexpr std::uint32_t kControl = 0;
  static constexpr std::uint32_t kLastWords = 1;
  // The engine of run n.
  static constexpr std::uint32_t engine_channel(std::uint32_t n) { return 0x8000'0000U | n; }

  class WirePort final : public Port {
   public:
    explicit WirePort(Wire& wire) : wire_(wire) {}
    void send(NodeId to, Bytes bytes) override { wire_.post(to, std::move(bytes)); }
    void wake_at(Nanos /*when*/) override {}
    [[nodiscard]] Nanos now() const noexcept override { return steady_now(); }

   private:
    Wire& wire_;
  };

  void deliver(net::Arrival arrival);
  void receive(NodeId from, Bytes bytes);
  void receive_for_engine(NodeId from, std::uint32_t channel, Bytes bytes);
  bool pump_until(const std::function<bool()>& done, Nanos deadline);

  net::Fabric& fabric_;
  Nanos stop_grace_;
  JobShape shape_;
  alignas(64) AdaptiveMutex mutex_;
  alignas(64) Wire wire_;
  WirePort wire_port_;
  TaggedPort control_port_;
  TaggedPort last_words_port_;
  Teams control_;
  Teams last_words_;
  Termination termination_;
  std::uint32_t n_runs_ = 0;
  bool has_left_ = false;
  std::optional<Listener> listener_;
  std::vector<net::Arrival> early_;  // for the engine of a run that has not begun here
};

}  // namespace rubato::core::detail

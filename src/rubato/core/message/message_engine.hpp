#pragma once
// MessageEngine: drives the cores of a node (core_context.hpp) on any host, and brings their
// messages to those of other nodes.
//
// It is an Engine, so it runs on real cores and in the simulator, and beside others in an
// EngineGroup. Work is a slice of one core: it applies what came for it and runs its tasks, for
// about MessageOptions::slice or until there is nothing left; what it has sent leaves afterwards.
// The run ends when no task is left and all messages everywhere have been applied, found by the
// host's counting. If tasks wait and nothing can wake them, that is a deadlock, and said with their
// names.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rubato/core/engine.hpp"
#include "rubato/core/message/core_context.hpp"
#include "rubato/core/message/poll_watch.hpp"

namespace rubato::core {

class MessageEngine final : public Engine {
 public:
  MessageEngine(const JobShape& shape, const MessageOptions& options);
  ~MessageEngine() override;

  // Before and after the run: core `local` of this node.
  [[nodiscard]] CoreContext& core(std::uint32_t local) { return *cores_[local]; }
  // A task of every core of this node, at the start.
  void set_on_start(const std::function<void(CoreContext&)>& f);

  void start(Port& port) override;
  void on_message(Port& port, NodeId from, Bytes bytes) override;
  void on_finished(Port& port, const Work& work) override;
  void on_time(Port& port) override;
  [[nodiscard]] bool next_work(std::uint32_t core, Work& work) override;
  [[nodiscard]] bool more_work() const override;
  [[nodiscard]] bool work_is_of_cores() const override { return true; }
  void run(const Work& work, std::uint32_t core) override;
  [[nodiscard]] Nanos cost(const Work& work) const override;
  [[nodiscard]] Nanos message_cost(std::size_t n_bytes) const override;
  [[nodiscard]] bool finished() const override;
  // Native work that does not end soon uses what is about to go: then the error is said, and the
  // process ends with its code.
  void on_failed(const Error& error) override;
  [[nodiscard]] bool on_quiet(Port& port) override;
  [[nodiscard]] std::string waiting_for() const override;
  [[nodiscard]] std::string work_name(const Work& work) const override;
  [[nodiscard]] std::vector<WorkBeside> work_beside(Nanos begun_by) const override;

  // When the run began on this node, on the clock of CoreContext::clock().
  [[nodiscard]] const Nanos& began() const noexcept { return began_; }
  // Of all cores of this node.
  [[nodiscard]] CoreCounters counters() const;

 private:
  void take_acknowledgements(std::uint32_t local);
  // Full buffers leave, and the others for a reason.
  enum class Flush : std::uint8_t { none, idle, late };
  void flush(Port& port, CoreContext& core, Flush lanes);
  static void set_timers(Port& port, CoreContext& core);
  void post(Port& port, CoreId from, NodeId to, Bytes bytes);
  void acknowledge(Port& port);
  void adapt(CoreContext& core, Nanos took) const;
  [[nodiscard]] static std::uint64_t n_done(const CoreContext& core) noexcept;

  JobShape shape_;
  MessageOptions options_;
  Nanos began_ = 0;
  Nanos event_time_ = 0;  // of the last event
  detail::NodeHunger hunger_;
  detail::NodeObjects objects_;
  std::vector<std::unique_ptr<CoreContext>> cores_;
  mutable std::vector<detail::PollWatch> polls_;  // [n_cores]
  std::vector<bool> running_;                     // [n_cores]
  // Came while the core may have been running, [n_cores], by node.
  std::vector<std::map<NodeId, std::uint64_t>> acknowledged_;
  std::vector<std::vector<std::pair<CoreId, Bytes>>> arrived_;  // [n_cores]
  std::map<CoreId, std::uint64_t> owed_;  // bytes applied and not acknowledged, by sending core
  detail::NativePool native_;             // ends before what its works use
};

}  // namespace rubato::core

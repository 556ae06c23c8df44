#pragma once
// Round trips between the nodes of a job, as [Ticks figure 1] measures them: how late is this
// network?

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/core/engine.hpp"

namespace rubato::tools {

// Node 0 sends a message of `n_bytes` to each other node in turn, `n_samples` times, and takes the
// time until it is back; the others answer at once. One message is on its way at any time.
class PingPong final : public core::Engine {
 public:
  PingPong(core::NodeId self, std::uint32_t n_nodes, std::size_t n_bytes, std::uint32_t n_samples);

  void start(core::Port& port) override;
  void on_message(core::Port& port, core::NodeId from, Bytes bytes) override;
  void on_finished(core::Port& /*port*/, const core::Work& /*work*/) override {}
  [[nodiscard]] bool next_work(std::uint32_t /*core*/, core::Work& /*work*/) override {
    return false;
  }
  [[nodiscard]] bool more_work() const override { return false; }
  void run(const core::Work& /*work*/, std::uint32_t /*core*/) override {}
  [[nodiscard]] Nanos cost(const core::Work& /*work*/) const override { return 0; }
  [[nodiscard]] bool finished() const override { return self_ != 0 || peer_ == n_nodes_; }
  [[nodiscard]] std::string waiting_for() const override;

  // At node 0: [n_nodes - 1][n_samples], of node 1 first.
  [[nodiscard]] const std::vector<std::vector<Nanos>>& round_trips() const noexcept {
    return round_trips_;
  }

 private:
  // Of the connection: first messages set it up and are not counted.
  static constexpr std::uint32_t kWarmUp = 20;

  void ping(core::Port& port);

  core::NodeId self_;
  std::uint32_t n_nodes_;
  std::size_t n_bytes_;
  std::uint32_t n_samples_;
  core::NodeId peer_ = 1;
  std::uint32_t n_done_ = 0;
  Nanos sent_at_ = 0;
  std::vector<std::vector<Nanos>> round_trips_;
};

}  // namespace rubato::tools

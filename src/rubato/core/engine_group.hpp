#pragma once
// EngineGroup: several engines that run as one, on the same cores and the same fabric.
//
// Each has its own channel of messages, kinds of work and timers, and knows nothing of the others.
// The group has finished when all have; work is taken from the first engine that has any, so the
// order of the engines is their priority. It is an Engine, so any host runs it and groups nest.

#include <cstdint>
#include <memory>
#include <vector>

#include "rubato/core/channel.hpp"
#include "rubato/core/engine.hpp"

namespace rubato::core {

class EngineGroup final : public Engine {
 public:
  // The same engines in the same order on all nodes; they outlive the group. REQUIRES: not empty.
  explicit EngineGroup(std::vector<Engine*> engines);

  // Where the figures of engine `i`'s work of `kind` stand.
  [[nodiscard]] std::uint32_t kind_of(std::size_t i, std::uint32_t kind) const noexcept {
    return kind * n_engines() + static_cast<std::uint32_t>(i);
  }

  void start(Port& port) override;
  // Throws Error for a message of an engine that the group does not have.
  void on_message(Port& port, NodeId from, Bytes bytes) override;
  void on_finished(Port& port, const Work& work) override;
  void on_time(Port& port) override;
  [[nodiscard]] bool next_work(std::uint32_t core, Work& work) override;
  [[nodiscard]] bool more_work() const override;
  [[nodiscard]] bool work_is_of_cores() const override;
  void prefetch(const Work& work, std::uint32_t core) const override;
  void run(const Work& work, std::uint32_t core) override;
  [[nodiscard]] Nanos cost(const Work& work) const override;
  // The highest of the engines', since the size does not tell whose message it is.
  [[nodiscard]] Nanos message_cost(std::size_t n_bytes) const override;
  [[nodiscard]] bool finished() const override;
  [[nodiscard]] bool on_quiet(Port& port) override;
  [[nodiscard]] std::string waiting_for() const override;
  [[nodiscard]] std::string work_name(const Work& work) const override;
  [[nodiscard]] std::vector<WorkBeside> work_beside(Nanos begun_by) const override;
  void on_failed(const Error& error) override;

 private:
  class MemberPort;

  [[nodiscard]] std::uint32_t n_engines() const noexcept {
    return static_cast<std::uint32_t>(engines_.size());
  }
  [[nodiscard]] Engine& engine_of(const Work& work) const { return *engines_[index_of(work)]; }
  [[nodiscard]] std::size_t index_of(const Work& work) const { return work.kind % n_engines(); }
  [[nodiscard]] Work inner(const Work& work) const {
    return {work.kind / n_engines(), work.index, work.tick};
  }

  std::vector<Engine*> engines_;
  std::vector<Nanos> timers_;  // [n_engines]
};

}  // namespace rubato::core

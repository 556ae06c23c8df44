#pragma once
// WrappedEngine: an engine that hands every call on to another one; what changes one of them is
// built on it.

#include <string>
#include <utility>
#include <vector>

#include "rubato/core/engine.hpp"

namespace rubato::core {

class WrappedEngine : public Engine {
 public:
  // `engine` must outlive this; it is driven through this alone.
  explicit WrappedEngine(Engine& engine) : engine_(engine) {}

  void start(Port& port) override { engine_.start(port); }
  void on_message(Port& port, NodeId from, Bytes bytes) override {
    engine_.on_message(port, from, std::move(bytes));
  }
  void on_finished(Port& port, const Work& work) override { engine_.on_finished(port, work); }
  void on_time(Port& port) override { engine_.on_time(port); }
  [[nodiscard]] bool next_work(std::uint32_t core, Work& work) override {
    return engine_.next_work(core, work);
  }
  [[nodiscard]] bool more_work() const override { return engine_.more_work(); }
  [[nodiscard]] bool work_is_of_cores() const override { return engine_.work_is_of_cores(); }
  void prefetch(const Work& work, std::uint32_t core) const override {
    engine_.prefetch(work, core);
  }
  void run(const Work& work, std::uint32_t core) override { engine_.run(work, core); }
  [[nodiscard]] Nanos cost(const Work& work) const override { return engine_.cost(work); }
  [[nodiscard]] Nanos message_cost(std::size_t n_bytes) const override {
    return engine_.message_cost(n_bytes);
  }
  [[nodiscard]] bool finished() const override { return engine_.finished(); }
  [[nodiscard]] bool on_quiet(Port& port) override { return engine_.on_quiet(port); }
  [[nodiscard]] std::string waiting_for() const override { return engine_.waiting_for(); }
  [[nodiscard]] std::string work_name(const Work& work) const override {
    return engine_.work_name(work);
  }
  [[nodiscard]] std::vector<WorkBeside> work_beside(Nanos begun_by) const override {
    return engine_.work_beside(begun_by);
  }
  void on_failed(const Error& error) override { engine_.on_failed(error); }

 private:
  Engine& engine_;
};

}  // namespace rubato::core

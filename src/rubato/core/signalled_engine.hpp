#pragma once
// SignalledEngine: another engine that ends with an Error once SIGINT or SIGTERM has come, for
// hosts that do not look at signals themselves: those in virtual time.

#include <string>
#include <utility>

#include <signal.h>

#include "rubato/core/engine.hpp"
#include "rubato/core/signals.hpp"

namespace rubato::core {

// What a run ends with after that signal, on whatever host.
[[nodiscard]] inline Error error_of_signal(int number) {
  return number == SIGINT ? Error("interrupted", ExitCode::interrupted)
                          : Error("terminated", ExitCode::terminated);
}

class SignalledEngine final : public Engine {
 public:
  // `engine` must outlive this; it is driven through this alone. REQUIRES: a SignalScope lives
  // during the run.
  explicit SignalledEngine(Engine& engine) : engine_(engine) {}

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
  void run(const Work& work, std::uint32_t core) override {
    if (const int number = SignalScope::received(); number != 0) throw error_of_signal(number);
    engine_.run(work, core);
  }
  [[nodiscard]] Nanos cost(const Work& work) const override { return engine_.cost(work); }
  [[nodiscard]] Nanos message_cost(std::size_t n_bytes) const override {
    return engine_.message_cost(n_bytes);
  }
  [[nodiscard]] bool finished() const override { return engine_.finished(); }
  [[nodiscard]] std::string waiting_for() const override { return engine_.waiting_for(); }
  [[nodiscard]] std::string work_name(const Work& work) const override {
    return engine_.work_name(work);
  }
  void on_failed(const Error& error) override { engine_.on_failed(error); }

 private:
  Engine& engine_;
};

}  // namespace rubato::core

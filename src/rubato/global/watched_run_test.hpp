#pragma once
// For tests: a program on real cores, and what the watchdog says of it.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "rubato/global/simulate_test.hpp"

namespace rubato::global {

// The lines that it says of a run of `main` on one core. `on_line` hears each of them at once.
template <class F>
std::vector<std::string> watched_run(
    Nanos busy_after, F main,
    const std::function<void(const std::string&)>& on_line = [](auto&) {}) {
  std::vector<std::string> lines;
  net::LocalFabric fabric;
  core::NodeHostOptions options;
  options.n_cores = 1;
  options.owns_process = false;
  options.busy_after = busy_after;
  options.report = [&](const std::string& line) {
    lines.push_back(line);
    on_line(line);
  };
  core::NodeHost host(fabric, options);
  run(host, {.bytes_a_core = kTestBytesACore}, main);
  return lines;
}

// A pipe that nobody writes to before let_go(), or before its time is over: then the test fails, and
// does not hang.
class EmptyPipe {
 public:
  EmptyPipe() {
    EXPECT_EQ(::pipe(ends_), 0);
    writer_ = std::thread([this] { write_late(); });
  }
  EmptyPipe(const EmptyPipe&) = delete;
  EmptyPipe& operator=(const EmptyPipe&) = delete;
  ~EmptyPipe() {
    let_go();
    writer_.join();
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  // Blocks.
  void read() const {
    char c = 0;
    EXPECT_EQ(::read(ends_[0], &c, 1), 1);
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    is_let_go_ = true;
    changed_.notify_all();
  }

 private:
  void write_late() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(6), [this] { return is_let_go_; });
    EXPECT_EQ(::write(ends_[1], "x", 1), 1);
  }

  int ends_[2] = {-1, -1};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_let_go_ = false;
  std::thread writer_;
};

}  // namespace rubato::global

#include "bench/baselines/worker_queue.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/flow_work.hpp"
#include "rubato/base/error.hpp"

namespace rubato::bench {
namespace {

using Task = std::function<void()>;

class WorkerQueue {
 public:
  void put(Task task) {
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }
  void close() {
    {
      const std::scoped_lock lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
  }
  // Until it is closed and empty; returns how many it has run.
  [[nodiscard]] std::uint64_t work() {
    std::uint64_t n_run = 0;
    std::unique_lock lock(mutex_);
    for (;; ++n_run) {
      changed_.wait(lock, [&] { return is_over_ || !tasks_.empty(); });
      if (tasks_.empty()) return n_run;
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool is_over_ = false;
};

}  // namespace

double worker_queue_rate(std::uint32_t n_workers, std::uint64_t n_tasks, Nanos each) {
  WorkerQueue queue;
  std::atomic<std::uint64_t> n_run = 0;
  const Nanos begin = steady_now();
  {
    std::vector<std::jthread> workers;
    for (std::uint32_t i = 0; i < n_workers; ++i)
      workers.emplace_back([&] { n_run += queue.work(); });
    for (std::uint64_t i = 0; i < n_tasks; ++i)
      queue.put([each] { spin(each); });
    queue.close();
  }
  const Nanos time = steady_now() - begin;
  RUBATO_REQUIRE(n_run == n_tasks, n_run.load(), n_tasks);
  return static_cast<double>(n_tasks) / static_cast<double>(time) * 1e3;
}

}  // namespace rubato::bench

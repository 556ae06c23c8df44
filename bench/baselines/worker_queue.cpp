#include "bench/baselines/worker_queue.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/flow_work.hpp"
#include "rubato/base/error.hpp"

namespace rubato::bench {

double worker_queue_rate(std::uint32_t n_workers, std::uint64_t n_tasks, Nanos each) {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool is_over = false;
  std::vector<std::uint64_t> n_done(n_workers);
  const auto work = [&](std::uint32_t me) {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return is_over || !tasks.empty(); });
      if (tasks.empty()) return;
      const std::function<void()> task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
      ++n_done[me];
      lock.lock();
    }
  };
  const Nanos begin = steady_now();
  {
    std::vector<std::jthread> workers;
    for (std::uint32_t i = 0; i < n_workers; ++i)
      workers.emplace_back(work, i);
    for (std::uint64_t i = 0; i < n_tasks; ++i) {
      {
        const std::scoped_lock lock(mutex);
        tasks.emplace_back([each] { spin(each); });
      }
      changed.notify_one();
    }
    {
      const std::scoped_lock lock(mutex);
      is_over = true;
    }
    changed.notify_all();
  }
  const Nanos time = steady_now() - begin;
  std::uint64_t n = 0;
  for (const std::uint64_t of_one : n_done)
    n += of_one;
  RUBATO_REQUIRE(n == n_tasks, n, n_tasks);
  return static_cast<double>(n_tasks) / static_cast<double>(time) * 1e3;
}

}  // namespace rubato::bench

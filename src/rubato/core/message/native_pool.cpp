#include "rubato/core/message/native_pool.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace rubato::core {

std::uint32_t native_threads_of_process() {
  cpu_set_t processors;
  const bool is_known = ::sched_getaffinity(0, sizeof processors, &processors) == 0;
  const auto n = is_known ? static_cast<std::uint32_t>(CPU_COUNT(&processors)) : 0;
  return std::max(n, 4U);
}

namespace detail {
namespace {

thread_local constinit const NativeWork* running_work = nullptr;

}  // namespace

void NativeWork::run() noexcept {
  const NativeWork* const outer = std::exchange(running_work, this);
  try {
    call();
  } catch (...) {
    error = std::current_exception();
  }
  running_work = outer;
}

const NativeWork* NativeWork::running() noexcept {
  return running_work;
}

NativePool::NativePool(std::uint32_t n_threads, std::uint32_t n_cores, Nanos (*clock)() noexcept)
    : n_usual_(n_threads), clock_(clock), n_most_(n_threads), of_cores_(n_cores) {
  pthread_getaffinity_np(pthread_self(), sizeof processors_, &processors_);
}

void NativePool::on_close(std::function<void()> f) {
  const std::lock_guard lock(mutex_);
  on_close_.push_back(std::move(f));
}

bool NativePool::close(Nanos grace) {
  std::unique_lock lock(mutex_);
  ends_ = true;
  closes_.store(true, std::memory_order_relaxed);
  drop_waiting();
  more_.notify_all();
  const auto calls = std::exchange(on_close_, {});
  lock.unlock();
  for (const auto& call : calls)
    call();
  lock.lock();
  return ended_.wait_for(lock, std::chrono::nanoseconds(grace),
                         [this] { return running_.empty(); });
}

void NativePool::drop_waiting() {
  waiting_.clear();
  brief_.clear();
  tasks_.clear();
}

NativePool::~NativePool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    drop_waiting();
  }
  more_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

void NativePool::allow(std::uint32_t n_more) {
  const std::lock_guard lock(mutex_);
  n_most_ = n_usual_ + n_more;
  more_.notify_all();
  // Works may have come before they were allowed.
  const auto has_too_few = [this] {
    return threads_.size() < running_.size() + waiting_.size() + brief_.size() + tasks_.size();
  };
  while (!ends_ && threads_.size() <= n_most_ + n_tasks_ && has_too_few()) {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      return;  // those that are there take them
    }
  }
}

void NativePool::add(NativeWork& work) {
  const std::lock_guard lock(mutex_);
  work.pool = this;
  auto& queue = queue_of(work);
  insert(queue, work);
  if (work.is_task) ++n_tasks_;
  // One more than may run, for what is brief; and those of tasks.
  if (n_idle_ >= waiting_.size() + brief_.size() + tasks_.size() ||
      threads_.size() > n_most_ + n_tasks_) {
    more_.notify_one();
    return;
  }
  try {
    threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    // One of those takes it; a task does not wait for programs of an hour.
    if (!threads_.empty() && !work.is_task) return;
    std::erase(queue, &work);
    if (work.is_task) --n_tasks_;
    throw;
  }
}

// From the back: most are of one priority.
void NativePool::insert(std::deque<NativeWork*>& queue, NativeWork& work) {
  auto at = queue.end();
  while (at != queue.begin() && (*std::prev(at))->priority < work.priority)
    --at;
  queue.insert(at, &work);
}

NativeWork& NativePool::take_next() {
  auto& queue = !brief_.empty() ? brief_ : !tasks_.empty() ? tasks_ : waiting_;
  NativeWork& work = *queue.front();
  queue.pop_front();
  return work;
}

NativePool::News NativePool::take_news(std::uint32_t local) {
  const std::lock_guard lock(mutex_);
  of_cores_[local].any.store(false, std::memory_order_relaxed);
  return std::exchange(of_cores_[local].news, {});
}

void NativePool::look_at_running(const std::function<void(const NativeWork&)>& f) const {
  const std::lock_guard lock(mutex_);
  for (const NativeWork* work : running_)
    f(*work);
}

void NativePool::run() {
  // Not on the processor of the core that happened to ask first.
  pthread_setaffinity_np(pthread_self(), sizeof processors_, &processors_);
  const sched_param usual{};
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual);
  std::unique_lock lock(mutex_);
  for (;;) {
    ++n_idle_;
    more_.wait(lock, [this] { return ends_ || may_begin(); });
    --n_idle_;
    if (ends_) return;
    NativeWork& work = take_next();
    const bool is_task = work.is_task;
    const bool is_long = !work.is_brief && !is_task;
    if (is_long) ++n_long_;
    work.since = clock_ == nullptr ? kNever : clock_();
    running_.push_back(&work);
    OfCore& core = of_cores_[work.local];
    if (work.timeout != kNever) {
      core.news.begun.push_back(&work);
      core.any.store(true, std::memory_order_release);  // with any_news()
    }
    lock.unlock();
    work.run();
    lock.lock();
    std::erase(running_, &work);
    if (is_long) --n_long_;
    if (is_task) --n_tasks_;
    ended_.notify_all();
    core.news.done.push_back(&work);
    core.any.store(true, std::memory_order_release);  // with any_news()
  }
}

}  // namespace detail
}  // namespace rubato::core

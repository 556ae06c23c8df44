#include "rubato/core/message/native_pool.hpp"

#include <chrono>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace rubato::core::detail {

NativePool::NativePool(std::uint32_t n_threads, std::uint32_t n_cores)
    : n_threads_(n_threads), done_(n_cores) {
  pthread_getaffinity_np(pthread_self(), sizeof processors_, &processors_);
}

void NativePool::on_close(std::function<void()> f) {
  const std::lock_guard lock(mutex_);
  on_close_.push_back(std::move(f));
}

bool NativePool::close(Nanos grace) {
  std::unique_lock lock(mutex_);
  ends_ = true;
  waiting_.clear();
  more_.notify_all();
  const auto calls = std::exchange(on_close_, {});
  lock.unlock();
  for (const auto& call : calls)
    call();
  lock.lock();
  return ended_.wait_for(lock, std::chrono::nanoseconds(grace), [this] { return n_running_ == 0; });
}

NativePool::~NativePool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.clear();
  }
  more_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

void NativePool::add(NativeWork& work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(&work);
  if (n_idle_ >= waiting_.size() || threads_.size() == n_threads_) {
    more_.notify_one();
    return;
  }
  try {
    threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    if (!threads_.empty()) return;  // one of those takes it
    waiting_.pop_back();
    throw;
  }
}

std::vector<NativeWork*> NativePool::take_done(std::uint32_t local) {
  const std::lock_guard lock(mutex_);
  done_[local].any.store(false, std::memory_order_relaxed);
  return std::exchange(done_[local].works, {});
}

void NativePool::run() {
  // Not on the processor of the core that happened to ask first.
  pthread_setaffinity_np(pthread_self(), sizeof processors_, &processors_);
  const sched_param usual{};
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual);
  std::unique_lock lock(mutex_);
  for (;;) {
    ++n_idle_;
    more_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    --n_idle_;
    if (ends_) return;
    NativeWork& work = *waiting_.front();
    waiting_.pop_front();
    ++n_running_;
    lock.unlock();
    try {
      work.call();
    } catch (...) {
      work.error = std::current_exception();
    }
    lock.lock();
    --n_running_;
    ended_.notify_all();
    Done& done = done_[work.local];
    done.works.push_back(&work);
    done.any.store(true, std::memory_order_release);  // with any_done()
  }
}

}  // namespace rubato::core::detail

#include "rubato/core/message/native_pool.hpp"

#include <utility>

namespace rubato::core::detail {

NativePool::NativePool(std::uint32_t n_threads, std::uint32_t n_cores)
    : n_threads_(n_threads), done_(n_cores) {}

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
  } else {
    threads_.emplace_back([this] { run(); });
  }
}

std::vector<NativeWork*> NativePool::take_done(std::uint32_t local) {
  const std::lock_guard lock(mutex_);
  done_[local].any.store(false, std::memory_order_relaxed);
  return std::exchange(done_[local].works, {});
}

void NativePool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++n_idle_;
    more_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    --n_idle_;
    if (ends_) return;
    NativeWork& work = *waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    try {
      work.call();
    } catch (...) {
      work.error = std::current_exception();
    }
    lock.lock();
    Done& done = done_[work.local];
    done.works.push_back(&work);
    done.any.store(true, std::memory_order_release);  // with any_done()
  }
}

}  // namespace rubato::core::detail

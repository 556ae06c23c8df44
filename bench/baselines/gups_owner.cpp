// The limits of `gups` and `gather`: two threads, written by hand for these jobs alone.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>

#include <sys/mman.h>

#include "bench/gups_work.hpp"
#include "rubato/base/error.hpp"
#include "rubato/base/prefetch.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/placement.hpp"

namespace rubato::bench {
namespace {

constexpr std::size_t kBlockWords = 4096;
constexpr std::size_t kBlocks = 8;
constexpr std::size_t kAhead = 96;

struct Ring {
  alignas(64) std::atomic<std::uint64_t> head{0};
  alignas(64) std::atomic<std::uint64_t> tail{0};
  std::array<std::size_t, kBlocks> n_words{};
  std::unique_ptr<std::uint64_t[]> words{new std::uint64_t[kBlocks * kBlockWords]};
};

class Table {
 public:
  explicit Table(std::uint32_t log2_words) : n_words_(std::size_t{1} << log2_words) {
    constexpr std::size_t kHuge = std::size_t{2} << 20;
    n_bytes_ = n_words_ * sizeof(std::uint64_t) + kHuge;
    mapping_ = mmap(nullptr, n_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RUBATO_REQUIRE(mapping_ != MAP_FAILED, n_bytes_);
    const auto at = reinterpret_cast<std::uintptr_t>(mapping_);
    words_ = reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(mapping_) +
                                              (kHuge - at % kHuge) % kHuge);
    static_cast<void>(madvise(words_, n_words_ * sizeof(std::uint64_t), MADV_HUGEPAGE));
    std::fill(words_, words_ + n_words_, 0);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { munmap(mapping_, n_bytes_); }

  [[nodiscard]] std::uint64_t* words() const noexcept { return words_; }
  [[nodiscard]] std::size_t size() const noexcept { return n_words_; }

 private:
  std::size_t n_words_;
  std::size_t n_bytes_ = 0;
  void* mapping_ = nullptr;
  std::uint64_t* words_ = nullptr;
};

class Thread {
 public:
  Thread(std::uint64_t* words, std::size_t n_words, std::uint64_t me, std::array<Ring, 2>& rings,
         std::atomic<int>& n_done)
      : words_(words),
        mask_(n_words - 1),
        half_shift_(static_cast<std::uint32_t>(std::countr_zero(n_words)) - 1),
        me_(me),
        out_(rings[me]),
        in_(rings[1 - me]),
        n_done_(n_done),
        mine_(new std::uint64_t[kBlockWords]) {}

  void run(std::uint64_t begin, std::uint64_t end) {
    std::size_t n_mine = 0;
    std::size_t n_other = 0;
    std::uint64_t* other = out_.words.get();
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t word = gups_word(i, mask_);
      // Half of the table each, so that no line is shared. A number that is added: of a bool GCC 12
      // makes a branch, which is guessed wrong half of the time and costs more than all the rest.
      const std::size_t is_mine = word >> half_shift_ == me_ ? 1 : 0;
      mine_[n_mine] = word;
      other[n_other] = word;
      n_mine += is_mine;
      n_other += 1 - is_mine;
      if (n_mine == kBlockWords) [[unlikely]] {
        apply(mine_.get(), std::exchange(n_mine, 0));
        poll();
      }
      if (n_other == kBlockWords) [[unlikely]]
        other = send(std::exchange(n_other, 0));
    }
    apply(mine_.get(), n_mine);
    if (n_other > 0) send(n_other);
    n_done_.fetch_add(1);
    while (n_done_.load() < 2 || in_.head.load() != in_.tail.load())
      poll();
  }

 private:
  void apply(const std::uint64_t* at, std::size_t n) {
    std::size_t i = 0;
    for (; i < n && i < kAhead; ++i)
      prefetch_from_memory(&words_[at[i]]);
    for (; i < n; ++i) {
      prefetch_from_memory(&words_[at[i]]);
      ++words_[at[i - kAhead]];
    }
    for (i = n < kAhead ? 0 : n - kAhead; i < n; ++i)
      ++words_[at[i]];
  }
  void poll() {
    const std::uint64_t tail = in_.tail.load(std::memory_order_relaxed);
    if (in_.head.load(std::memory_order_acquire) == tail) return;
    apply(&in_.words[tail % kBlocks * kBlockWords], in_.n_words[tail % kBlocks]);
    in_.tail.store(tail + 1, std::memory_order_release);
  }
  std::uint64_t* send(std::size_t n) {
    const std::uint64_t head = out_.head.load(std::memory_order_relaxed);
    out_.n_words[head % kBlocks] = n;
    out_.head.store(head + 1, std::memory_order_release);
    while (head + 1 - out_.tail.load(std::memory_order_acquire) >= kBlocks)
      poll();
    return &out_.words[(head + 1) % kBlocks * kBlockWords];
  }

  std::uint64_t* words_;
  std::uint64_t mask_;
  std::uint32_t half_shift_;
  std::uint64_t me_;
  Ring& out_;
  Ring& in_;
  std::atomic<int>& n_done_;
  std::unique_ptr<std::uint64_t[]> mine_;
};

}  // namespace

double gups_owner_computes(std::uint32_t log2_words, std::uint64_t n_updates) {
  const Table table(log2_words);
  std::array<Ring, 2> rings;
  std::atomic<int> n_done{0};
  const auto processors = core::allowed_processors();
  const auto run = [&](std::uint64_t me) {
    if (processors.size() > 1) core::pin_thread(processors[me]);
    Thread thread(table.words(), table.size(), me, rings, n_done);
    thread.run(n_updates / 2 * me, me == 0 ? n_updates / 2 : n_updates);
  };
  const Nanos begin = steady_now();
  std::thread first(run, 0);
  std::thread second(run, 1);
  first.join();
  second.join();
  const Nanos time = steady_now() - begin;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < table.size(); ++i)
    sum += table.words()[i];
  RUBATO_REQUIRE(sum == n_updates, sum, n_updates);
  return static_cast<double>(n_updates) / static_cast<double>(time) * 1e3;
}

double gather_in_place(std::uint32_t log2_words, std::uint64_t n_reads) {
  const Table table(log2_words);
  const std::uint64_t mask = table.size() - 1;
  for (std::size_t i = 0; i < table.size(); ++i)
    table.words()[i] = i;
  std::array<std::uint64_t, 2> sums{};
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < n_reads; ++i)
    expected += gups_word(i, mask);
  const auto processors = core::allowed_processors();
  const auto run = [&](std::uint64_t me) {
    if (processors.size() > 1) core::pin_thread(processors[me]);
    const std::uint64_t begin = n_reads / 2 * me;
    const std::uint64_t end = me == 0 ? n_reads / 2 : n_reads;
    std::uint64_t sum = 0;
    for (std::uint64_t i = begin; i < end; ++i) {
      prefetch_from_memory(&table.words()[gups_word(i + kAhead, mask)]);
      sum += table.words()[gups_word(i, mask)];
    }
    sums[me] = sum;
  };
  const Nanos begin = steady_now();
  std::thread first(run, 0);
  std::thread second(run, 1);
  first.join();
  second.join();
  const Nanos time = steady_now() - begin;
  RUBATO_REQUIRE(sums[0] + sums[1] == expected, sums[0] + sums[1], expected);
  return static_cast<double>(n_reads) / static_cast<double>(time) * 1e3;
}

}  // namespace rubato::bench

// The baseline of `hashmap`.

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include <tsl/robin_map.h>
#include <xxhash.h>

#include "bench/hash_map_work.hpp"
#include "rubato/base/error.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/placement.hpp"

namespace rubato::bench {
namespace {

constexpr std::size_t kBlock = 2048;
constexpr std::size_t kBlocks = 8;

struct Item {
  const std::string* key = nullptr;
  std::size_t hash = 0;
};
struct Ring {
  alignas(64) std::atomic<std::uint64_t> head{0};
  alignas(64) std::atomic<std::uint64_t> tail{0};
  std::array<std::size_t, kBlocks> n_items{};
  std::unique_ptr<Item[]> items{new Item[kBlocks * kBlock]};
};
struct Hash {
  std::size_t operator()(const std::string& key) const noexcept {
    return XXH3_64bits(key.data(), key.size());
  }
};
using Map = tsl::robin_map<std::string, std::uint64_t, Hash, std::equal_to<std::string>,
                           std::allocator<std::pair<std::string, std::uint64_t>>, true>;

class Thread {
 public:
  Thread(const std::vector<std::string>& keys, std::uint64_t me, std::array<Ring, 2>& rings,
         std::atomic<int>& n_done)
      : keys_(keys), me_(me), out_(rings[me]), in_(rings[1 - me]), n_done_(n_done) {}

  void run(std::uint64_t begin, std::uint64_t end) {
    std::size_t n_other = 0;
    Item* other = out_.items.get();
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::string& key = keys_[gups_word(i, UINT64_MAX) % keys_.size()];
      const std::size_t hash = Hash{}(key);
      if (hash >> 63 == me_) {
        count({&key, hash});
        continue;
      }
      other[n_other++] = {&key, hash};
      if (n_other == kBlock) other = send(std::exchange(n_other, 0));
    }
    if (n_other > 0) send(n_other);
    n_done_.fetch_add(1);
    while (n_done_.load() < 2 || in_.head.load() != in_.tail.load())
      poll();
  }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t n = 0;
    for (const auto& [key, count] : map_)
      n += count;
    return n;
  }

 private:
  void count(const Item& item) {
    const auto found = map_.find(*item.key, item.hash);
    if (found != map_.end()) {
      ++found.value();
    } else {
      map_.emplace(*item.key, 1);
    }
  }
  void poll() {
    const std::uint64_t tail = in_.tail.load(std::memory_order_relaxed);
    if (in_.head.load(std::memory_order_acquire) == tail) return;
    const Item* const items = &in_.items[tail % kBlocks * kBlock];
    for (std::size_t i = 0; i < in_.n_items[tail % kBlocks]; ++i)
      count(items[i]);
    in_.tail.store(tail + 1, std::memory_order_release);
  }
  Item* send(std::size_t n) {
    const std::uint64_t head = out_.head.load(std::memory_order_relaxed);
    out_.n_items[head % kBlocks] = n;
    out_.head.store(head + 1, std::memory_order_release);
    do {
      poll();
    } while (head + 1 - out_.tail.load(std::memory_order_acquire) >= kBlocks);
    return &out_.items[(head + 1) % kBlocks * kBlock];
  }

  const std::vector<std::string>& keys_;
  std::uint64_t me_;
  Ring& out_;
  Ring& in_;
  std::atomic<int>& n_done_;
  Map map_;
};

}  // namespace

double robin_map_upserts(const std::vector<std::string>& keys, std::uint64_t n) {
  std::array<Ring, 2> rings;
  std::atomic<int> n_done{0};
  std::array<std::uint64_t, 2> sums{};
  std::array<Nanos, 2> ends{};
  const auto processors = core::allowed_processors();
  const auto run = [&](std::uint64_t me) {
    if (processors.size() > 1) core::pin_thread(processors[me]);
    Thread thread(keys, me, rings, n_done);
    thread.run(n / 2 * me, me == 0 ? n / 2 : n);
    ends[me] = steady_now();
    sums[me] = thread.sum();
  };
  const Nanos begin = steady_now();
  std::thread first(run, 0);
  std::thread second(run, 1);
  first.join();
  second.join();
  RUBATO_REQUIRE(sums[0] + sums[1] == n, sums[0] + sums[1], n);
  return static_cast<double>(n) / static_cast<double>(std::max(ends[0], ends[1]) - begin) * 1e3;
}

}  // namespace rubato::bench

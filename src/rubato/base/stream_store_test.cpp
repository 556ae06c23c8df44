#include "rubato/base/stream_store.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

struct Three {
  std::uint64_t a;
  std::uint32_t b;
  std::uint32_t c;
  double d;
  bool operator==(const Three&) const = default;
};

Three three(std::uint64_t i) {
  return {i, static_cast<std::uint32_t>(3 * i), static_cast<std::uint32_t>(~i),
          static_cast<double>(i) / 4};
}

// By the thread that wrote them at once, and by another one behind the fence.
TEST(StreamStore, IsReadAsItWasWritten) {
  constexpr std::size_t kValues = 10'000;
  alignas(8) static std::byte memory[kValues * sizeof(Three)];
  const auto value_at = [](std::size_t i) {
    Three value{};
    std::memcpy(&value, memory + i * sizeof value, sizeof value);
    return value;
  };
  std::atomic<std::size_t> n_written{0};
  std::size_t n_wrong = 0;
  std::thread reader([&] {
    for (std::size_t n = 0; n < kValues;) {
      const std::size_t end = n_written.load(std::memory_order_acquire);
      for (; n < end; ++n)
        n_wrong += value_at(n) == three(n) ? 0 : 1;
    }
  });
  std::size_t n_wrong_here = 0;
  for (std::size_t i = 0; i < kValues; ++i) {
    stream_store(memory + i * sizeof(Three), three(i));
    n_wrong_here += value_at(i) == three(i) ? 0 : 1;
    if (i % 64 != 63 && i + 1 != kValues) continue;
    stream_fence();
    n_written.store(i + 1, std::memory_order_release);
  }
  reader.join();
  EXPECT_EQ(n_wrong, 0U);
  EXPECT_EQ(n_wrong_here, 0U);
}

}  // namespace
}  // namespace rubato

// What a switch of stacks keeps. Optimized, whatever the others are: else no value stays in a register
// over a switch.

#include "rubato/core/task/context.hpp"

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

// Sanitizers are told of switches by Scheduler alone.
#if !defined(RUBATO_BOOST_CONTEXT) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)

namespace rubato::core::detail {
namespace {

void* test_left = nullptr;   // NOLINT: of the stack that the test is on
void* other_left = nullptr;  // NOLINT: of the other one

template <class T>
struct Number {
  static inline volatile T in{};   // NOLINT: nothing is known of it when it is compiled
  static inline volatile T out{};  // NOLINT
};

// Values of its own, in the same registers.
template <class T>
void compute_elsewhere() {
  for (;;) {
    T a = Number<T>::in * 7;
    T b = a + Number<T>::in;
    T c = b * Number<T>::in;
    switch_stacks(&other_left, test_left);
    a += b;
    b += c;
    Number<T>::out = a * b;
  }
}

// Three values, kept over switches in whatever way the compiler chooses.
template <class T>
[[gnu::noinline]] void expect_kept() {
  constexpr std::size_t kBytes = 64 << 10;
  const auto stack = std::make_unique<char[]>(kBytes);  // NOLINT(modernize-avoid-c-arrays)
  other_left = new_context<&compute_elsewhere<T>>(stack.get() + kBytes, kBytes);
  Number<T>::in = 3;
  for (int i = 0; i < 3; ++i) {
    T a = Number<T>::in;
    T b = a * 2;
    T c = a + b;
    switch_stacks(&test_left, other_left);
    a += 1;
    switch_stacks(&test_left, other_left);
    const T sum = a * 100 + b * 10 + c;
    EXPECT_EQ(sum, T(400 + 60 + 9));
  }
}

// Calls nothing, so that a compiler may keep its numbers below the stack pointer, where it can.
[[gnu::noinline]] std::uint64_t sum_over_a_switch(std::uint64_t first) {
  volatile std::uint64_t kept[12];
  for (std::uint64_t i = 0; i < 12; ++i)
    kept[i] = first + i;
  switch_stacks(&test_left, other_left);
  std::uint64_t sum = 0;
  for (const volatile std::uint64_t& number : kept)
    sum += number;
  return sum;
}

void sum_elsewhere() {
  for (;;) {
    volatile std::uint64_t kept[12];
    for (std::uint64_t i = 0; i < 12; ++i)
      kept[i] = i;
    switch_stacks(&other_left, test_left);
    static_cast<void>(kept[0]);
  }
}

TEST(Context, keeps_what_a_function_has_that_calls_nothing) {
  constexpr std::size_t kBytes = 64 << 10;
  const auto stack = std::make_unique<char[]>(kBytes);  // NOLINT(modernize-avoid-c-arrays)
  other_left = new_context<&sum_elsewhere>(stack.get() + kBytes, kBytes);
  for (std::uint64_t first = 0; first < 3; ++first)
    EXPECT_EQ(sum_over_a_switch(100 * first), 1200 * first + 66);
}

TEST(Context, keeps_what_is_in_registers_of_any_kind) {
  expect_kept<std::int64_t>();
  expect_kept<float>();
  expect_kept<double>();
  expect_kept<long double>();
}

}  // namespace
}  // namespace rubato::core::detail

#endif

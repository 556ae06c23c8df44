#pragma once
// ExactSum: a sum of doubles without rounding, so that it is exactly associative and commutative:
// the same bits however the terms are grouped and in whatever order they come. Sums over nodes,
// pieces and replicas are made of it.
//
// The sum is a fixed-point number that spans all doubles: digit i counts multiples of
// 2^(32 i - 1074). A term touches three digits; digits are 64 bits wide and signed, so that carries
// wait for 2^29 terms. About 5 ns a term, 552 bytes. Infinite terms and NaN make of it what they make of
// every other sum.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rubato {

class ExactSum {
 public:
  void add(double x) noexcept {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff) [[unlikely]]
      return add_not_finite(x);
    // Subnormals have the exponent of the smallest normals and no hidden bit.
    const std::uint64_t mantissa = (bits & kMantissaMask) | (exponent != 0 ? kHiddenBit : 0);
    const int at = exponent != 0 ? exponent - 1 : 0;
    const std::uint64_t low = mantissa << (at % 32);  // its upper bits are in `high`
    const std::uint64_t high = at % 32 != 0 ? mantissa >> (64 - at % 32) : 0;
    const std::int64_t sign = x < 0 ? -1 : 1;
    std::int64_t* digit = digits_.data() + at / 32;
    digit[0] += sign * static_cast<std::int64_t>(low & kDigitMask);
    digit[1] += sign * static_cast<std::int64_t>(low >> 32);
    digit[2] += sign * static_cast<std::int64_t>(high);
    if ((++n_terms_ & ~kNotFinite) == kTermsBetweenCarries) carry();
  }

  void add(const ExactSum& other) noexcept {
    ExactSum theirs = other;
    theirs.carry();
    carry();
    for (std::size_t i = 0; i < kDigits; ++i)
      digits_[i] += theirs.digits_[i];
    n_terms_ |= theirs.n_terms_;
    carry();
  }

  // The sum, rounded once, to the nearest double (ties to even); infinite if it is larger. The NaN is
  // the same one, whichever came.
  [[nodiscard]] double value() const noexcept {
    if ((n_terms_ & kNotFinite) == kNotFinite) return std::numeric_limits<double>::quiet_NaN();
    if ((n_terms_ & kNotFinite) != 0) [[unlikely]] {
      const double size = std::numeric_limits<double>::infinity();
      return (n_terms_ & kInfinite) != 0 ? size : -size;
    }
    ExactSum magnitude = *this;
    magnitude.carry();
    const bool negative = magnitude.digits_.back() < 0;
    if (negative) {
      for (std::int64_t& digit : magnitude.digits_)
        digit = -digit;
      magnitude.carry();
    }
    const double size = magnitude.rounded();
    return negative ? -size : size;
  }

  // Equal sums, whatever the terms; of two NaN, too.
  [[nodiscard]] bool operator==(const ExactSum& other) const noexcept {
    const std::uint64_t not_finite = n_terms_ & kNotFinite;
    if (not_finite != (other.n_terms_ & kNotFinite)) return false;
    if (not_finite != 0) return true;
    ExactSum a = *this;
    ExactSum b = other;
    a.carry();
    b.carry();
    return a.digits_ == b.digits_;
  }

 private:
  // 2046 + 53 bits of a double and 2^60 terms of it.
  static constexpr std::size_t kDigits = 68;
  static constexpr std::uint64_t kDigitMask = 0xffffffff;
  static constexpr std::uint64_t kHiddenBit = std::uint64_t{1} << 52;
  static constexpr std::uint64_t kMantissaMask = kHiddenBit - 1;
  static constexpr std::uint64_t kTermsBetweenCarries = std::uint64_t{1} << 29;
  static constexpr int kLowest = -1074;  // exponent of the lowest bit
  // In n_terms_: both for NaN, and for infinities of both signs.
  static constexpr std::uint64_t kInfinite = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kMinusInfinite = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kNotFinite = kInfinite | kMinusInfinite;

  void add_not_finite(double x) noexcept {
    n_terms_ |= std::isnan(x) ? kNotFinite : x > 0 ? kInfinite : kMinusInfinite;
  }

  // All digits but the last into [0, 2^32): the one form of each number.
  void carry() noexcept {
    std::int64_t over = 0;
    for (std::size_t i = 0; i + 1 < kDigits; ++i) {
      const std::int64_t digit = digits_[i] + over;
      over = digit >> 32;
      digits_[i] = digit & static_cast<std::int64_t>(kDigitMask);
    }
    digits_.back() += over;
    n_terms_ &= kNotFinite;
  }

  [[nodiscard]] std::uint64_t digit(std::size_t i) const noexcept {
    return i < kDigits ? static_cast<std::uint64_t>(digits_[i]) : 0;
  }

  // REQUIRES: carried and not negative.
  [[nodiscard]] double rounded() const noexcept {
    std::size_t top = kDigits - 1;
    while (top > 0 && digits_[top] == 0)
      --top;
    const int length = static_cast<int>(top) * 32 + static_cast<int>(std::bit_width(digit(top)));
    // The upper 64 bits, and whether anything is below them.
    const int first = std::max(0, length - 64);
    const auto at = static_cast<std::size_t>(first) / 32;
    const int shift = first % 32;
    std::uint64_t bits = (digit(at) | digit(at + 1) << 32) >> shift;
    if (shift != 0) bits |= digit(at + 2) << (64 - shift);
    bool below = shift != 0 && (digit(at) & ((std::uint64_t{1} << shift) - 1)) != 0;
    for (std::size_t i = 0; i < at; ++i)
      below = below || digits_[i] != 0;
    const int dropped = std::min(length, 64) - 53;
    if (dropped <= 0) return std::ldexp(static_cast<double>(bits), first + kLowest);
    const std::uint64_t rest = bits & ((std::uint64_t{1} << dropped) - 1);
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    std::uint64_t kept = bits >> dropped;
    if (rest > half || (rest == half && (below || (kept & 1) != 0))) ++kept;
    return std::ldexp(static_cast<double>(kept), first + dropped + kLowest);
  }

  std::array<std::int64_t, kDigits> digits_{};
  std::uint64_t n_terms_ = 0;  // since the last carry; and what is not finite
};

}  // namespace rubato

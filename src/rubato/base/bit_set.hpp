#pragma once
// BitSet: a set of small numbers of which few are in it, walked in ascending order without a look
// at those that are not.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rubato {

class BitSet {
 public:
  // Of numbers below n.
  explicit BitSet(std::size_t n) : words_((n + kBits - 1) / kBits) {}

  void insert(std::uint32_t i) noexcept { words_[i / kBits] |= bit(i); }
  void erase(std::uint32_t i) noexcept { words_[i / kBits] &= ~bit(i); }
  // Calls f(i) for each in ascending order until one returns true; true if one did. f may insert and
  // erase: what it does to numbers of the 64 that i is among is seen by the next walk.
  template <class F>
  bool any_of(F f) const {  // NOLINT(modernize-use-nodiscard): many do not care
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t left = words_[w]; left != 0; left &= left - 1) {
        if (f(static_cast<std::uint32_t>(w * kBits) +
              static_cast<std::uint32_t>(std::countr_zero(left))))
          return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return words_.capacity() * sizeof(words_[0]); }

 private:
  static constexpr std::uint32_t kBits = 64;
  [[nodiscard]] static std::uint64_t bit(std::uint32_t i) noexcept {
    return std::uint64_t{1} << (i % kBits);
  }

  std::vector<std::uint64_t> words_;
};

}  // namespace rubato

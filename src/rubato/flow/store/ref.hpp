#pragma once
// DataId and Ref: what names a datum, and what gives the right to use it.

#include <cstdint>

#include "rubato/core/job_shape.hpp"

namespace rubato::flow {

using core::CoreId;

// A datum: the core that keeps it, and its place there: 24 bits and 38. Two bits between them say
// that it is a container, and that all cores may use it: they have members of the container, or
// tasks that are counted.
struct DataId {
  std::uint64_t word = 0;  // 0: none

  static DataId of(CoreId home, std::uint64_t slot) noexcept {
    return {(std::uint64_t{home} << 40) | (slot + 1)};
  }
  // The same, of a count of tasks that are spread over all cores.
  [[nodiscard]] DataId of_spread() const noexcept { return {word | kSpread}; }
  // The same as a container's.
  [[nodiscard]] DataId of_container(bool is_spread) const noexcept {
    return {word | kContainer | (is_spread ? kSpread : 0)};
  }
  [[nodiscard]] CoreId home() const noexcept { return static_cast<CoreId>(word >> 40); }
  [[nodiscard]] std::uint64_t slot() const noexcept { return (word & (kContainer - 1)) - 1; }
  [[nodiscard]] bool is_container() const noexcept { return (word & kContainer) != 0; }
  [[nodiscard]] bool is_spread() const noexcept { return (word & kSpread) != 0; }
  explicit operator bool() const noexcept { return word != 0; }
  bool operator==(const DataId&) const = default;

  static constexpr std::uint64_t kSpread = std::uint64_t{1} << 39;
  static constexpr std::uint64_t kContainer = std::uint64_t{1} << 38;
};

// A part of the right to read a datum, or to write it. The parts that are out add up to what its
// home has given away; a datum that nobody may read is freed, a container that nobody may write is
// closed. Copies of a reference share its weight, so that no copy costs a message.
struct Ref {
  DataId id;
  std::uint64_t weight = 0;
};

inline constexpr std::uint64_t kWholeWeight = std::uint64_t{1} << 62;

// What a copy of a reference of that weight gets; 0: too little is left for two.
[[nodiscard]] constexpr std::uint64_t weight_for_copy(std::uint64_t weight) noexcept {
  if (weight > std::uint64_t{1} << 40) return std::uint64_t{1} << 32;
  if (weight > std::uint64_t{1} << 20) return std::uint64_t{1} << 12;
  return weight / 2;
}

}  // namespace rubato::flow

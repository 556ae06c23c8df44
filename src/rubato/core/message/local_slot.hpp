#pragma once
// LocalSlot: where the cores' own objects of a type (CoreContext::local) are among those of other
// types.

#include <cstddef>

namespace rubato::core::detail {

[[nodiscard]] std::size_t next_local_slot();

template <class T>
struct LocalSlot {
  // NOLINTNEXTLINE(readability-identifier-naming): set before main, then constant
  static inline const std::size_t kIndex = next_local_slot();
};

}  // namespace rubato::core::detail

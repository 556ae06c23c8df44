#pragma once
// LocalSlot: where an object that a core has (CoreContext::local), or a node (of_node), is among those of
// other types.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace rubato::core::detail {

[[nodiscard]] std::size_t next_local_slot();

template <class T>
struct LocalSlot {
  // NOLINTNEXTLINE(readability-identifier-naming): set before main, then constant
  static inline const std::size_t kIndex = next_local_slot();
};

class LocalObjects {
 public:
  // Null if there is none yet.
  [[nodiscard]] std::shared_ptr<void>& at(std::size_t slot) {
    if (slot >= objects_.size()) objects_.resize(slot + 1);
    return objects_[slot];
  }

 private:
  std::vector<std::shared_ptr<void>> objects_;  // [LocalSlot]
};

// Those that the cores of a node share.
struct NodeObjects {
  std::mutex mutex;
  LocalObjects objects;  // under it
};

}  // namespace rubato::core::detail

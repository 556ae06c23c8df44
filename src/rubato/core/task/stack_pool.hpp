#pragma once
// StackPool: the stacks of a core's workers, in two classes.
//
//   guarded   64 KiB below each stack that nobody may touch: an overflow faults at once. Pages are
//             taken as they are used. The kernel allows about 30,000 of them in a process.
//   small     back to back in an arena of huge pages, for hundreds of thousands: an overflow runs into
//             the stack below. A word at the low end of each tells of it (is_whole).
//
// Not for several threads at once. Memory is given back when the pool ends.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rubato::core::detail {

enum class StackClass : std::uint8_t { guarded, small };

struct Stack {
  char* low = nullptr;  // of the usable part
  std::uint32_t n_bytes = 0;
  StackClass of_class = StackClass::guarded;

  [[nodiscard]] char* top() const noexcept { return low + n_bytes; }
};

struct StackPoolOptions {
  std::size_t guarded_bytes = std::size_t{64} << 10;
  // Of a core. All cores of the process together have no more than the kernel lets a process have
  // (vm.max_map_count: two areas for each); some of them are each core's own, whatever others take.
  std::size_t n_guarded_max = 16'000;
  std::size_t small_bytes = std::size_t{4} << 10;
  std::size_t n_small_max = SIZE_MAX;  // of a core; the kernel has no limit for them
};

class StackPool {
 public:
  // Sizes are rounded up: of guarded stacks to pages, of small ones to lines of 64 bytes. Throws
  // Error (usage) for a size below kLeast or above kMost.
  explicit StackPool(const StackPoolOptions& options);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  static constexpr std::size_t kLeast = 2048;
  static constexpr std::size_t kMost = std::size_t{1} << 30;

  // A new stack, or one of no bytes if all that there may be are in use: of n_guarded_max or n_small_max, or
  // of the process, which another core may have asked for the last of. Throws Error if the machine has no memory.
  [[nodiscard]] Stack make(StackClass of_class);
  [[nodiscard]] bool has_guarded() const noexcept {
    return n_guarded_ < options_.n_guarded_max && (n_guarded_ < n_own() || n_beyond_left() > 0);
  }
  [[nodiscard]] bool has_small() const noexcept { return n_small_ < options_.n_small_max; }
  // Guarded stacks that a core may have however many others have: fewer where cores are so many that
  // these would be more than half of all, but one.
  static constexpr std::size_t kOwnMost = 32;
  // What this pool may have if all of the process have equally many.
  [[nodiscard]] std::size_t n_guarded_share() const noexcept;
  // Of all pools of the process, if these are not more themselves.
  [[nodiscard]] static std::size_t guarded_of_process_most() noexcept;

  // False if something was written below a small stack's end. A guarded one is always whole.
  [[nodiscard]] static bool is_whole(const Stack& stack) noexcept {
    return stack.of_class == StackClass::guarded ||
           *reinterpret_cast<const std::uint64_t*>(stack.low) == kCanary;
  }

  // Tasks that never end are left on these stacks.
  void abandon() noexcept { abandoned_ = true; }

  // Below each guarded stack, or a page more.
  [[nodiscard]] std::size_t guard_bytes() const noexcept { return guard_bytes_; }
  [[nodiscard]] std::size_t n_guarded() const noexcept { return n_guarded_; }
  [[nodiscard]] std::size_t n_small() const noexcept { return n_small_; }
  [[nodiscard]] const StackPoolOptions& options() const noexcept { return options_; }

 private:
  static constexpr std::uint64_t kCanary = 0x5ca1ab1e0ddba11;

  struct Mapping {
    char* begin = nullptr;
    std::size_t n_bytes = 0;
  };

  [[nodiscard]] static std::size_t n_own() noexcept;
  // Of what all cores together have beyond their own.
  [[nodiscard]] static std::size_t n_beyond_left() noexcept;
  [[nodiscard]] static bool take_beyond() noexcept;
  [[nodiscard]] Stack make_guarded();
  [[nodiscard]] Stack make_small();

  StackPoolOptions options_;
  std::size_t page_bytes_;
  std::size_t guard_bytes_;
  std::size_t n_guarded_ = 0;
  std::size_t n_beyond_ = 0;  // of these: beyond its own
  std::size_t n_small_ = 0;
  std::vector<Mapping> mappings_;
  char* next_small_ = nullptr;  // in the newest arena
  char* end_small_ = nullptr;
  std::size_t arena_bytes_;  // of the next one
  bool abandoned_ = false;
};

}  // namespace rubato::core::detail

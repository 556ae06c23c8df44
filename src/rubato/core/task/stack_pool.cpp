#include "rubato/core/task/stack_pool.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/core/task/context.hpp"

namespace rubato::core::detail {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kArenaMost = std::size_t{64} << 20;
constexpr std::size_t kLine = 64;
constexpr std::size_t kMargin = std::size_t{16} << 10;
// Below a guarded stack: a frame of a library that was not built to touch each of its pages is rarely larger.
constexpr std::size_t kGuard = std::size_t{64} << 10;

// The kernel counts by process.
std::atomic<std::size_t> n_pools_of_process{0};
std::atomic<std::size_t> n_beyond_of_process{0};

constexpr std::size_t rounded(std::size_t n, std::size_t to) {
  return (n + to - 1) / to * to;
}

// Address space; the kernel gives memory to it page by page, as it is touched.
char* map(std::size_t n_bytes, int protection) {
  void* at = mmap(nullptr, n_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    throw Error("stacks of tasks: the system refuses " + std::to_string(n_bytes) +
                    " bytes: " + std::strerror(errno),
                ExitCode::failed);
  }
  return static_cast<char*>(at);
}

void check_size(const char* what, std::size_t n_bytes) {
  if (n_bytes >= StackPool::kLeast && n_bytes <= StackPool::kMost) return;
  throw Error(std::string("stacks of tasks: expected ") + what + " stacks of " +
                  std::to_string(StackPool::kLeast) + " to " + std::to_string(StackPool::kMost) +
                  " bytes, found " + std::to_string(n_bytes),
              ExitCode::usage);
}

// Half of what the kernel has in areas, with room for heaps, libraries and threads.
std::size_t guarded_by_kernel() {
  constexpr std::size_t kAreasUsually = 65'530;
  constexpr std::size_t kOthers = 6'000;
  std::size_t n_areas = 0;
  if (!(std::ifstream("/proc/sys/vm/max_map_count") >> n_areas)) n_areas = kAreasUsually;
  return (std::max(n_areas, 2 * kOthers) - kOthers) / 2;
}

}  // namespace

std::size_t StackPool::guarded_of_process_most() noexcept {
  static const std::size_t n = guarded_by_kernel();
  return n;
}

std::size_t StackPool::n_own() noexcept {
  return std::clamp<std::size_t>(guarded_of_process_most() / (2 * n_pools_of_process), 1, kOwnMost);
}

std::size_t StackPool::n_guarded_share() const noexcept {
  const std::size_t n_pools = n_pools_of_process;
  return std::clamp<std::size_t>(guarded_of_process_most() / n_pools, 1,
                                 std::max<std::size_t>(options_.n_guarded_max, 1));
}

std::size_t StackPool::n_beyond_left() noexcept {
  const std::size_t n_most = guarded_of_process_most();
  const std::size_t n_taken = n_pools_of_process * n_own() + n_beyond_of_process;
  return n_most - std::min(n_most, n_taken);
}

// One of those, while other cores take some.
bool StackPool::take_beyond() noexcept {
  const std::size_t n_of_all = n_pools_of_process * n_own();
  std::size_t n = n_beyond_of_process;
  do {
    if (n_of_all + n >= guarded_of_process_most()) return false;
  } while (!n_beyond_of_process.compare_exchange_weak(n, n + 1));
  return true;
}

StackPool::StackPool(const StackPoolOptions& options)
    : options_(options),
      page_bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
      guard_bytes_(rounded(kGuard, page_bytes_)),
      arena_bytes_(kHugePage) {
  check_size("guarded", options_.guarded_bytes);
  check_size("small", options_.small_bytes);
  ++n_pools_of_process;
  options_.guarded_bytes = rounded(options_.guarded_bytes, page_bytes_);
  options_.small_bytes = rounded(options_.small_bytes, kLine);
}

StackPool::~StackPool() {
  n_beyond_of_process -= n_beyond_;
  --n_pools_of_process;
  for (const Mapping& mapping : mappings_) {
    if (abandoned_ && keep_stacks(mapping.begin, mapping.n_bytes)) continue;
    forget_stacks(mapping.begin, mapping.n_bytes);
    munmap(mapping.begin, mapping.n_bytes);
  }
}

Stack StackPool::make(StackClass of_class) {
  return of_class == StackClass::guarded ? make_guarded() : make_small();
}

Stack StackPool::make_guarded() {
  if (n_guarded_ >= options_.n_guarded_max) return {};
  if (n_guarded_ >= n_own()) {
    if (!take_beyond()) return {};
    ++n_beyond_;
  }
  // An odd number of pages, so that the upper ends, which are in use, do not all fall into the same few
  // entries of what a processor knows of pages.
  const std::size_t n_pages = (guard_bytes_ + options_.guarded_bytes) / page_bytes_;
  const std::size_t n_guard = guard_bytes_ + (n_pages % 2 == 0 ? page_bytes_ : 0);
  const std::size_t n_bytes = n_guard + options_.guarded_bytes;
  char* begin = map(n_bytes, PROT_NONE);
  mappings_.push_back({begin, n_bytes});
  if (mprotect(begin + n_guard, options_.guarded_bytes, PROT_READ | PROT_WRITE) != 0) {
    throw Error(std::string("stacks of tasks: the system refuses to guard a stack: ") +
                    std::strerror(errno) +
                    "; the limit vm.max_map_count of this machine may be reached",
                ExitCode::failed);
  }
  ++n_guarded_;
  return {begin + n_guard, static_cast<std::uint32_t>(options_.guarded_bytes), StackClass::guarded};
}

// One line more than asked for lies between two stacks, so that their upper ends, which are in use,
// do not all fall into the same few sets of a cache.
Stack StackPool::make_small() {
  if (!has_small()) return {};
  const std::size_t stride = options_.small_bytes + kLine;
  if (next_small_ == nullptr || static_cast<std::size_t>(end_small_ - next_small_) < stride) {
    const std::size_t n_bytes = rounded(std::max(arena_bytes_, stride + kMargin), kHugePage);
    char* begin = map(n_bytes + kHugePage, PROT_READ | PROT_WRITE);
    mappings_.push_back({begin, n_bytes + kHugePage});
    const auto aligned = rounded(reinterpret_cast<std::uintptr_t>(begin), kHugePage);
    next_small_ = begin + (aligned - reinterpret_cast<std::uintptr_t>(begin));
    end_small_ = next_small_ + n_bytes;
    // Of stacks that are mostly unused, huge pages would take what nobody needs.
    if (options_.small_bytes <= 2 * page_bytes_) madvise(next_small_, n_bytes, MADV_HUGEPAGE);
    // Where the lowest stack of all may overflow into, until that is noticed.
    next_small_ += kMargin;
    arena_bytes_ = std::min(2 * arena_bytes_, kArenaMost);
  }
  const Stack stack{next_small_, static_cast<std::uint32_t>(options_.small_bytes),
                    StackClass::small};
  next_small_ += stride;
  std::memcpy(stack.low, &kCanary, sizeof kCanary);
  ++n_small_;
  return stack;
}

}  // namespace rubato::core::detail

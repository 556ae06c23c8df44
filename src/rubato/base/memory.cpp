#include "rubato/base/memory.hpp"

#include <malloc.h>
#include <unistd.h>

namespace rubato {

std::uint64_t physical_memory() noexcept {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
}

std::uint64_t second_level_cache() noexcept {
#ifdef _SC_LEVEL2_CACHE_SIZE
  const long n_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return n_bytes > 0 ? static_cast<std::uint64_t>(n_bytes) : 0;
#else
  return 0;
#endif
}

void keep_freed_memory() noexcept {
#ifdef __GLIBC__
  constexpr int kMmapThreshold = 32 << 20;  // the largest that glibc takes
  constexpr int kTrimThreshold = 64 << 20;
  mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  mallopt(M_TRIM_THRESHOLD, kTrimThreshold);
#endif
}

}  // namespace rubato

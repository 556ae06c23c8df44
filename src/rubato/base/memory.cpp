#include "rubato/base/memory.hpp"

#include <algorithm>
#include <fstream>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rubato {

std::uint64_t physical_memory() noexcept {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
}

std::uint64_t addresses_left() noexcept {
  rlimit most{};
  if (getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  std::uint64_t n_pages = 0;  // in use; as none if the system does not say
  std::ifstream("/proc/self/statm") >> n_pages;
  const std::uint64_t n_used = n_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  return most.rlim_cur - std::min<std::uint64_t>(n_used, most.rlim_cur);
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

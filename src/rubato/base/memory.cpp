#include "rubato/base/memory.hpp"

#include <unistd.h>

namespace rubato {

std::uint64_t physical_memory() noexcept {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace rubato

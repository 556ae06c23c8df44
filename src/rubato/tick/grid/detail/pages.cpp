#include "rubato/tick/grid/detail/pages.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <sys/mman.h>

#include "rubato/base/error.hpp"

namespace rubato::tick::detail {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPage = 4096;

// `n_bytes` of zeroes; where whole huge pages fit in, they begin at one.
void* map(std::size_t n_bytes) {
  const bool huge = n_bytes >= kHugePage;
  const std::size_t n_reserved = n_bytes + (huge ? kHugePage : 0);
  void* const reserved =
      mmap(nullptr, n_reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  if (!huge) return reserved;
  auto* const begin = static_cast<std::byte*>(reserved);
  const std::size_t lead =
      (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  const std::size_t used = (n_bytes + kPage - 1) / kPage * kPage;
  if (lead > 0) munmap(begin, lead);
  if (lead + used < n_reserved) munmap(begin + lead + used, n_reserved - lead - used);
  madvise(begin + lead, used, MADV_HUGEPAGE);
  return begin + lead;
}

}  // namespace

Pages::Pages(std::size_t n_bytes) : n_bytes_(n_bytes) {
  if (n_bytes == 0) return;
  data_ = map(n_bytes);
  if (data_ == nullptr) {
    throw Error("no room for " + std::to_string(n_bytes >> 20) + " MiB: " + std::strerror(errno),
                ExitCode::failed);
  }
#ifdef MADV_POPULATE_WRITE
  // Faults taken now are not taken in the first ticks; kernels before 5.14 refuse, and then they
  // are.
  madvise(data_, n_bytes, MADV_POPULATE_WRITE);
#endif
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, n_bytes_);
}

}  // namespace rubato::tick::detail

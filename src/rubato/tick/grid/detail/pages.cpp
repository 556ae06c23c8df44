#include "rubato/tick/grid/detail/pages.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <sys/mman.h>

#include "rubato/base/error.hpp"

namespace rubato::tick::detail {
namespace {
constexpr std::size_t kHugeFrom = std::size_t{4} << 20;
}  // namespace

Pages::Pages(std::size_t n_bytes) : n_bytes_(n_bytes) {
  if (n_bytes == 0) return;
  data_ = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    throw Error("no room for " + std::to_string(n_bytes >> 20) + " MiB: " + std::strerror(errno),
                ExitCode::failed);
  }
  if (n_bytes >= kHugeFrom) madvise(data_, n_bytes, MADV_HUGEPAGE);
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

#include "rubato/global/travel.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace rubato::global::detail {
namespace {

// Programs (position-independent ones), heaps and stacks lie in between: in the last of 47 bits on
// x86-64, of 48 on aarch64, whose programs begin at 0xaaaa..; numbers that mean something else seldom do.
constexpr std::uint64_t kLeast = std::uint64_t{1} << 45;
#if defined(__x86_64__)
constexpr std::uint64_t kMost = std::uint64_t{1} << 47;
#else
constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
#endif

bool is_in_use(std::uint64_t word) {
  if (word < kLeast || word >= kMost) return false;
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(word / page_bytes * page_bytes);  // NOLINT
  return msync(page, page_bytes, MS_ASYNC) == 0 || errno != ENOMEM;
}

// Where the first word is that is an address in use; n_bytes: nowhere.
std::size_t find_address(const void* bytes, std::size_t n_bytes) {
  const auto* at = static_cast<const std::byte*>(bytes);
  for (std::size_t i = 0; i + sizeof(std::uint64_t) <= n_bytes; i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + i, sizeof word);
    if (is_in_use(word)) return i;
  }
  return n_bytes;
}

}  // namespace

void check_addresses(const void* bytes, std::size_t n_bytes, std::string_view type) {
  const std::size_t i = find_address(bytes, n_bytes);
  RUBATO_REQUIRE(i == n_bytes &&
                     "what is sent to other cores captures an address, which means nothing on "
                     "another node: capture values and GlobalPtrs",
                 i, type);
}

bool warn_of_addresses(const void* bytes, std::size_t n_bytes, std::string_view type) {
  if (find_address(bytes, n_bytes) == n_bytes) return false;
  std::fprintf(stderr,
               "rubato: warning: what is sent to other cores captures an address; they may use it "
               "at once, and in a job of several nodes this would end it: capture values and "
               "GlobalPtrs: %.*s\n",
               static_cast<int>(type.size()), type.data());
  return true;
}

}  // namespace rubato::global::detail

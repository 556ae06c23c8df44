#include "rubato/core/identity.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <vector>

#include <elf.h>
#include <link.h>

#include "rubato/base/random.hpp"
#include "rubato/core/message/handlers.hpp"

namespace rubato::core {
namespace {

std::uint64_t hash_bytes(const char* data, std::size_t n, std::uint64_t hash) {
  // FNV-1a over 8 bytes at a time: an executable of 50 MB takes some 10 ms.
  constexpr std::uint64_t kPrime = 0x100000001b3;
  for (; n >= 8; data += 8, n -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, 8);
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 29;
  }
  for (; n > 0; ++data, --n)
    hash = (hash ^ static_cast<unsigned char>(*data)) * kPrime;
  return hash;
}

constexpr std::uint64_t kHashStart = 0xcbf29ce484222325;

// The linker's hash of what it linked, in a note of the executable; 0 if it wrote none.
int find_build_id(dl_phdr_info* info, std::size_t /*size*/, void* result) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);  // NOLINT
    const char* end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const std::size_t name_bytes = (note.n_namesz + 3U) & ~3U;
      const char* description = at + sizeof note + name_bytes;
      if (note.n_type == NT_GNU_BUILD_ID) {
        *static_cast<std::uint64_t*>(result) = hash_bytes(description, note.n_descsz, kHashStart);
        return 1;
      }
      at = description + ((note.n_descsz + 3U) & ~3U);
    }
  }
  return 1;  // the first object is the executable; the others do not matter
}

std::uint64_t build_hash() {
  std::uint64_t hash = 0;
  dl_iterate_phdr(find_build_id, &hash);
  if (hash != 0) return hash;
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::vector<char> buffer(1 << 16);  // tasks may ask, whose stacks are small
  hash = kHashStart;
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) ||
         file.gcount() > 0) {
    hash = hash_bytes(buffer.data(), static_cast<std::size_t>(file.gcount()), hash);
  }
  return hash;
}

std::uint64_t instruction_sets() {
  std::uint64_t bits = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const std::array<bool, 5> has = {
      __builtin_cpu_supports("fma") != 0, __builtin_cpu_supports("avx") != 0,
      __builtin_cpu_supports("avx2") != 0, __builtin_cpu_supports("avx512f") != 0,
      __builtin_cpu_supports("avx512dq") != 0};
  for (std::size_t i = 0; i < has.size(); ++i)
    bits |= std::uint64_t{has[i]} << i;
#endif
  return bits;
}

}  // namespace

Identity identity_of_this_process(std::uint32_t n_cores) {
  static const std::uint64_t build = build_hash();
  return {build, instruction_sets(), handler_table_hash(), n_cores};
}

std::string difference(const Identity& a, const Identity& b) {
  const auto both = [](std::uint64_t x, std::uint64_t y) {
    return std::to_string(x) + " and " + std::to_string(y);
  };
  if (a.build != b.build) return "different builds (" + both(a.build, b.build) + ")";
  if (a.handlers != b.handlers) return "different message handlers";
  if (a.n_cores != b.n_cores)
    return "different numbers of cores (" + both(a.n_cores, b.n_cores) + ")";
  if (a.instructions != b.instructions) {
    return "processors with different instruction sets (masks " +
           both(a.instructions, b.instructions) + ")";
  }
  return "";
}

}  // namespace rubato::core

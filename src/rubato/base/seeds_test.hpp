#pragma once
// How many seeds a property is tried with: RUBATO_SEEDS, by default 100 or what the property says. The
// slow label has entries with 1,000 to 10,000 (rubato_many_seeds in CMakeLists.txt of the layers).

#include <cstdint>
#include <cstdlib>

namespace rubato {

inline std::uint64_t n_seeds(std::uint64_t usual = 100) {
  const char* text = std::getenv("RUBATO_SEEDS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

}  // namespace rubato

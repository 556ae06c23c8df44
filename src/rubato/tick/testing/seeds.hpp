#pragma once
// How many seeds a property is tried with: RUBATO_SEEDS, by default 100 or what the property says. The
// slow label has entries with 1,000 and 10,000 (CMakeLists.txt).

#include <cstdint>
#include <cstdlib>

namespace rubato::tick::testing {

inline std::uint64_t n_seeds(std::uint64_t usual = 100) {
  const char* text = std::getenv("RUBATO_SEEDS");
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

}  // namespace rubato::tick::testing

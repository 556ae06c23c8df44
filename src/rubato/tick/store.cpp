#include "rubato/tick/store.hpp"

#include <xxhash.h>

namespace rubato::tick {

std::uint64_t tuple_hash(std::uint64_t id, ByteView bytes) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), id);
}

}  // namespace rubato::tick

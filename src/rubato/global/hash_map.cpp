#include "rubato/global/hash_map.hpp"

#include <xxhash.h>

#include "rubato/base/error.hpp"

namespace rubato::global::detail {

std::uint64_t hash_of_key(ByteView bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

void throw_too_many_keys() {
  throw Error("a core has 2^40 keys of a hash map, the most that fit: use more cores",
              ExitCode::failed);
}

}  // namespace rubato::global::detail

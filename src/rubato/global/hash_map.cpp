#include "rubato/global/hash_map.hpp"

#include <utility>

#include <xxhash.h>

#include "rubato/base/error.hpp"

namespace rubato::global::detail {
namespace {

constexpr std::size_t kKeptBytesMost = std::size_t{64} << 10;

// Of a core, while no task uses it: one that posts may wait.
struct SpareBytes {
  Bytes bytes;
};

}  // namespace

JoinedBytes::JoinedBytes(CoreContext& here, ByteView first, ByteView second)
    : here_(here), both_(std::exchange(here.local_or_make<SpareBytes>().bytes, {})) {
  both_.reserve(first.size() + second.size());
  both_.put_span(first);
  both_.put_span(second);
}

JoinedBytes::~JoinedBytes() {
  Bytes bytes = both_.take();
  if (bytes.capacity() <= kKeptBytesMost)
    here_.local_or_make<SpareBytes>().bytes = std::move(bytes);
}

std::uint64_t hash_of_key(ByteView bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

void throw_too_many_keys() {
  throw Error("a core has 2^40 keys of a hash map, the most that fit: use more cores",
              ExitCode::failed);
}

}  // namespace rubato::global::detail

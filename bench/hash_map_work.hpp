#pragma once
// The upserts of `hashmap`, and the baseline beside them: two threads and a map each, written by
// hand.

#include <cstdint>
#include <string>
#include <vector>

#include "bench/gups_work.hpp"

namespace rubato::bench {

// Keys of 10 to 16 characters; some do not fit a std::string in place.
[[nodiscard]] inline std::vector<std::string> hash_map_keys(std::uint64_t n) {
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < n; ++i)
    keys.push_back("user" +
                   std::to_string(1'000'000 + gups_word(i, UINT64_MAX) % 1'000'000'000'000));
  return keys;
}

// Million upserts a second: each thread counts the keys that its half of the hashes is of, in a
// tsl::robin_map, and hands pointers to the others' keys over in blocks. Blocks; checks the counts.
[[nodiscard]] double robin_map_upserts(const std::vector<std::string>& keys, std::uint64_t n);

}  // namespace rubato::bench

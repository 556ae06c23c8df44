#pragma once
// HashShard: the keys and values that one core has of a hash map. Nothing of it is sent.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "rubato/global/codec.hpp"

namespace rubato::global::detail {

[[noreturn]] void throw_too_many_keys();

// Entries one after the other, and a table of where they are, with a part of
// their hash, so that a search seldom looks at an entry that is not the one.
template <class K, class V>
class HashShard {
 public:
  struct Entry {
    K key;
    V value;
  };

  HashShard() : slots_(kSlotsLeast, kFree) {}

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] Entry& entry(std::size_t i) noexcept { return entries_[i]; }

  // What a search looks at, and then.
  [[nodiscard]] const void* slot_place(std::uint64_t hash) const noexcept {
    return &slots_[hash & (slots_.size() - 1)];
  }
  [[nodiscard]] const void* entry_place(std::uint64_t hash) const noexcept {
    const std::uint64_t slot = slots_[hash & (slots_.size() - 1)];
    return slot == kFree ? nullptr : entries_.data() + index_of(slot);
  }

  [[nodiscard]] V* find(std::uint64_t hash, ByteView key) noexcept {
    const std::size_t at = search(hash, key);
    return slots_[at] == kFree ? nullptr : &entries_[index_of(slots_[at])].value;
  }
  // The value of the key, and whether it was there; otherwise it is `value` now.
  // What is inserted is moved from.
  template <class U>
  std::pair<V*, bool> insert(std::uint64_t hash, ByteView key, U&& value) {
    std::size_t at = search(hash, key);
    if (slots_[at] != kFree) return {&entries_[index_of(slots_[at])].value, true};
    if ((entries_.size() + 1) * 3 > slots_.size() * 2) {
      grow();
      at = search(hash, key);
    }
    if (entries_.size() > kIndexMask) throw_too_many_keys();
    // The slot at last: what a codec throws must not leave one for an entry that is not there.
    entries_.push_back({Codec<K>::make(key), std::forward<U>(value)});
    hashes_.push_back(hash);
    slots_[at] = slot_of(hash, entries_.size() - 1);
    return {&entries_.back().value, false};
  }
  void clear() noexcept {
    std::ranges::fill(slots_, kFree);
    entries_.clear();
    hashes_.clear();
  }
  [[nodiscard]] std::uint64_t hash(std::size_t i) const noexcept { return hashes_[i]; }
  bool erase(std::uint64_t hash, ByteView key) {
    const std::size_t at = search(hash, key);
    if (slots_[at] == kFree) return false;
    const std::size_t index = index_of(slots_[at]);
    close_gap(at);
    // The last entry takes its place.
    const std::size_t last = entries_.size() - 1;
    if (index != last) {
      slots_[slot_with(hashes_[last], last)] = slot_of(hashes_[last], index);
      entries_[index] = std::move(entries_[last]);
      hashes_[index] = hashes_[last];
    }
    entries_.pop_back();
    hashes_.pop_back();
    return true;
  }

 private:
  // Of a slot: 24 bits of the hash that the place does not tell, 40 of the index.
  static constexpr std::uint64_t kFree = UINT64_MAX;
  static constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << 40) - 2;
  static constexpr std::uint64_t kTagMask = ~((std::uint64_t{1} << 40) - 1);
  static constexpr std::size_t kSlotsLeast = 64;

  [[nodiscard]] static std::uint64_t slot_of(std::uint64_t hash, std::size_t index) noexcept {
    return (hash & kTagMask) | index;
  }
  [[nodiscard]] static std::size_t index_of(std::uint64_t slot) noexcept {
    return slot & ~kTagMask;
  }
  // Where the key is, or a free slot. Linear probing: the next slots are in the same line.
  [[nodiscard]] std::size_t search(std::uint64_t hash, ByteView key) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      const std::uint64_t slot = slots_[at];
      if (slot == kFree) return at;
      if (((slot ^ hash) & kTagMask) != 0) continue;
      const auto& whole = Codec<K>::bytes(entries_[index_of(slot)].key);
      const ByteView found = whole;
      if (found.size() != key.size()) continue;
      // Of an empty one there may be no address to compare.
      if (key.empty() || std::memcmp(found.data(), key.data(), key.size()) == 0) return at;
    }
  }
  [[nodiscard]] std::size_t slot_with(std::uint64_t hash, std::size_t index) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at] != slot_of(hash, index))
      at = (at + 1) & mask;
    return at;
  }
  void grow() {
    slots_.assign(slots_.size() * 2, kFree);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::size_t at = hashes_[i] & mask;
      while (slots_[at] != kFree)
        at = (at + 1) & mask;
      slots_[at] = slot_of(hashes_[i], i);
    }
  }
  // Moves back who stands behind because the slot was taken, so that no search ends too early.
  void close_gap(std::size_t gap) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = (gap + 1) & mask; slots_[at] != kFree; at = (at + 1) & mask) {
      const std::size_t wanted = hashes_[index_of(slots_[at])] & mask;
      if (((at - wanted) & mask) < ((at - gap) & mask)) continue;
      slots_[gap] = slots_[at];
      gap = at;
    }
    slots_[gap] = kFree;
  }

  std::vector<std::uint64_t> slots_;
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace rubato::global::detail

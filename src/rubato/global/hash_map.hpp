#pragma once
// GlobalHashMap: keys and values over all cores; a key's hash says whose it is.
//
//   auto counts = GlobalHashMap<std::string, std::uint64_t>::make();
//   finish([&] { for (..) counts.async_upsert(word, 1, [](std::uint64_t& n, std::uint64_t more) { n += more; }); });
//   std::optional<std::uint64_t> n = counts.find("the");
//   forall(counts, [](const std::string& word, std::uint64_t& n) { .. });      at the owners, in place
//   counts.free();
//
// A handle: copied and sent as it is. Keys are strings or plain values, or any type with a
// KeyCodec; values are plain. Operations on one key are delegates of its owner, so each is atomic
// and all are in one order. Tables grow as they are filled. An insertion asks for what it will
// touch some records ahead: where its hash points, then what lies there.

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/per_core.hpp"

namespace rubato::global {

// How a key travels and is compared: as bytes. A key of a user's own type specialises it.
template <class K>
struct KeyCodec {
  static_assert(Unpadded<K>, "a key is a string, a plain value without padding, or has a KeyCodec");
  // Of every key. A codec of keys of several lengths has no such member.
  static constexpr std::size_t kBytes = sizeof(K);
  static ByteView bytes(const K& key) noexcept { return std::as_bytes(std::span(&key, 1)); }
  static K make(ByteView bytes) {
    K key;
    std::memcpy(&key, bytes.data(), sizeof key);
    return key;
  }
};
template <>
struct KeyCodec<std::string> {
  static ByteView bytes(std::string_view key) noexcept {
    return std::as_bytes(std::span(key.data(), key.size()));
  }
  static std::string make(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

template <class K, class V>
class GlobalHashMap;

namespace detail {

// The key as one whose bytes last as long as the result: itself, a view of a string, or converted.
template <class K, class Key>
[[nodiscard]] decltype(auto) as_key(const Key& key) {
  if constexpr (std::is_same_v<K, Key>) {
    return (key);
  } else if constexpr (std::is_same_v<K, std::string>) {
    return std::string_view(key);
  } else {
    return static_cast<K>(key);
  }
}

// The same on all machines.
[[nodiscard]] std::uint64_t hash_of_key(ByteView bytes) noexcept;
[[noreturn]] void throw_too_many_keys();

// The keys of one core: entries one after the other, and a table of where they are, with a part of
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

  void prefetch(std::uint64_t hash) const noexcept {
    __builtin_prefetch(&slots_[hash & (slots_.size() - 1)], 1);
  }
  void prefetch_entry(std::uint64_t hash) const noexcept {
    const std::uint64_t slot = slots_[hash & (slots_.size() - 1)];
    if (slot != kFree) __builtin_prefetch(entries_.data() + index_of(slot), 1);
  }

  [[nodiscard]] V* find(std::uint64_t hash, ByteView key) noexcept {
    const std::size_t at = search(hash, key);
    return slots_[at] == kFree ? nullptr : &entries_[index_of(slots_[at])].value;
  }
  // The value of the key, and whether it was there; otherwise it is `value` now.
  std::pair<V*, bool> insert(std::uint64_t hash, ByteView key, const V& value) {
    std::size_t at = search(hash, key);
    if (slots_[at] != kFree) return {&entries_[index_of(slots_[at])].value, true};
    if ((entries_.size() + 1) * 3 > slots_.size() * 2) {
      grow();
      at = search(hash, key);
    }
    if (entries_.size() > kIndexMask) throw_too_many_keys();
    // The slot at last: what a codec throws must not leave one for an entry that is not there.
    entries_.push_back({KeyCodec<K>::make(key), value});
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
      const ByteView found = KeyCodec<K>::bytes(entries_[index_of(slot)].key);
      if (found.size() == key.size() && std::memcmp(found.data(), key.data(), key.size()) == 0) {
        return at;
      }
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

template <class K, class V, class F>
struct UpsertRecord {
  PerCore<HashShard<K, V>> shards;
  std::uint64_t hash;
  V value;
  [[no_unique_address]] F combine;
  void prefetch(CoreContext& here) const { shards.in(here).prefetch(hash); }
  void prefetch_again(CoreContext& here) const { shards.in(here).prefetch_entry(hash); }
  void apply(CoreContext& here, ByteView key) const {
    const auto [found, was_there] = shards.in(here).insert(hash, key, value);
    if (was_there) combine(*found, value);
  }
};

// f(value or null), whose result is waited for.
template <class K, class V, class F>
struct KeyCallRecord {
  PerCore<HashShard<K, V>> shards;
  std::uint64_t hash;
  Place reply;
  [[no_unique_address]] F f;
  void apply(CoreContext& here, ByteView key) const {
    using R = std::invoke_result_t<const F&, HashShard<K, V>&, std::uint64_t, ByteView>;
    const R result = f(shards.in(here), hash, key);
    check_travels(here, result);
    here.post(here.source(), ReplyRecord<R>{reply, result});
  }
};

// Upserts that a core holds back, to combine those of one key: of one map, one function and one
// scope at a time.
template <class K, class V, class F>
class HeldUpserts final : public core::Combiner {
 public:
  static constexpr std::size_t kKeysMost = 4096;

  void upsert(CoreContext& here, const GlobalHashMap<K, V>& map, ByteView key, const V& value,
              const F& combine) {
    Held old;
    const bool is_other = !(map == held_.map && here.scope() == held_.scope);
    if (is_other || held_.keys.size() >= kKeysMost) old = take(map, here.scope(), combine);
    const std::uint64_t hash = hash_of_key(key);
    const auto [found, was_there] = held_.keys.insert(hash, key, value);
    if (was_there) {
      combine(*found, value);
      here.note_combined();
    } else if (held_.keys.size() == 1) {
      here.begin_in_scope(held_.scope);
      here.hold_back(*this);
    }
    send(here, old);  // last: it may wait, and others come here meanwhile
  }
  void flush(CoreContext& here) override {
    Held old = take(held_.map, held_.scope, *held_.combine);
    send(here, old);
  }

 private:
  struct Held {
    GlobalHashMap<K, V> map;
    core::FinishId scope = 0;
    std::optional<F> combine;
    HashShard<K, V> keys;
  };

  Held take(const GlobalHashMap<K, V>& map, core::FinishId scope, const F& combine) {
    Held next{map, scope, combine, std::move(spare_)};
    spare_ = {};
    return std::exchange(held_, std::move(next));
  }
  void send(CoreContext& here, Held& old) {
    if (old.keys.size() == 0) return;
    {
      const CoreContext::RunningScope inside(here, old.scope);
      for (std::size_t i = 0; i < old.keys.size(); ++i) {
        auto& entry = old.keys.entry(i);
        old.map.post_upsert(here, old.keys.hash(i), KeyCodec<K>::bytes(entry.key), entry.value,
                            *old.combine);
      }
    }
    here.end_in_scope(old.scope);
    old.keys.clear();
    spare_ = std::move(old.keys);
  }

  Held held_;
  HashShard<K, V> spare_;
};

template <class V>
struct Found {
  V value;
  bool is_there;
};

}  // namespace detail

template <class K, class V>
class GlobalHashMap {
  static_assert(std::is_trivially_copyable_v<V>, "values of a global hash map are plain");

 public:
  GlobalHashMap() = default;

  // An empty one. Called by a task; waits.
  [[nodiscard]] static GlobalHashMap make();
  // Called by a task when nobody uses it any more; waits.
  void free() const { shards_.free(); }

  // Inserts the value, or combine(value that is there, value); the surrounding finish() waits. What
  // `combine` captures travels.
  template <class Key, class F>
  void async_upsert(const Key& key, const V& value, const F& combine) const {
    static_assert(detail::Travels<F>, "what combines values must be trivially copyable");
    const auto& whole = detail::as_key<K>(key);
    const ByteView bytes = KeyCodec<K>::bytes(whole);
    CoreContext& here = CoreContext::here();
    detail::check_travels(here, combine);
    detail::check_travels(here, value);
    post_upsert(here, detail::hash_of_key(bytes), bytes, value, combine);
  }
  // The same for keys that come again and again: upserts of a key on this core are combined, by
  // `combine`, which is associative and commutative, and sent as one when there are many keys, or
  // the core has nothing else to do. What is held back is of one map (of these types) and one scope
  // at a time: whoever upserts into two by turns gains nothing, and pays for it.
  template <class Key, class F>
  void async_combine(const Key& key, const V& value, const F& combine) const {
    static_assert(
        std::is_empty_v<F> && detail::Travels<F>,
        "what combines values here must capture nothing: all of a key are combined by one");
    const auto& whole = detail::as_key<K>(key);
    CoreContext& here = CoreContext::here();
    detail::check_travels(here, value);
    here.local_or_make<detail::HeldUpserts<K, V, F>>().upsert(
        here, *this, KeyCodec<K>::bytes(whole), value, combine);
  }
  // The last one wins.
  template <class Key>
  void async_insert(const Key& key, const V& value) const {
    async_upsert(key, value, [](V& into, const V& v) { into = v; });
  }

  // The calls below are made by a task, and wait.
  template <class Key>
  [[nodiscard]] std::optional<V> find(const Key& key) const {
    const auto found = call_owner(key, [](Shard& shard, std::uint64_t hash, ByteView bytes) {
      const V* value = shard.find(hash, bytes);
      return value == nullptr ? detail::Found<V>{{}, false} : detail::Found<V>{*value, true};
    });
    if (!found.is_there) return std::nullopt;
    return found.value;
  }
  // Leaves a value that is there; true if there was none.
  template <class Key>
  // NOLINTNEXTLINE(modernize-use-nodiscard): many do not care
  bool insert(const Key& key, const V& value) const {
    return call_owner(key, [value](Shard& shard, std::uint64_t hash, ByteView bytes) {
      return !shard.insert(hash, bytes, value).second;
    });
  }
  // True if it was there.
  template <class Key>
  bool erase(const Key& key) const {  // NOLINT(modernize-use-nodiscard): many do not care
    return call_owner(key, [](Shard& shard, std::uint64_t hash, ByteView bytes) {
      return shard.erase(hash, bytes);
    });
  }
  // Keys on all cores. Exact where nobody inserts meanwhile.
  [[nodiscard]] std::uint64_t size() const {
    return shards_.reduce([](Shard& shard) { return std::uint64_t{shard.size()}; }, std::plus<>{});
  }

  // Of the calling core.
  [[nodiscard]] detail::HashShard<K, V>& local() const { return shards_.here(); }
  bool operator==(const GlobalHashMap&) const = default;

 private:
  template <class K2, class V2, class F2>
  friend class detail::HeldUpserts;

  using Shard = detail::HashShard<K, V>;

  // By the upper half, since the lower one is the place in the owner's table.
  [[nodiscard]] CoreId owner(std::uint64_t hash) const noexcept {
    return static_cast<CoreId>((hash >> 32) * n_cores_ >> 32);
  }
  template <class F>
  void post_upsert(CoreContext& here, std::uint64_t hash, ByteView key, const V& value,
                   const F& combine) const {
    here.post(owner(hash), detail::UpsertRecord<K, V, F>{shards_, hash, value, combine}, key);
  }
  template <class Key, class F>
  [[nodiscard]] auto call_owner(const Key& key, const F& f) const {
    using R = std::invoke_result_t<const F&, Shard&, std::uint64_t, ByteView>;
    const auto& whole = detail::as_key<K>(key);
    const ByteView bytes = KeyCodec<K>::bytes(whole);
    const std::uint64_t hash = detail::hash_of_key(bytes);
    CoreContext& here = CoreContext::here();
    if (owner(hash) == here.core()) {
      const detail::DelegateInPlace<F> inside(here);
      return f(local(), hash, bytes);
    }
    detail::check_travels(here, f);
    detail::Reply<R> reply;
    here.check_may_block();
    here.post(owner(hash),
              detail::KeyCallRecord<K, V, F>{shards_, hash, Place::at_address(&reply), f}, bytes);
    return reply.wait(here);
  }

  PerCore<Shard> shards_;
  std::uint64_t n_cores_ = 1;
};

template <class K, class V>
GlobalHashMap<K, V> GlobalHashMap<K, V>::make() {
  GlobalHashMap map;
  map.shards_ = PerCore<Shard>::make();
  map.n_cores_ = CoreContext::here().shape().n_cores_total();
  return map;
}

// Calls body(key, value) for each, on the core that has it; nobody inserts or erases meanwhile. The
// surrounding finish() waits.
template <class K, class V, class Body>
void async_forall(const GlobalHashMap<K, V>& map, const Body& body, LoopOptions options = {},
                  SourcePlace at = SourcePlace::here()) {
  static_assert(
      std::is_trivially_copyable_v<Body>,
      "the body of a loop is copied to all cores by its bytes: it must capture plain values");
  async_on_all_cores(
      [map, body, options, place = PortablePlace(at)] {
        auto* const shard = &map.local();
        const auto one = [shard, body](std::uint64_t i) {
          auto& entry = shard->entry(i);
          body(std::as_const(entry.key), entry.value);
        };
        detail::start_range<true>(CoreContext::here(), 0, shard->size(), one, options, place);
      },
      at);
}
template <class K, class V, class Body>
void forall(const GlobalHashMap<K, V>& map, const Body& body, LoopOptions options = {},
            SourcePlace at = SourcePlace::here()) {
  CoreContext::here().finish([&] { async_forall(map, body, options, at); });
}

}  // namespace rubato::global

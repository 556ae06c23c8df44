#pragma once
// GlobalHashSet: keys over all cores; a GlobalHashMap without values.
//
//   auto seen = GlobalHashSet<std::uint64_t>::make();
//   if (seen.insert(state)) ...          the first one, whoever else tries
//   forall(seen, [](const std::uint64_t& state) { .. });

#include <cstdint>
#include <utility>

#include "rubato/global/hash_map.hpp"

namespace rubato::global {

// A handle: copied and sent as it is. Keys as in GlobalHashMap.
template <class K>
class GlobalHashSet {
 public:
  struct Nothing {};
  using Map = GlobalHashMap<K, Nothing>;

  GlobalHashSet() = default;

  // An empty one. Called by a task; waits.
  [[nodiscard]] static GlobalHashSet make() {
    GlobalHashSet set;
    set.map_ = Map::make();
    return set;
  }
  // Called by a task when nobody uses it any more; waits.
  void free() const { map_.free(); }

  // Without waiting; the surrounding finish() does.
  template <class Key>
  void async_insert(const Key& key) const {
    map_.async_insert(key, Nothing{});
  }
  // The same for keys that come again and again: a key of this core is sent once for many times.
  template <class Key>
  void async_insert_combining(const Key& key) const {
    map_.async_combine(key, Nothing{}, [](Nothing& /*is there*/, const Nothing& /*new*/) {});
  }

  // Those of a range, one after the other, as async_insert_combining().
  template <class Keys>
  void async_insert_range(const Keys& keys) const {
    for (const auto& key : keys)
      async_insert_combining(key);
  }

  template <class Key>
  void async_erase(const Key& key) const {
    map_.async_erase(key);
  }

  // The calls below are made by a task, and wait.
  // True if it was not there.
  template <class Key>
  bool insert(const Key& key) const {  // NOLINT(modernize-use-nodiscard): as std::set's
    return map_.insert(key, Nothing{});
  }
  template <class Key>
  [[nodiscard]] bool contains(const Key& key) const {
    return map_.contains(key);
  }
  // True if it was there.
  template <class Key>
  bool erase(const Key& key) const {  // NOLINT(modernize-use-nodiscard): many do not care
    return map_.erase(key);
  }
  // All of them; while nobody uses the set.
  void clear() const { map_.clear(); }
  // The same for coroutines: co_await set.awaited_insert(key). They keep a copy of the key.
  template <class Key>
  [[nodiscard]] auto awaited_insert(Key key) const {
    return map_.awaited_insert(std::move(key), Nothing{});
  }
  template <class Key>
  [[nodiscard]] auto awaited_contains(Key key) const {
    return map_.awaited_contains(std::move(key));
  }
  template <class Key>
  [[nodiscard]] auto awaited_erase(Key key) const {
    return map_.awaited_erase(std::move(key));
  }

  // Its keys as those of a map without values.
  [[nodiscard]] const Map& map() const noexcept { return map_; }
  // Exact where nobody inserts meanwhile.
  [[nodiscard]] std::uint64_t size() const { return map_.size(); }

  // Calls body(key) for each, on the core that has it, while nobody inserts or erases. The
  // surrounding finish() waits.
  template <class Body>
  friend void async_forall(const GlobalHashSet& set, const Body& body, LoopOptions options = {},
                           SourcePlace at = SourcePlace::here()) {
    async_forall(
        set.map_, [body](const K& key, Nothing& /*value*/) -> decltype(auto) { return body(key); },
        options, at);
  }
  // The same, and waits.
  template <class Body>
  friend void forall(const GlobalHashSet& set, const Body& body, LoopOptions options = {},
                     SourcePlace at = SourcePlace::here()) {
    CoreContext::here().finish([&] { async_forall(set, body, options, at); });
  }

 private:
  Map map_;
};

}  // namespace rubato::global

#pragma once
// GlobalHashMap: keys and values over all cores; a key's hash says whose it is.
//
//   auto counts = GlobalHashMap<std::string, std::uint64_t>::make();
//   finish([&] { for (..) counts.async_upsert(word, 1, [](std::uint64_t& n, std::uint64_t more) { n += more; }); });
//   std::optional<std::uint64_t> n = counts.find("the");
//   forall(counts, [](const std::string& word, std::uint64_t& n) { .. });      at the owners, in place
//   counts.free();
//
// A handle: copied and sent as it is. Keys and values are strings, plain values, or any type that
// has a codec (codec.hpp). Plain values travel in the record, others behind the key. Operations on
// one key are delegates of its owner, so each is atomic and all are in one order. Tables grow as
// they are filled. An insertion asks for what it will touch some records ahead: where its hash
// points, then what lies there.

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rubato/global/array.hpp"
#include "rubato/global/codec.hpp"
#include "rubato/global/coroutine.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/hash_shard.hpp"
#include "rubato/global/per_core.hpp"

namespace rubato::global {

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

// Two ranges of bytes as one, for a message: in memory that the core keeps for the next one.
class JoinedBytes {
 public:
  JoinedBytes(CoreContext& here, ByteView first, ByteView second);
  JoinedBytes(const JoinedBytes&) = delete;
  JoinedBytes& operator=(const JoinedBytes&) = delete;
  ~JoinedBytes();

  [[nodiscard]] ByteView view() const noexcept { return both_.view(); }

 private:
  CoreContext& here_;
  Writer both_;
};

// The same on all machines.
[[nodiscard]] std::uint64_t hash_of_key(ByteView bytes) noexcept;

// A value that travels with its key: a plain one in the record, any other in the payload, behind the
// key.
template <class V>
struct BesideKey {
  [[no_unique_address]] Carried<V> value;

  explicit BesideKey(ByteView /*key*/, const V& of) noexcept : value(of) {}
  [[nodiscard]] ByteView key_of(ByteView payload) const noexcept { return payload; }
  [[nodiscard]] V value_of(ByteView /*payload*/) const noexcept { return value.get(); }
};
template <class V>
requires(!SentAsItIs<V>) struct BesideKey<V> {
  std::uint64_t n_key_bytes;

  explicit BesideKey(ByteView key, const V& /*of*/) noexcept : n_key_bytes(key.size()) {}
  [[nodiscard]] ByteView key_of(ByteView payload) const noexcept {
    return payload.first(n_key_bytes);
  }
  [[nodiscard]] V value_of(ByteView payload) const {
    return Codec<V>::make(payload.subspan(n_key_bytes));
  }
};

// The record, whose value is `value`, with its payload.
template <class V, class R>
void post_with_key(CoreContext& here, CoreId to, const R& record, ByteView key, const V& value) {
  if constexpr (SentAsItIs<V>) {
    here.post(to, record, key);
  } else {
    const auto& whole = Codec<V>::bytes(value);
    const JoinedBytes both(here, key, whole);
    here.post(to, record, both.view());
  }
}

template <class K, class V, class F>
struct UpsertRecord {
  PerCore<HashShard<K, V>> shards;
  std::uint64_t hash;
  [[no_unique_address]] BesideKey<V> beside;
  [[no_unique_address]] Carried<F> combine;
  const void* touches(CoreContext& here) const { return shards.in(here).slot_place(hash); }
  const void* touches_then(CoreContext& here) const { return shards.in(here).entry_place(hash); }
  void apply(CoreContext& here, ByteView payload) const {
    V value = beside.value_of(payload);
    const auto [found, was_there] =
        shards.in(here).insert(hash, beside.key_of(payload), std::move(value));
    // Not moved from, since it was there.
    if (was_there) combine.get()(*found, std::as_const(value));  // NOLINT(bugprone-use-after-move)
  }
};

// Inserts a value where there is none, and says so to a To<bool>.
template <class K, class V, template <class> class To = Reply>
struct InsertRecord {
  PerCore<HashShard<K, V>> shards;
  std::uint64_t hash;
  Place reply;
  [[no_unique_address]] BesideKey<V> beside;
  void apply(CoreContext& here, ByteView payload) const {
    const bool was_there =
        shards.in(here).insert(hash, beside.key_of(payload), beside.value_of(payload)).second;
    post_reply<To>(here, here.source(), reply, !was_there);
  }
};

// f(shard, hash, key), whose result is waited for with a To<R>.
template <class K, class V, class F, template <class> class To = Reply>
struct KeyCallRecord {
  PerCore<HashShard<K, V>> shards;
  std::uint64_t hash;
  Place reply;
  [[no_unique_address]] Carried<F> f;
  void apply(CoreContext& here, ByteView key) const {
    post_reply<To>(here, here.source(), reply, f.get()(shards.in(here), hash, key));
  }
};

// The same without a result.
template <class K, class V, class F>
struct AsyncKeyRecord {
  PerCore<HashShard<K, V>> shards;
  std::uint64_t hash;
  [[no_unique_address]] Carried<F> f;
  void apply(CoreContext& here, ByteView key) const { f.get()(shards.in(here), hash, key); }
};

// Calls f(value) if the key is there: what it returned, or, of one that returns nothing, whether it was called.
template <class K, class V, class F>
struct VisitHere {
  using R = std::remove_cvref_t<std::invoke_result_t<const F&, V&>>;
  [[no_unique_address]] F f;
  auto operator()(HashShard<K, V>& shard, std::uint64_t hash, ByteView key) const {
    V* const value = shard.find(hash, key);
    if constexpr (std::is_void_v<R>) {
      if (value != nullptr) f(*value);
      return value != nullptr;
    } else {
      if (value == nullptr) return Found<R>{};
      const R result = f(*value);
      return Found<R>::of(&result);
    }
  }
};
template <class K, class V, class F>
struct AsyncVisitHere {
  [[no_unique_address]] F f;
  void operator()(HashShard<K, V>& shard, std::uint64_t hash, ByteView key) const {
    if (V* const value = shard.find(hash, key)) static_cast<void>(f(*value));
  }
};
// What a visit returns for that.
struct TakeVisit {
  bool operator()(bool was_there) const noexcept { return was_there; }
  template <class R>
  std::optional<R> operator()(Found<R> found) const {
    return found.take();
  }
};
template <class V, class F>
consteval bool check_visit() {
  static_assert(Travels<F>, "what visits a value must be trivially copyable: its bytes travel");
  static_assert(!kReturnsCoroutine<std::invoke_result_t<const F&, V&>>,
                "what visits a value returns a coroutine, which nobody would start");
  return true;
}

// One who waits for what the owner of a key does: `post(reply)` asks it, and `take` makes the result of
// the R that comes.
template <class R, class Post, class Take = std::identity>
class KeyAwaiter {
 public:
  explicit KeyAwaiter(Post post) : post_(std::move(post)) {}
  // Also where this core is the owner: coroutines of one core take turns at each co_await.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(CoroutineHandle waiter) {
    reply_.expect(waiter);
    post_(Place::at_address(&reply_));
  }
  auto await_resume() { return Take{}(R(std::move(*reply_.value))); }

 private:
  Post post_;
  CoroutineReply<R> reply_{};
};

// Upserts that a core holds back, to combine those of one key: of one map, one function and one
// scope at a time.
template <class K, class V, class F>
class HeldUpserts final : public core::Combiner {
 public:
  static constexpr std::size_t kKeysMost = 4096;
  // Of keys and values, as they came.
  static constexpr std::size_t kBytesMost = std::size_t{1} << 20;

  void upsert(CoreContext& here, const GlobalHashMap<K, V>& map, ByteView key, const V& value,
              const F& combine) {
    Held old;
    const bool is_other = !(map == held_.map && here.scope() == held_.scope);
    if (is_other || held_.keys.size() >= kKeysMost || held_.n_bytes >= kBytesMost)
      old = take(map, here.scope(), combine);
    const std::uint64_t hash = hash_of_key(key);
    const std::uint64_t n_bytes = n_bytes_of(value);
    const auto [found, was_there] = held_.keys.insert(hash, key, value);
    if (!was_there) {
      held_.n_bytes += key.size() + n_bytes;
      if (held_.keys.size() == 1) {
        here.begin_in_scope(held_.scope);
        here.hold_back(*this);
      }
    } else {
      if constexpr (bytes_of_each<V>() == 0) held_.n_bytes += n_bytes;
      combine(*found, value);
      here.note_combined();
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
    std::size_t n_bytes = 0;
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
        old.map.post_upsert(here, old.keys.hash(i), Codec<K>::bytes(entry.key), entry.value,
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

}  // namespace detail

template <class K, class V>
class GlobalHashMap {
  static_assert(MapKey<K>,
                "a key is a string, a plain value without padding, or has a codec (codec.hpp)");
  static_assert(Encoded<V>, "a value is a string, a plain value, or has a codec (codec.hpp)");

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
    static_assert(!detail::kReturnsCoroutine<std::invoke_result_t<const F&, V&, const V&>>,
                  "what combines values returns a coroutine, which nobody would start");
    const auto& whole = detail::as_key<K>(key);
    const auto& encoded = Codec<K>::bytes(whole);
    const ByteView bytes = encoded;
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
    static_assert(!detail::kReturnsCoroutine<std::invoke_result_t<const F&, V&, const V&>>,
                  "what combines values returns a coroutine, which nobody would start");
    const auto& whole = detail::as_key<K>(key);
    CoreContext& here = CoreContext::here();
    detail::check_travels(here, value);
    here.local_or_make<detail::HeldUpserts<K, V, F>>().upsert(here, *this, Codec<K>::bytes(whole),
                                                              value, combine);
  }
  // The last one wins.
  template <class Key>
  void async_insert(const Key& key, const V& value) const {
    async_upsert(key, value, [](V& into, const V& v) { into = v; });
  }

  // Those of a range of pairs, one after the other: a map, a vector of pairs.
  template <class Pairs>
  void async_insert_range(const Pairs& pairs) const {
    for (const auto& [key, value] : pairs)
      async_insert(key, value);
  }
  template <class Pairs, class F>
  void async_combine_range(const Pairs& pairs, const F& combine) const {
    for (const auto& [key, value] : pairs)
      async_combine(key, value, combine);
  }

  // f(value) on the core that has the key, if it is there: f may change the value. The surrounding finish() waits.
  template <class Key, class F>
  void async_visit(const Key& key, const F& f) const {
    static_assert(detail::check_visit<V, F>());
    post_to_owner(key, detail::AsyncVisitHere<K, V, F>{f});
  }
  template <class Key>
  void async_erase(const Key& key) const {
    post_to_owner(key, EraseHere{});
  }

  // The calls below are made by a task, and wait.
  template <class Key>
  [[nodiscard]] std::optional<V> find(const Key& key) const {
    return call_owner(key, FindHere{}).take();
  }
  template <class Key>
  [[nodiscard]] bool contains(const Key& key) const {
    return call_owner(key, ContainsHere{});
  }
  // Leaves a value that is there; true if there was none.
  template <class Key>
  // NOLINTNEXTLINE(modernize-use-nodiscard): many do not care
  bool insert(const Key& key, const V& value) const {
    const auto& whole = detail::as_key<K>(key);
    const auto& encoded = Codec<K>::bytes(whole);
    const ByteView bytes = encoded;
    const std::uint64_t hash = detail::hash_of_key(bytes);
    CoreContext& here = CoreContext::here();
    detail::check_might_wait(here);
    if (owner(hash) == here.core()) {
      const detail::DelegateInPlace<detail::InsertRecord<K, V>> inside(here);
      return !local().insert(hash, bytes, value).second;
    }
    detail::check_travels(here, value);
    detail::Reply<bool> reply;
    here.check_may_block();
    const detail::InsertRecord<K, V> record{shards_, hash, Place::at_address(&reply),
                                            detail::BesideKey<V>(bytes, value)};
    detail::post_with_key(here, owner(hash), record, bytes, value);
    return reply.wait(here);
  }
  // True if it was there.
  template <class Key>
  bool erase(const Key& key) const {  // NOLINT(modernize-use-nodiscard): many do not care
    return call_owner(key, EraseHere{});
  }
  // f(value) on the core that has the key: an optional of what it returns, empty if the key is not there; of
  // one that returns nothing, whether it was. f is a delegate: it may change the value, and captures plain values.
  template <class Key, class F>
  auto visit(const Key& key, const F& f) const {
    static_assert(detail::check_visit<V, F>());
    return detail::TakeVisit{}(call_owner(key, detail::VisitHere<K, V, F>{f}));
  }
  // All of them; while nobody uses the map.
  void clear() const {
    on_all_cores([map = *this] { map.local().clear(); });
  }

  // The same for coroutines: co_await map.awaited_find(key). They keep a copy of what they are given.
  template <class Key>
  [[nodiscard]] auto awaited_find(Key key) const {
    struct Take {
      std::optional<V> operator()(detail::Found<V> found) const { return found.take(); }
    };
    return awaited_call_owner<Take>(K(std::move(key)), FindHere{});
  }
  template <class Key>
  [[nodiscard]] auto awaited_contains(Key key) const {
    return awaited_call_owner(K(std::move(key)), ContainsHere{});
  }
  template <class Key>
  [[nodiscard]] auto awaited_insert(Key key, V value) const {
    auto post = [map = *this, key = K(std::move(key)), value = std::move(value)](Place reply) {
      using Record = detail::InsertRecord<K, V, detail::CoroutineReply>;
      CoreContext& here = CoreContext::here();
      detail::check_travels(here, value);
      const auto& encoded = Codec<K>::bytes(key);
      const ByteView bytes = encoded;
      const std::uint64_t hash = detail::hash_of_key(bytes);
      const Record record{map.shards_, hash, reply, detail::BesideKey<V>(bytes, value)};
      detail::post_with_key(here, map.owner(hash), record, bytes, value);
    };
    return detail::KeyAwaiter<bool, decltype(post)>(std::move(post));
  }
  template <class Key>
  [[nodiscard]] auto awaited_erase(Key key) const {
    return awaited_call_owner(K(std::move(key)), EraseHere{});
  }
  template <class Key, class F>
  [[nodiscard]] auto awaited_visit(Key key, const F& f) const {
    static_assert(detail::check_visit<V, F>());
    return awaited_call_owner<detail::TakeVisit>(K(std::move(key)), detail::VisitHere<K, V, F>{f});
  }

  // Keys on all cores. Exact where nobody inserts meanwhile. Called by a task; waits.
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
  struct FindHere {
    auto operator()(Shard& shard, std::uint64_t hash, ByteView key) const {
      return detail::Found<V>::of(shard.find(hash, key));
    }
  };
  struct ContainsHere {
    bool operator()(Shard& shard, std::uint64_t hash, ByteView key) const {
      return shard.find(hash, key) != nullptr;
    }
  };
  struct EraseHere {
    bool operator()(Shard& shard, std::uint64_t hash, ByteView key) const {
      return shard.erase(hash, key);
    }
  };

  // By the upper half, since the lower one is the place in the owner's table.
  [[nodiscard]] CoreId owner(std::uint64_t hash) const noexcept {
    return static_cast<CoreId>((hash >> 32) * n_cores_ >> 32);
  }
  template <class F>
  void post_upsert(CoreContext& here, std::uint64_t hash, ByteView key, const V& value,
                   const F& combine) const {
    const detail::UpsertRecord<K, V, F> record{shards_, hash, detail::BesideKey<V>(key, value),
                                               combine};
    detail::post_with_key(here, owner(hash), record, key, value);
  }
  // f(its bytes, their hash), which last as long.
  template <class Key, class F>
  static auto with_key(const Key& key, const F& f) {
    const auto& whole = detail::as_key<K>(key);
    const auto& encoded = Codec<K>::bytes(whole);
    const ByteView bytes = encoded;
    return f(bytes, detail::hash_of_key(bytes));
  }
  template <class Key, class F>
  void post_to_owner(const Key& key, const F& f) const {
    with_key(key, [&](ByteView bytes, std::uint64_t hash) {
      CoreContext& here = CoreContext::here();
      detail::check_travels(here, f);
      here.post(owner(hash), detail::AsyncKeyRecord<K, V, F>{shards_, hash, f}, bytes);
    });
  }
  template <class Key, class F>
  [[nodiscard]] auto call_owner(const Key& key, const F& f) const {
    using R = std::invoke_result_t<const F&, Shard&, std::uint64_t, ByteView>;
    return with_key(key, [&](ByteView bytes, std::uint64_t hash) {
      CoreContext& here = CoreContext::here();
      detail::check_might_wait(here);
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
    });
  }

  template <class Take = std::identity, class F>
  [[nodiscard]] auto awaited_call_owner(K key, const F& f) const {
    using R = std::invoke_result_t<const F&, Shard&, std::uint64_t, ByteView>;
    auto post = [map = *this, key = std::move(key), f](Place reply) {
      const auto& encoded = Codec<K>::bytes(key);
      const ByteView bytes = encoded;
      const std::uint64_t hash = detail::hash_of_key(bytes);
      using Record = detail::KeyCallRecord<K, V, F, detail::CoroutineReply>;
      CoreContext::here().post(map.owner(hash), Record{map.shards_, hash, reply, f}, bytes);
    };
    return detail::KeyAwaiter<R, decltype(post), Take>(std::move(post));
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
        const auto one = [shard, body](std::uint64_t i) -> decltype(auto) {
          auto& entry = shard->entry(i);
          return body(std::as_const(entry.key), entry.value);
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

#pragma once
// What users of flows hold: rights to read and to write data.
//
//   Future<T>        a value that will be there; given to async(), its task gets the value
//   Promise<T>       the right to set one, once
//   Container<T, K>  members with keys of 64-bit integers (or strings), each set once
//   Inserter<T, K>   the right to add members; when nobody has it any more, the container is closed
//
// Handles are values: they are copied, moved and dropped as such, by tasks alone, and count the
// references of the datum (Ref). They travel as arguments of tasks, and are not captured: what a
// task captures must be plain bytes.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rubato/flow/flow.hpp"
#include "rubato/flow/store/codec.hpp"

namespace rubato::flow {

// A counted reference.
template <bool kIsWriter>
class Handle {
 public:
  Handle() = default;
  explicit Handle(Ref ref) noexcept : ref_(ref) {}
  // May wait if the weight is used up (Flow::share).
  Handle(const Handle& other) : ref_(Flow::here().share(other.ref_, kIsWriter)) {}
  Handle(Handle&& other) noexcept : ref_(std::exchange(other.ref_, {})) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(ref_, other.ref_);
    return *this;
  }
  ~Handle() {
    if (ref_.weight == 0) return;
    if constexpr (kIsWriter) {
      Flow::here().give_back_writer(ref_);
    } else {
      Flow::here().give_back_reader(ref_);
    }
  }

  // False if it was moved away, or never was one.
  explicit operator bool() const noexcept { return static_cast<bool>(ref_.id); }
  // For whoever makes rules: the reference, which the caller owns from now on.
  [[nodiscard]] Ref take() noexcept { return std::exchange(ref_, {}); }
  [[nodiscard]] Ref& ref() const noexcept { return ref_; }

 private:
  mutable Ref ref_;  // copying takes a part of it
};

namespace detail {
// The value of a datum, or the reason why there is none. Waits; gives the reference back.
[[nodiscard]] Value wait_for(Arg input, SourcePlace at);

// `first`: where the promise was set; of no file if it was given away.
[[noreturn]] void throw_set_again(SourcePlace first, SourcePlace again);

// How a task asks for a T: for its value, or, if it is a handle itself, for the reference.
template <class T>
inline constexpr Arg::Mode kModeFor =
    Codec<T>::kKind == Kind::reference ? Arg::Mode::link : Arg::Mode::wait;
template <>
inline constexpr Arg::Mode kModeFor<void> = Arg::Mode::wait;

template <class T>
[[nodiscard]] Arg input_of(Ref reader) {
  return {kModeFor<T>, reader, {}, {}};
}
template <class T>
[[nodiscard]] Arg member_of(Ref container, Value key) {
  Arg arg = Arg::member(container, std::move(key));
  arg.mode = kModeFor<T>;
  return arg;
}
}  // namespace detail

template <class T>
class Future : public Handle<false> {
 public:
  using Type = T;
  using Handle::Handle;

  // Waits until the value is there. Throws Error, with the reason, if there will be none.
  [[nodiscard]] T get(SourcePlace at = SourcePlace::here()) const {
    const Value value = detail::wait_for(detail::input_of<T>(Flow::here().share(ref(), false)), at);
    return Codec<T>::get(value);
  }
};
template <>
class Future<void> : public Handle<false> {
 public:
  using Type = void;
  using Handle::Handle;

  // Waits until it is done. Throws Error, with the reason, if it has failed.
  void get(SourcePlace at = SourcePlace::here()) const {
    static_cast<void>(
        detail::wait_for(detail::input_of<void>(Flow::here().share(ref(), false)), at));
  }
};

template <class T>
class Promise {
 public:
  Promise() = default;
  explicit Promise(Ref ref) noexcept : writer_(ref) {}

  // May wait for room to send. Throws Error if it was set, or the promise was given away.
  void set(const T& value, SourcePlace at = SourcePlace::here()) {
    if (!writer_) detail::throw_set_again(set_at_, at);
    set_at_ = at;
    Flow::here().set(writer_.take(), Codec<T>::put(value), PortablePlace(at));
  }
  // There will be no value; what needs it is not run.
  void fail(const std::string& why) {
    const Value failure = Value::failed(why);
    Flow::here().give_back_writer(writer_.take(), &failure);
  }
  Promise(const Promise&) = delete;
  Promise& operator=(const Promise&) = delete;
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&&) noexcept = default;
  ~Promise() = default;
  [[nodiscard]] Ref take() noexcept { return writer_.take(); }

 private:
  Handle<true> writer_;
  SourcePlace set_at_ = {};
};

// A new datum: who reads it, and who sets it. On this core.
template <class T>
struct NewDatum {
  Future<T> future;
  Promise<T> promise;
};
template <class T>
[[nodiscard]] NewDatum<T> make_datum(SourcePlace at = SourcePlace::here()) {
  const DataId id = Flow::here().create(Codec<T>::kKind, PortablePlace(at));
  return {Future<T>(Ref{id, kWholeWeight}), Promise<T>(Ref{id, kWholeWeight})};
}

// Keys of containers.
template <class K>
concept Key = std::is_same_v<K, std::int64_t> || std::is_same_v<K, std::string>;

template <class T, Key K = std::int64_t>
class Container;

// A member as an argument of async(): the task gets its value.
template <class T>
struct Member {
  Handle<false> container;
  Value key;
};
// A container as an argument of async(), when it is closed.
template <class T, class K>
struct Closed {
  Container<T, K> container;
};

template <class T, Key K>
class Container : public Handle<false> {
 public:
  using Handle::Handle;

  // As an input of a task.
  [[nodiscard]] Member<T> operator[](const K& key) const { return {*this, Codec<K>::put(key)}; }
  // Waits for a member. Throws Error if the container is closed without it, or it has failed.
  [[nodiscard]] T get(const K& key, SourcePlace at = SourcePlace::here()) const {
    return Codec<T>::get(detail::wait_for(
        detail::member_of<T>(Flow::here().share(ref(), false), Codec<K>::put(key)), at));
  }
  // How many members it has, when it is closed.
  [[nodiscard]] Future<std::int64_t> size() const {
    return Future<std::int64_t>(Flow::here().share(ref(), false));
  }
};
template <class T, Key K>
[[nodiscard]] Closed<T, K> closed(Container<T, K> container) {
  return {std::move(container)};
}

namespace detail {
// Part by part.
template <class F>
void insert_words(Ref& writer, std::int64_t first, std::size_t n, Kind kind, F word_of,
                  SourcePlace at) {
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < n; i += words.size()) {
    const std::int64_t key = first + static_cast<std::int64_t>(i);
    const auto n_left_of_part =
        static_cast<std::size_t>(kMembersAPart - (key & (kMembersAPart - 1)));
    words.resize(std::min(n - i, n_left_of_part));
    for (std::size_t j = 0; j < words.size(); ++j)
      words[j] = word_of(i + j);
    Flow::here().insert_words(writer, key, kind, words, PortablePlace(at));
  }
}
}  // namespace detail

template <class T, Key K = std::int64_t>
class Inserter : public Handle<true> {
 public:
  using Handle::Handle;

  // Adds a member. May wait for room to send. A key that is there already is a failure of the run.
  void insert(const K& key, const T& value, SourcePlace at = SourcePlace::here()) const {
    Flow::here().insert(ref(), Codec<K>::put(key), Codec<T>::put(value), PortablePlace(at));
  }
  // The same of values[i] with key first + i, a batch: of numbers and truth values, 8 bytes each and a message for
  // each part of them (kMembersAPart) that lies on another core.
  void insert_all(
      std::int64_t first, std::span<const T> values,
      SourcePlace at = SourcePlace::here()) const requires std::same_as<K, std::int64_t> {
    if constexpr (Value::is_word(Codec<T>::kKind) && Codec<T>::kKind != Kind::unit) {
      detail::insert_words(
          ref(), first, values.size(), Codec<T>::kKind,
          [&](std::size_t i) { return Codec<T>::put(values[i]).bits(); }, at);
    } else {
      for (std::size_t i = 0; i < values.size(); ++i)
        insert(first + static_cast<std::int64_t>(i), values[i], at);
    }
  }
};

template <class T, class K>
struct NewContainer {
  Container<T, K> container;
  Inserter<T, K> inserter;
};
// An empty container. Spread: its members lie on all cores, part by part (kMembersAPart), which
// costs a message to each when it is closed and when it is freed; else all lie on this core.
enum class Spread : std::uint8_t { all_cores, here };
template <class T, Key K = std::int64_t>
[[nodiscard]] NewContainer<T, K> make_container(Spread spread = Spread::all_cores,
                                                SourcePlace at = SourcePlace::here()) {
  const DataId id = Flow::here().create_container(Codec<T>::kKind, spread == Spread::all_cores,
                                                  PortablePlace(at));
  return {Container<T, K>(Ref{id, kWholeWeight}), Inserter<T, K>(Ref{id, kWholeWeight})};
}

// Handles as members and results: they go to what they refer to.
template <class T>
struct Codec<Future<T>> {
  static constexpr Kind kKind = Kind::reference;
  static Value put(Future<T> future) { return Value::reference(future.take()); }
  static Future<T> get(const Value& value) { return Future<T>(value.as_reference()); }
};
template <class T, class K>
struct Codec<Container<T, K>> {
  static constexpr Kind kKind = Kind::reference;
  static Value put(Container<T, K> container) { return Value::reference(container.take()); }
  static Container<T, K> get(const Value& value) { return Container<T, K>(value.as_reference()); }
};

}  // namespace rubato::flow

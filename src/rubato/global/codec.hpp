#pragma once
// Codec: how a value travels between cores, lies in files, and is compared if it is a key: as bytes.
//
//   struct Page {                                     a value of your own, of any size
//     std::string title;
//     std::vector<std::uint32_t> links;
//     void put(Writer& out) const { out.put_string(title); out.put_vector(links); }
//     static Page get(Reader& in) {
//       Page page{in.get_string(), {}};
//       page.links = in.get_vector<std::uint32_t>();
//       return page;
//     }
//   };
//   const auto pages = GlobalHashMap<std::string, Page>::make();
//
// Plain values, strings, what puts itself, and pairs, tuples, optionals and vectors of these have one. For any
// other type, or other bytes, specialise it: bytes(value), a view of the value or bytes of their own, and
// make(bytes), which throws Error if they are none of such a value. Bytes are cut at their ends by
// whoever carries them.
//
// Keys are equal if their bytes are, so a plain one has no padding, and one that puts itself puts
// the same bytes whenever it is equal.

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/base/error.hpp"
#include "rubato/core/message/record.hpp"

namespace rubato::global {

// A value that says how it is written.
template <class T>
concept PutsItself = requires(const T& value, Writer& out, Reader& in) {
  value.put(out);
  { T::get(in) } -> std::same_as<T>;
};

template <class T>
struct Codec;

template <Plain T>
requires(!PutsItself<T> && !core::detail::IsView<T>::value &&
         !std::is_member_pointer_v<T>) struct Codec<T> {
  static constexpr bool kIsPlain = true;  // travels as it lies in memory
  // Of every value. A codec of values of several lengths has no such member.
  static constexpr std::size_t kBytes = sizeof(T);
  static ByteView bytes(const T& value) noexcept { return std::as_bytes(std::span(&value, 1)); }
  static T make(ByteView bytes) {
    std::array<std::byte, sizeof(T)> all;
    std::memcpy(all.data(), bytes.data(), sizeof all);
    return std::bit_cast<T>(all);
  }
};

template <PutsItself T>
struct Codec<T> {
  static Bytes bytes(const T& value) {
    Writer out;
    value.put(out);
    return out.take();
  }
  static T make(ByteView bytes) {
    Reader in(bytes);
    T value = T::get(in);
    if (!in.at_end()) {
      throw Error("a value that puts itself: expected get() to read all of its " +
                  std::to_string(bytes.size()) + " bytes, found " + std::to_string(in.left()) +
                  " bytes behind what it read");
    }
    return value;
  }
};

template <>
struct Codec<std::string> {
  static ByteView bytes(std::string_view text) noexcept {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  static std::string make(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

template <Plain T>
requires(!std::same_as<T, bool>) struct Codec<std::vector<T>> {
  static constexpr bool kIsKey = Unpadded<T>;
  static ByteView bytes(const std::vector<T>& values) noexcept {
    return std::as_bytes(std::span(values));
  }
  static std::vector<T> make(ByteView bytes) {
    if (bytes.size() % sizeof(T) != 0) {
      throw Error("a vector: expected elements of " + std::to_string(sizeof(T)) + " bytes, found " +
                  std::to_string(bytes.size()) + " bytes");
    }
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

// What containers can hold.
template <class T>
concept Encoded = requires(const T& value, ByteView bytes) {
  { Codec<T>::bytes(value) } -> std::convertible_to<ByteView>;
  { Codec<T>::make(bytes) } -> std::same_as<T>;
};
template <class T>
concept SentAsItIs = Encoded<T> && requires {
  requires Codec<T>::kIsPlain;
};
namespace detail {

template <class K>
[[nodiscard]] consteval bool is_key() {
  if constexpr (!Encoded<K>) {
    return false;
  } else if constexpr (SentAsItIs<K>) {
    return Unpadded<K>;
  } else if constexpr (requires { Codec<K>::kIsKey; }) {
    return Codec<K>::kIsKey;  // if its parts are
  } else {
    return true;
  }
}

}  // namespace detail

// What keys can be.
template <class K>
concept MapKey = detail::is_key<K>();

namespace detail {

// Bytes of each value, 0 if they are of several lengths.
template <Encoded T>
[[nodiscard]] constexpr std::uint64_t bytes_of_each() noexcept {
  if constexpr (requires { Codec<T>::kBytes; }) {
    return Codec<T>::kBytes;
  } else {
    return 0;
  }
}

// One of several values that follow each other: behind its length (64 bits) if that differs.
template <Encoded T>
void put_one(Writer& out, const T& value) {
  const auto& whole = Codec<T>::bytes(value);
  const ByteView bytes = whole;
  if constexpr (bytes_of_each<T>() == 0) out.put(std::uint64_t{bytes.size()});
  out.put_span(bytes);
}
template <Encoded T>
[[nodiscard]] T get_one(Reader& in) {
  std::uint64_t n_bytes = bytes_of_each<T>();
  if constexpr (bytes_of_each<T>() == 0) n_bytes = in.get<std::uint64_t>();
  return Codec<T>::make(in.get_view(n_bytes));
}
// The bytes that put_one() makes of it.
template <Encoded T>
[[nodiscard]] std::uint64_t n_bytes_of(const T& value) {
  if constexpr (bytes_of_each<T>() != 0) {
    return bytes_of_each<T>();
  } else {
    const auto& whole = Codec<T>::bytes(value);
    return sizeof(std::uint64_t) + ByteView(whole).size();
  }
}

// What looks for a value has found, if anything.
template <Encoded T>
struct Found {
  std::optional<T> value;

  static Found of(const T* value) { return value == nullptr ? Found{} : Found{*value}; }
  [[nodiscard]] std::optional<T> take() { return std::move(value); }
  void put(Writer& out) const {
    out.put(value.has_value());
    if (value) put_one(out, *value);
  }
  static Found get(Reader& in) {
    if (!in.get<bool>()) return {};
    return {get_one<T>(in)};
  }
};
// A plain one travels as it is; zeros if there is none, since no memory that was never written may.
template <SentAsItIs T>
struct Found<T> {
  std::array<std::byte, sizeof(T)> bytes{};
  bool is_there = false;

  static Found of(const T* value) noexcept {
    if (value == nullptr) return {};
    return {std::bit_cast<std::array<std::byte, sizeof(T)>>(*value), true};
  }
  [[nodiscard]] std::optional<T> take() const {
    if (!is_there) return std::nullopt;
    return std::bit_cast<T>(bytes);
  }
};

}  // namespace detail

namespace detail {

// Values that follow each other.
template <class Value, class... T>
struct CodecOfSeveral {
  static constexpr bool kIsKey = (MapKey<T> && ...);
  static Bytes bytes(const Value& value) {
    Writer out;
    std::apply([&](const T&... each) { (put_one<T>(out, each), ...); }, value);
    return out.take();
  }
  static Value make(ByteView bytes) {
    Reader in(bytes);
    Value value{get_one<T>(in)...};  // in braces: from left to right
    if (!in.at_end()) {
      throw Error("a pair or tuple: expected " + std::to_string(bytes.size() - in.left()) +
                  " bytes, found " + std::to_string(bytes.size()));
    }
    return value;
  }
};

}  // namespace detail

template <class A, class B>
requires(!Plain<std::pair<A, B>> && Encoded<A> && Encoded<B>) struct Codec<std::pair<A, B>>
    : detail::CodecOfSeveral<std::pair<A, B>, A, B> {
};

template <class... T>
requires(!Plain<std::tuple<T...>> && (Encoded<T> && ...)) struct Codec<std::tuple<T...>>
    : detail::CodecOfSeveral<std::tuple<T...>, T...> {
};

template <class T>
requires(!Plain<std::optional<T>> && Encoded<T>) struct Codec<std::optional<T>> {
  static constexpr bool kIsKey = MapKey<T>;
  static Bytes bytes(const std::optional<T>& value) {
    Writer out;
    out.put(value.has_value());
    if (value) detail::put_one<T>(out, *value);
    return out.take();
  }
  static std::optional<T> make(ByteView bytes) {
    Reader in(bytes);
    std::optional<T> value;
    if (in.get<bool>()) value.emplace(detail::get_one<T>(in));
    if (!in.at_end()) {
      throw Error("an optional: expected " + std::to_string(bytes.size() - in.left()) +
                  " bytes, found " + std::to_string(bytes.size()));
    }
    return value;
  }
};

template <class T>
requires(!Plain<T> && Encoded<T>) struct Codec<std::vector<T>> {
  static constexpr bool kIsKey = MapKey<T>;
  static Bytes bytes(const std::vector<T>& values) {
    Writer out;
    for (const T& value : values)
      detail::put_one<T>(out, value);
    return out.take();
  }
  static std::vector<T> make(ByteView bytes) {
    std::vector<T> values;
    for (Reader in(bytes); !in.at_end();)
      values.push_back(detail::get_one<T>(in));
    return values;
  }
};

}  // namespace rubato::global

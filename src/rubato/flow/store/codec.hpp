#pragma once
// Codec<T>: how a C++ type is kept as a Value.
//
// Integers and enumerations are integers, float and double floats, bool a boolean, std::string a
// string; other trivially copyable types, and vectors of such, are blobs of their bytes. For your
// own types specialise Codec with kKind, put and get.

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "rubato/flow/store/value.hpp"

namespace rubato::flow {

// A blob that is no value of its type: Error.
[[noreturn]] void throw_wrong_size(std::size_t n_bytes, std::size_t n_expected);

// The name of a file, as a type of its own.
struct FileName {
  std::string path;
  bool operator==(const FileName&) const = default;
};

template <class T>
struct Codec {
  static_assert(Plain<T>, "a datum of this type needs a specialisation of rubato::flow::Codec<T>");
  static constexpr Kind kKind = Kind::blob;
  static Value put(const T& x) {
    return Value::text(kKind, {reinterpret_cast<const char*>(&x), sizeof x});
  }
  static T get(const Value& value) {
    T x;
    const std::string& text = value.as_text();
    if (text.size() != sizeof x) throw_wrong_size(text.size(), sizeof x);
    std::memcpy(&x, text.data(), sizeof x);
    return x;
  }
};

template <class T>
requires std::is_integral_v<T> || std::is_enum_v<T>
struct Codec<T> {
  static constexpr Kind kKind = Kind::integer;
  static Value put(T x) noexcept { return Value::integer(static_cast<std::int64_t>(x)); }
  static T get(const Value& value) { return static_cast<T>(value.as_integer()); }
};

template <>
struct Codec<bool> {
  static constexpr Kind kKind = Kind::boolean;
  static Value put(bool x) noexcept { return Value::boolean(x); }
  static bool get(const Value& value) { return value.as_boolean(); }
};

template <class T>
requires std::is_floating_point_v<T>
struct Codec<T> {
  static constexpr Kind kKind = Kind::floating;
  static Value put(T x) noexcept { return Value::floating(static_cast<double>(x)); }
  static T get(const Value& value) { return static_cast<T>(value.as_floating()); }
};

template <>
struct Codec<std::string> {
  static constexpr Kind kKind = Kind::string;
  static Value put(std::string x) { return Value::text(kKind, std::move(x)); }
  static const std::string& get(const Value& value) { return value.as_text(); }
};

template <>
struct Codec<FileName> {
  static constexpr Kind kKind = Kind::file;
  static Value put(FileName x) { return Value::text(kKind, std::move(x.path)); }
  static FileName get(const Value& value) { return {value.as_text()}; }
};

template <Plain T>
struct Codec<std::vector<T>> {
  static constexpr Kind kKind = Kind::blob;
  static Value put(const std::vector<T>& x) {
    return Value::text(kKind, {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T)});
  }
  static std::vector<T> get(const Value& value) {
    const std::string& text = value.as_text();
    std::vector<T> x(text.size() / sizeof(T));
    if (!x.empty()) std::memcpy(x.data(), text.data(), x.size() * sizeof(T));
    return x;
  }
};

}  // namespace rubato::flow

#pragma once
// The types of TIC and the places of its text: what every other file of the language names.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::flow::tic {

// A byte of a script as editors count: the first line and the first column are 1; a column is a
// character of UTF-8, a tab is one.
struct Place {
  int line = 1;
  int column = 1;
};

enum class Kind : std::uint8_t {
  integer,    // 64 bits, signed
  floating,   // `float`: a double
  string,     // bytes
  boolean,    //
  void_type,  // `void`: no value, only open or closed
  blob,       // bytes that only leaves look into
  file,       // a named file; its name is known before it is closed
  container,  // container<KEY, T>
  structure,  // declared by `struct`
};

struct Type {
  Kind kind = Kind::void_type;
  Kind key = Kind::void_type;  // of a container: integer or string
  std::vector<Type> element;   // of a container: the one type of its members
  std::string struct_name;     // of a structure
  int struct_index = -1;       // in Program::structs, set by the checker

  bool operator==(const Type&) const = default;

  [[nodiscard]] bool is(Kind k) const noexcept { return kind == k; }
  [[nodiscard]] bool is_number() const noexcept {
    return kind == Kind::integer || kind == Kind::floating;
  }
  // Values that are text on a command line and in `++`: numbers, strings and booleans.
  [[nodiscard]] bool is_scalar() const noexcept {
    return is_number() || kind == Kind::string || kind == Kind::boolean;
  }
};

[[nodiscard]] inline Type type_of(Kind kind) {
  return {kind, Kind::void_type, {}, {}, -1};
}
// REQUIRES: key is integer or string.
[[nodiscard]] inline Type container_of(Kind key, Type element) {
  return {Kind::container, key, {std::move(element)}, {}, -1};
}

// The word of the language for a kind: "integer", "float", "struct".
[[nodiscard]] std::string_view kind_name(Kind kind) noexcept;

// A type as it is written: "container<string, float>", "point".
[[nodiscard]] std::string type_text(const Type& type);

}  // namespace rubato::flow::tic

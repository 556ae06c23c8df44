#pragma once
// Numbers as text, exactly: what is written by append_number is read back by parse_number to the
// same bits, in any locale. Everything here is a pure function. Built on std::to_chars and
// std::from_chars.

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "rubato/base/result.hpp"

namespace rubato::io {

// The number types that files hold.
template <class T>
concept Number = std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t> ||
    std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t> ||
    std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>;

enum class NumberError {
  malformed,     // no number, or something behind it
  out_of_range,  // a number that the type cannot hold (an underflow is not: it rounds to zero)
  not_finite,    // NaN or an infinity where none is allowed
};

// Appends the shortest decimal form that reads back to the same value: "0.1", "1e+300", "nan".
template <Number T>
void append_number(std::string& text, T value);

template <Number T>
[[nodiscard]] std::string number_text(T value) {
  std::string text;
  append_number(text, value);
  return text;
}

// Reads all of `text` as one number. No spaces are skipped; one leading '+' is accepted. "nan",
// "inf" and their kin (case ignored) are numbers of the floating types only if `allow_nonfinite`.
template <Number T>
[[nodiscard]] Result<T, NumberError> parse_number(std::string_view text,
                                                  bool allow_nonfinite = false);

// What an error message says was expected: "a number", "an integer from 0 to 255".
template <Number T>
[[nodiscard]] std::string expected_number();

// `text` in double quotes as an error message shows it: control bytes escaped, cut at 48 bytes.
[[nodiscard]] std::string shown(std::string_view text);

// `text` without spaces, tabs and carriage returns at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

}  // namespace rubato::io

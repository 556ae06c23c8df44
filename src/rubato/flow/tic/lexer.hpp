#pragma once
// The words of TIC. A newline or `;` ends a statement, unless a `\` stands before the newline, the
// line ends in a comma or a binary operator, a parenthesis or bracket is open, or the next line
// goes on with then, from, to, else or while.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/flow/tic/diagnostics.hpp"

namespace rubato::flow::tic {

enum class TokenKind : std::uint8_t { name, integer, floating, string, symbol, separator, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // as written, in the script
  Place place;
  bool spaced = false;        // a space or a newline stands before it
  std::uint64_t integer = 0;  // of an integer; at most 2^63, which only fits behind a minus
  double floating = 0;        // of a float
  std::string value;          // of a string: its bytes

  // Whether it is this symbol or word.
  [[nodiscard]] bool is(std::string_view word) const noexcept {
    return (kind == TokenKind::symbol || kind == TokenKind::name) && text == word;
  }
};

// All tokens of `text`, the last one `end`. What is no token goes to `errors` and is left out.
// `text` must outlive the tokens.
[[nodiscard]] std::vector<Token> read_tokens(std::string_view text, Diagnostics& errors);

// A token as a message names it: 'when', "text", the end of the line.
[[nodiscard]] std::string shown(const Token& token);

// The words that cannot be names of variables, functions and structs.
[[nodiscard]] const std::vector<std::string>& reserved_words();
[[nodiscard]] bool is_reserved(std::string_view word) noexcept;

// `bytes` as a string literal, which reads back to the same bytes.
[[nodiscard]] std::string string_literal(std::string_view bytes);

}  // namespace rubato::flow::tic

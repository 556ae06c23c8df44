#include "rubato/flow/tic/lexer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "rubato/io/number.hpp"

namespace rubato::flow::tic {
namespace {

// ASCII only, in any locale.
bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) noexcept {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Longer ones first, since the first that fits is taken.
constexpr std::array<std::string_view, 26> kSymbols{
    "**", "++", "==", "!=", "<=", ">=", "&&", "||", "+", "-", "*", "/", "%",
    "<",  ">",  "=",  "!",  "(",  ")",  "[",  "]",  "{", "}", ",", ":", "."};

// A line that ends with one of these goes on.
constexpr std::array<std::string_view, 18> kGoesOn{
    "**", "++", "==", "!=", "<=", ">=", "&&", "||",  "+",
    "-",  "*",  "/",  "%",  "<",  "=",  ",",  "and", "or"};
// A line that starts with one of these belongs to the last.
constexpr std::array<std::string_view, 5> kContinues{"then", "from", "to", "else", "while"};

// A line that starts with one of these starts a statement even if a parenthesis was left open or
// an operator lacks its right side, so that no error swallows the rest of the script.
constexpr std::array<std::string_view, 16> kStarts{
    "when", "foreach", "for", "if",       "switch", "loop", "wait", "insert",
    "next", "close",   "}",   "function", "app",    "leaf", "case", "struct"};

class Lexer {
 public:
  Lexer(std::string_view text, Diagnostics& errors) : text_(text), errors_(errors) {}

  std::vector<Token> run() {
    // The mark that some editors put before UTF-8.
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
    while (at_ < text_.size() && !errors_.full())
      step();
    start();
    push(TokenKind::end, 0);
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const noexcept {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  // Moves on by n bytes of one line.
  void advance(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i, ++at_) {
      const bool first_byte = (static_cast<unsigned char>(text_[at_]) & 0xc0) != 0x80;
      if (first_byte) ++place_.column;
    }
  }
  void newline() {
    ++at_;
    ++place_.line;
    place_.column = 1;
  }

  void start() {
    token_ = {};
    token_.place = place_;
    token_.spaced = spaced_;
  }
  void push(TokenKind kind, std::size_t n) {
    token_.kind = kind;
    token_.text = text_.substr(at_, n);
    advance(n);
    before_token();
    tokens_.push_back(std::move(token_));
    spaced_ = false;
  }

  // Takes back the separator of a newline before which the statement goes on.
  void before_token() {
    const bool at_line_start = !tokens_.empty() && tokens_.back().kind == TokenKind::separator;
    if (at_line_start && tokens_.back().text != ";" && is_one_of(token_.text, kContinues)) {
      tokens_.pop_back();
    }
    if (dropped_newline_.kind == TokenKind::separator && is_one_of(token_.text, kStarts)) {
      n_open_ = 0;
      tokens_.push_back(dropped_newline_);
    }
    dropped_newline_ = {};
    if (token_.kind != TokenKind::symbol) return;
    if (token_.text == "(" || token_.text == "[") ++n_open_;
    if ((token_.text == ")" || token_.text == "]") && n_open_ > 0) --n_open_;
  }

  void step() {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r') {
      advance(1);
      spaced_ = true;
    } else if (c == '#') {
      const std::size_t end = text_.find('\n', at_);
      advance((end == std::string_view::npos ? text_.size() : end) - at_);
    } else if (c == '\n') {
      end_line();
    } else if (c == ';') {
      start();
      n_open_ = 0;
      push(TokenKind::separator, 1);
    } else if (c == '\\') {
      continue_line();
    } else {
      start();
      word();
    }
  }

  void end_line() {
    const bool is_empty = tokens_.empty() || tokens_.back().kind == TokenKind::separator;
    const bool goes_on =
        !is_empty && (n_open_ > 0 || is_one_of(operator_text(tokens_.back()), kGoesOn));
    start();
    token_.kind = TokenKind::separator;
    token_.text = text_.substr(at_, 1);
    const bool first_dropped = goes_on && dropped_newline_.kind != TokenKind::separator;
    if (first_dropped) dropped_newline_ = token_;
    if (!is_empty && !goes_on) tokens_.push_back(std::move(token_));
    newline();
    spaced_ = true;
  }
  static std::string_view operator_text(const Token& token) noexcept {
    const bool could = token.kind == TokenKind::symbol || token.kind == TokenKind::name;
    return could ? token.text : std::string_view();
  }

  void continue_line() {
    const Place place = place_;
    advance(1);
    while (peek() == ' ' || peek() == '\t' || peek() == '\r')
      advance(1);
    if (peek() == '\n') {
      newline();
    } else if (at_ < text_.size()) {
      errors_.found(place, "'\\'", "a '\\' at the end of its line only");
    }
    spaced_ = true;
  }

  void word() {
    const char c = peek();
    if (is_letter(c)) {
      std::size_t n = 1;
      while (is_letter(peek(n)) || is_digit(peek(n)))
        ++n;
      push(TokenKind::name, n);
    } else if (is_digit(c)) {
      number();
    } else if (c == '"') {
      string();
    } else {
      symbol();
    }
  }

  void symbol() {
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_, symbol.size()) == symbol) {
        push(TokenKind::symbol, symbol.size());
        return;
      }
    }
    std::size_t n = 1;
    while ((static_cast<unsigned char>(peek(n)) & 0xc0) == 0x80)
      ++n;
    errors_.found(place_, "the character " + io::shown(text_.substr(at_, n)), "a word of TIC");
    advance(n);
  }

  void number() {
    std::size_t n = 0;
    const auto digits = [&] {
      while (is_digit(peek(n)))
        ++n;
    };
    digits();
    bool whole = true;
    if (peek(n) == '.' && is_digit(peek(n + 1))) {
      whole = false;
      ++n;
      digits();
    }
    if (peek(n) == 'e' || peek(n) == 'E') {
      const std::size_t sign = peek(n + 1) == '+' || peek(n + 1) == '-' ? 1 : 0;
      if (is_digit(peek(n + 1 + sign))) {
        whole = false;
        n += 1 + sign;
        digits();
      }
    }
    const std::size_t n_number = n;
    while (is_letter(peek(n)) || is_digit(peek(n)))
      ++n;
    const std::string_view text = text_.substr(at_, n);
    const bool good = n == n_number && (whole ? read_integer(text) : read_float(text));
    if (!good) {
      errors_.found(place_, io::shown(text),
                    whole ? "an integer of 64 bits or the name of a variable"
                          : "a number that a float can hold");
    }
    push(whole ? TokenKind::integer : TokenKind::floating, n);
  }
  bool read_integer(std::string_view text) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
    const auto [end, code] =
        std::from_chars(text.data(), text.data() + text.size(), token_.integer);
    return code == std::errc() && end == text.data() + text.size() && token_.integer <= kMost;
  }
  bool read_float(std::string_view text) {
    const auto number = io::parse_number<double>(text);
    if (number) token_.floating = *number;
    return number.has_value();
  }

  void string() {
    std::size_t n = 1;
    while (peek(n) != '"') {
      const bool ends = at_ + n >= text_.size() || peek(n) == '\n';
      if (ends) {
        errors_.found(place_, "a string without an end", "a '\"' at the end of the string");
        push(TokenKind::string, n);
        return;
      }
      n += peek(n) == '\\' ? escape(n) : plain(n);
    }
    push(TokenKind::string, n + 1);
  }
  std::size_t plain(std::size_t at) {
    token_.value += peek(at);
    return 1;
  }
  // The escape `at` bytes ahead; returns its length.
  std::size_t escape(std::size_t at) {
    constexpr std::string_view kLetters = "ntr0\\\"";
    constexpr std::string_view kBytes{"\n\t\r\0\\\"", 6};
    const std::size_t which = kLetters.find(peek(at + 1));
    if (which != std::string_view::npos && at_ + at + 1 < text_.size()) {
      token_.value += kBytes[which];
      return 2;
    }
    unsigned byte = 0;
    const std::string_view hex = text_.substr(std::min(at_ + at + 2, text_.size()), 2);
    const bool coded = peek(at + 1) == 'x' && hex.size() == 2 &&
                       std::from_chars(hex.data(), hex.data() + 2, byte, 16).ptr == hex.data() + 2;
    if (coded) {
      token_.value += static_cast<char>(byte);
      return 4;
    }
    errors_.found({place_.line, place_.column + static_cast<int>(at)}, "an unknown escape",
                  "\\n, \\t, \\r, \\0, \\\\, \\\" or \\x with two hexadecimal digits");
    return 1;
  }

  std::string_view text_;
  Diagnostics& errors_;
  std::vector<Token> tokens_;
  Token token_;
  Place place_;
  std::size_t at_ = 0;
  int n_open_ = 0;
  bool spaced_ = false;
  // The first newline since the last token, if it ended nothing.
  Token dropped_newline_;
};

}  // namespace

std::vector<Token> read_tokens(std::string_view text, Diagnostics& errors) {
  return Lexer(text, errors).run();
}

std::string shown(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the file";
  if (token.kind == TokenKind::string) return "the string " + io::shown(token.value);
  if (token.kind == TokenKind::separator) {
    return token.text == ";" ? "';'" : "the end of the line";
  }
  return "'" + std::string(token.text) + "'";
}

const std::vector<std::string>& reserved_words() {
  static const std::vector<std::string> words{
      "integer", "float",  "string", "boolean", "void",  "blob",     "file", "container", "struct",
      "app",     "leaf",   "when",   "then",    "from",  "function", "to",   "foreach",   "for",
      "in",      "if",     "else",   "switch",  "case",  "default",  "loop", "while",     "next",
      "wait",    "insert", "close",  "true",    "false", "and",      "or",   "not"};
  return words;
}

bool is_reserved(std::string_view word) noexcept {
  const auto& words = reserved_words();
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string string_literal(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text.append(1, '\\').append(1, c);
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      text.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    } else {
      text += c;
    }
  }
  return text + '"';
}

}  // namespace rubato::flow::tic

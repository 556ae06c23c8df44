#include "rubato/flow/program/detail/name_pattern.hpp"

#include <algorithm>
#include <array>

#include "rubato/base/error.hpp"

namespace rubato::flow::program_detail {
namespace {

// Bytes that are no UTF-8 are characters of their own, beyond all others.
constexpr char32_t kStrayByte = 0x110000;

// The character at `at`, which moves behind it.
char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  const std::size_t n = first < 0x80        ? 1
                        : first >> 5U == 6  ? 2
                        : first >> 4U == 14 ? 3
                        : first >> 3U == 30 ? 4
                                            : 0;
  bool whole = n != 0 && at + n <= text.size();
  char32_t character = n <= 1 ? first : first & (0x7FU >> n);
  for (std::size_t i = 1; whole && i < n; ++i) {
    whole = (byte(at + i) & 0xC0U) == 0x80;
    character = character << 6U | (byte(at + i) & 0x3FU);
  }
  at += whole ? n : 1;
  return whole ? character : kStrayByte + first;
}

using Ranges = std::vector<std::pair<char32_t, char32_t>>;
struct Class {
  const char* name;
  Ranges ranges;
};

// Of ASCII: what a pattern means must not depend on a locale.
const std::vector<Class>& classes() {
  static const std::vector<Class> all = {
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"digit", {{'0', '9'}}},
      {"lower", {{'a', 'z'}}},
      {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"space", {{' ', ' '}, {'\t', '\r'}}},
      {"upper", {{'A', 'Z'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  return all;
}

}  // namespace

bool NamePattern::Token::takes(char32_t c) const {
  if (kind == Kind::character) return c == character;
  if (kind == Kind::any) return true;
  const bool in_set = std::any_of(ranges.begin(), ranges.end(), [c](const auto& range) {
    return range.first <= c && c <= range.second;
  });
  return in_set != negated;
}

// Reads the tokens of one part.
struct NamePattern::Reader {
  const std::string& whole;
  std::size_t at;
  std::size_t end;

  [[noreturn]] void fail(std::size_t column, const std::string& what) const {
    throw Error("pattern \"" + whole + "\": column " + std::to_string(column + 1) + ": " + what);
  }
  [[nodiscard]] std::string_view left() const {
    return std::string_view(whole).substr(at, end - at);
  }
  [[nodiscard]] std::string found() const {
    return end < whole.size() ? "the end of this part at /" : "the end";
  }

  char32_t character() {
    std::string_view text = std::string_view(whole).substr(0, end);
    if (text[at] == '\\' && ++at == end) {
      fail(at - 1, "expected a character after \\, found " + found());
    }
    return next_character(text, at);
  }

  // Behind the "[:".
  void read_class(Token& set) {
    const std::size_t begin = at + 2;
    const std::size_t close = std::min(whole.find(":]", begin), end);
    const std::string name = whole.substr(begin, close - begin);
    std::vector<std::string> names;
    for (const Class& known : classes()) {
      names.emplace_back(known.name);
      if (name != known.name) continue;
      set.ranges.insert(set.ranges.end(), known.ranges.begin(), known.ranges.end());
      at = close + 2;
      return;
    }
    fail(begin, "expected a class of characters such as alpha or digit, found \"" + name + "\"" +
                    did_you_mean(name, names));
  }

  // A character or a range of a set.
  void read_range(Token& set) {
    const std::size_t begin = at;
    const char32_t first = character();
    char32_t last = first;
    // A '-' before the ']' is itself.
    if (at + 1 < end && whole[at] == '-' && whole[at + 1] != ']') {
      ++at;
      last = character();
    }
    if (last < first) {
      fail(begin, "expected a range from low to high, found " + whole.substr(begin, at - begin));
    }
    set.ranges.emplace_back(first, last);
  }

  Token read_set() {
    const std::size_t begin = at;
    Token set;
    set.kind = Kind::set;
    ++at;
    set.negated = at < end && (whole[at] == '!' || whole[at] == '^');
    if (set.negated) ++at;
    // A ']' that comes first is one of the set.
    for (bool first = true; first || at >= end || whole[at] != ']'; first = false) {
      if (at >= end) fail(begin, "expected a ] that closes this [, found " + found());
      if (left().starts_with("[:")) {
        read_class(set);
      } else {
        read_range(set);
      }
    }
    ++at;
    return set;
  }

  Token read_token() {
    Token token;
    if (whole[at] == '[') return read_set();
    if (whole[at] == '*' || whole[at] == '?') {
      token.kind = whole[at] == '*' ? Kind::many : Kind::any;
      ++at;
    } else {
      token.character = character();
    }
    return token;
  }
};

NamePattern::NamePattern(const std::string& whole, std::size_t begin, std::size_t n_bytes) {
  Reader reader{whole, begin, begin + n_bytes};
  while (reader.at < reader.end) {
    const std::size_t from = reader.at;
    tokens_.push_back(reader.read_token());
    const bool plain = tokens_.back().kind == Kind::character;
    literal_ = literal_ && plain;
    const std::size_t skipped = whole[from] == '\\' ? 1 : 0;
    if (plain) text_.append(whole, from + skipped, reader.at - from - skipped);
  }
}

// Goes back only to the last *: what an earlier one took is of no matter, for the later one can
// take anything that follows. So the time is |pattern| * |name| at most.
bool NamePattern::matches(std::string_view name) const {
  const bool names_hidden = !tokens_.empty() && tokens_.front().kind == Kind::character &&
                            tokens_.front().character == U'.';
  if (name.starts_with('.') && !names_hidden) return false;
  std::size_t token = 0;
  std::size_t at = 0;
  std::size_t star = tokens_.size();  // the last * that was passed; none
  std::size_t star_at = 0;            // the end of what it takes
  while (at < name.size()) {
    if (token < tokens_.size() && tokens_[token].kind == Kind::many) {
      star = token++;
      star_at = at;
      continue;
    }
    std::size_t next = at;
    if (token < tokens_.size() && tokens_[token].takes(next_character(name, next))) {
      ++token;
      at = next;
      continue;
    }
    if (star == tokens_.size()) return false;
    (void)next_character(name, star_at);
    at = star_at;
    token = star + 1;
  }
  while (token < tokens_.size() && tokens_[token].kind == Kind::many)
    ++token;
  return token == tokens_.size();
}

}  // namespace rubato::flow::program_detail

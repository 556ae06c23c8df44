#include "rubato/io/json.hpp"

#include "rubato/base/error.hpp"

namespace rubato::io {
namespace {

// The length of the UTF-8 sequence at the start of `text`, or 0 if it is none: overlong forms,
// surrogates and values above U+10FFFF are refused, as parsers do.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  if (first == 0xe0 && second < 0xa0) return 0;
  if (first == 0xed && second > 0x9f) return 0;
  if (first == 0xf0 && second < 0x90) return 0;
  if (first == 0xf4 && second > 0x8f) return 0;
  return n;
}

void append_escaped(std::string& out, char c) {
  constexpr const char* kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20) {
    out += c;
    return;
  }
  out += "\\u00";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t n = utf8_length(text);
    if (n == 1) {
      append_escaped(out, text[0]);
    } else if (n == 0) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out + '"';
}

JsonWriter& JsonWriter::key(std::string_view name) {
  RUBATO_REQUIRE(!levels_.empty() && levels_.back().bracket == '{' && !after_key_, name);
  if (levels_.back().any) text_ += ',';
  levels_.back().any = true;
  text_ += json_quoted(name) + ':';
  after_key_ = true;
  return *this;
}

void JsonWriter::before_value() {
  if (levels_.empty()) {
    RUBATO_REQUIRE(text_.empty(), text_);
  } else if (levels_.back().bracket == '{') {
    RUBATO_REQUIRE(after_key_, text_);
    after_key_ = false;
  } else {
    if (levels_.back().any) text_ += ',';
    levels_.back().any = true;
  }
}

JsonWriter& JsonWriter::value(bool truth) {
  return raw(truth ? "true" : "false");
}
JsonWriter& JsonWriter::null() {
  return raw("null");
}
JsonWriter& JsonWriter::value(std::string_view text) {
  return raw(json_quoted(text));
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  before_value();
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
  before_value();
  text_ += bracket;
  levels_.push_back({bracket, false});
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  RUBATO_REQUIRE(!levels_.empty() && !after_key_ && levels_.back().bracket == bracket - 2, text_);
  levels_.pop_back();
  text_ += bracket;
  return *this;
}

const std::string& JsonWriter::text() const {
  RUBATO_REQUIRE(levels_.empty(), text_);
  return text_;
}

}  // namespace rubato::io

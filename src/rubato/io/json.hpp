#pragma once
// A small writer of JSON: one line, keys in the order given, numbers that read back to the same
// bits. For benchmark lines, --json and reports; nobody in Rubato needs a JSON parser at run time,
// so that no JSON library enters a header.
//
//   JsonWriter json;
//   json.begin_object().field("bench", "tick-heat").key("rows").begin_array();
//   json.begin_object().field("value", 2.83).end_object().end_array().end_object();
//   puts(json.text().c_str());   {"bench":"tick-heat","rows":[{"value":2.83}]}

#include <string>
#include <string_view>
#include <vector>

#include "rubato/io/number.hpp"

namespace rubato::io {

// `text` as a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD, since JSON has no
// other place for them.
[[nodiscard]] std::string json_quoted(std::string_view text);

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  // REQUIRES: inside an object, before each of its values.
  JsonWriter& key(std::string_view name);

  // NaN and infinities become null: JSON has no word for them.
  template <Number T>
  JsonWriter& value(T number) {
    before_value();
    append_finite(number);
    return *this;
  }
  JsonWriter& value(bool truth);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& null();
  // Text that is JSON already, such as another writer's.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& field(std::string_view name, const T& of) {
    return key(name).value(of);
  }

  // The document. REQUIRES: all objects and arrays are closed.
  [[nodiscard]] const std::string& text() const;

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void before_value();

  template <Number T>
  void append_finite(T number) {
    if (number - number != T{0}) {
      text_ += "null";
    } else {
      append_number(text_, number);
    }
  }

  struct Level {
    char bracket;
    bool any;
  };

  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace rubato::io

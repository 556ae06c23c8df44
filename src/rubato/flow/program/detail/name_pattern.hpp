#pragma once
// One part of a pattern of names, read once and matched with many. Private to flow/program.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rubato::flow::program_detail {

class NamePattern {
 public:
  // The part of `whole` from `begin` that is `n_bytes` long; the whole is for messages. Throws
  // Error with the column.
  NamePattern(const std::string& whole, std::size_t begin, std::size_t n_bytes);

  [[nodiscard]] bool matches(std::string_view name) const;

  // No wildcards: the part is one name, literal().
  [[nodiscard]] bool is_literal() const noexcept { return literal_; }
  [[nodiscard]] const std::string& literal() const noexcept { return text_; }

 private:
  enum class Kind { character, any, many, set };
  struct Token {
    Kind kind = Kind::character;
    char32_t character = 0;
    bool negated = false;
    std::vector<std::pair<char32_t, char32_t>> ranges = {};
    [[nodiscard]] bool takes(char32_t c) const;
  };
  struct Reader;

  std::vector<Token> tokens_;
  std::string text_;
  bool literal_ = true;
};

}  // namespace rubato::flow::program_detail

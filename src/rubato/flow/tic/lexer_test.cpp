#include "rubato/flow/tic/lexer.hpp"

#include <gtest/gtest.h>

namespace rubato::flow::tic {
namespace {

// The tokens as one line: separators as |.
std::string words(std::string_view text) {
  Diagnostics errors("a.tic");
  std::string all;
  for (const Token& t : read_tokens(text, errors)) {
    if (t.kind == TokenKind::end) break;
    if (!all.empty()) all += ' ';
    all += t.kind == TokenKind::separator ? "|" : std::string(t.text);
  }
  return errors.empty() ? all : errors.text();
}

TEST(TicLexer, a_newline_or_a_semicolon_ends_a_statement) {
  EXPECT_EQ(words("a = 1\n\n# remark\nb = 2; c\n"), "a = 1 | b = 2 | c |");
}

TEST(TicLexer, a_mark_of_utf8_is_no_part_of_the_text) {
  EXPECT_EQ(words("\xEF\xBB\xBF"
                  "a = 1\r\nb = 2"),
            "a = 1 | b = 2");
}

TEST(TicLexer, a_backslash_continues_a_line) {
  EXPECT_EQ(words("when {a} \\  \n {b}"), "when { a } { b }");
}

TEST(TicLexer, a_line_that_cannot_end_there_goes_on) {
  EXPECT_EQ(words("a = b +\n c\nf(a\n,\nb)\nwhen {a}\nthen {b}\nfrom {c}\nx"),
            "a = b + c | f ( a , b ) | when { a } then { b } from { c } | x");
}

TEST(TicLexer, an_open_parenthesis_does_not_swallow_the_next_statement) {
  EXPECT_EQ(words("f(a\nwhen {a}"), "f ( a | when { a }");
}

TEST(TicLexer, strings_give_their_bytes) {
  Diagnostics errors("a.tic");
  const auto tokens = read_tokens(R"("a\n\t\"\\\x41\0")", errors);
  EXPECT_EQ(tokens[0].value, std::string("a\n\t\"\\A\0", 7));
  EXPECT_TRUE(errors.empty());
}

TEST(TicLexer, quoted_strings_read_back_to_the_same_bytes) {
  std::string bytes;
  for (int c = 0; c < 256; ++c)
    bytes += static_cast<char>(c);
  Diagnostics errors("a.tic");
  const std::string text = string_literal(bytes);
  EXPECT_EQ(read_tokens(text, errors)[0].value, bytes);
  EXPECT_TRUE(errors.empty()) << errors.text();
}

TEST(TicLexer, numbers_are_whole_or_not) {
  EXPECT_EQ(words("1 1.5 1e3 2.5e-3 a[1].x"), "1 1.5 1e3 2.5e-3 a [ 1 ] . x");
}

TEST(TicLexer, names_what_is_no_number) {
  EXPECT_EQ(words("x = 12ab"),
            "a.tic:1:5: found \"12ab\", expected an integer of 64 bits or the name of a variable");
  EXPECT_EQ(words("x = 99999999999999999999"),
            "a.tic:1:5: found \"99999999999999999999\", expected an integer of 64 bits or the name "
            "of a variable");
  EXPECT_EQ(words("x = 1e999"),
            "a.tic:1:5: found \"1e999\", expected a number that a float can hold");
}

TEST(TicLexer, names_a_string_without_an_end) {
  EXPECT_EQ(words("x = \"abc\ny"),
            "a.tic:1:5: found a string without an end, expected a '\"' at the end of the string");
}

TEST(TicLexer, names_an_unknown_escape) {
  EXPECT_EQ(
      words(R"(x = "ab\q")"),
      "a.tic:1:8: found an unknown escape, expected \\n, \\t, \\r, \\0, \\\\, \\\" or \\x with "
      "two hexadecimal digits");
}

TEST(TicLexer, names_a_character_that_is_no_word) {
  EXPECT_EQ(words("a\n  @"), "a.tic:2:3: found the character \"@\", expected a word of TIC");
  EXPECT_EQ(words("a \\ b"), "a.tic:1:3: found '\\', expected a '\\' at the end of its line only");
}

TEST(TicLexer, columns_count_characters_not_bytes) {
  EXPECT_EQ(words("\"\xc3\xa9\xc3\xa9\" ?"),
            "a.tic:1:6: found the character \"?\", expected a word of TIC");
}

}  // namespace
}  // namespace rubato::flow::tic

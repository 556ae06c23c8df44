#include "rubato/io/table.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <stdlib.h>

namespace rubato::io {
namespace {

Table sample() {
  Table table({{"policy"}, {"ticks/s", 1}, {"waiting", 0, "%"}, {"nodes"}});
  table.row().text("local").number(412.52).number(38.2).integer(16);
  table.row().text("k3m5 <d10>").number(1470).empty().integer(16).highlight();
  return table;
}

TEST(Table, AlignsNumbersToTheRight) {
  EXPECT_EQ(sample().to_text(),
            "policy      ticks/s  waiting  nodes\n"
            "----------  -------  -------  -----\n"
            "local         412.5      38%     16\n"
            "k3m5 <d10>   1470.0              16\n");
}

TEST(Table, CountsCharactersAndNotBytes) {
  Table table({{"n\u00e4me"}, {"n"}});
  table.row().text("\u00e9\u00e9\u00e9\u00e9\u00e9").integer(1);
  table.row().text("x").integer(22);
  EXPECT_EQ(table.to_text({.unicode = true}),
            "n\u00e4me    n\n\u2500\u2500\u2500\u2500\u2500  \u2500\u2500\n"
            "\u00e9\u00e9\u00e9\u00e9\u00e9   1\nx      22\n");
}

TEST(Table, CutsTextAndNeverNumbersToFit) {
  Table table({{"name"}, {"value", 0}});
  table.row().text("a very long name indeed").number(123456789);
  const std::string text = table.to_text({.width_max = 24});
  EXPECT_NE(text.find("a very long ~  123456789\n"), std::string::npos) << text;
  EXPECT_NE(table.to_text({.width_max = 5}).find("a very ~  123456789"), std::string::npos);
}

TEST(Table, ColorsOnlyWhenAsked) {
  EXPECT_EQ(sample().to_text().find('\x1b'), std::string::npos);
  EXPECT_NE(sample().to_text({.color = true}).find("\x1b[1;32mk3m5"), std::string::npos);
}

TEST(Table, IsTheSameInJson) {
  JsonWriter json;
  sample().to_json(json);
  const auto parsed = nlohmann::json::parse(json.text());
  ASSERT_EQ(parsed.size(), 2U);
  EXPECT_EQ(parsed[0]["ticks/s"], 412.52);
  EXPECT_EQ(parsed[1]["policy"], "k3m5 <d10>");
  EXPECT_TRUE(parsed[1]["waiting"].is_null());
  EXPECT_EQ(parsed[1]["nodes"], 16);
}

TEST(Table, IsEscapedInHtml) {
  const std::string html = sample().to_html();
  EXPECT_NE(html.find("<td>k3m5 &lt;d10&gt;</td><td class=\"number\">1470.0</td>"),
            std::string::npos)
      << html;
  EXPECT_NE(html.find("<tr class=\"best\">"), std::string::npos);
}

TEST(TableStyle, FollowsTheEnvironment) {
  ::setenv("LC_ALL", "de_DE.utf8", 1);
  EXPECT_TRUE(style_of_terminal(-1).unicode);
  ::setenv("LC_ALL", "C", 1);
  EXPECT_FALSE(style_of_terminal(-1).unicode);
  EXPECT_FALSE(style_of_terminal(-1).color);  // no terminal
}

TEST(TableStyle, NoColorWinsOnATerminal) {
  const int terminal = ::posix_openpt(0);
  if (terminal < 0) GTEST_SKIP() << "no pseudo-terminal here";
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(style_of_terminal(terminal).color);
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(style_of_terminal(terminal).color);
}

TEST(TableDeathTest, RefusesTooManyCells) {
  Table table({{"a"}});
  table.row().integer(1);
  EXPECT_DEATH(table.integer(2), "precondition");
}

TEST(Table, a_scientific_column_shows_powers_of_ten_and_whole_numbers_as_they_are) {
  Table table({{"quantity"}, {"value", 2, "", true}});
  table.row().text("rows").integer(225);
  table.row().text("residual").number(3.918e-9);
  table.row().text("none").number(0);
  const std::string text = table.to_text();
  for (const char* part : {" 225\n", " 3.92e-09\n", " 0.00e+00\n"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace
}  // namespace rubato::io

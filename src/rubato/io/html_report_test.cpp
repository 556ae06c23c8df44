#include "rubato/io/html_report.hpp"

#include <cmath>
#include <cstdlib>
#include <regex>

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"
#include "rubato/io/detail/testing.hpp"

namespace rubato::io {
namespace {

using testing::TempFolder;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

// Tags that are opened and not closed, or closed and not opened; "" if there are none.
std::string bad_nesting(const std::string& html) {
  const std::regex tag("<(/?)([a-z0-9]+)[^>]*?(/?)>");
  std::vector<std::string> open;
  for (std::sregex_iterator at(html.begin(), html.end(), tag), end; at != end; ++at) {
    const std::string name = (*at)[2];
    if (name == "meta" || name == "img" || (*at)[3].length() > 0) continue;
    if ((*at)[1].length() == 0) {
      open.push_back(name);
    } else {
      if (open.empty() || open.back() != name) return "</" + name + ">";
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + ">";
}

BarChart bars() {
  BarChart chart{"Ticks a second", "ticks/s", {}, 0};
  chart.bars = {
      {"bulk <all>", 210}, {"local", 412}, {"k3m5d10", 1470, true}, {"none", std::nan("")}};
  return chart;
}

LineChart lines() {
  LineChart chart;
  chart.title = "Gain over local";
  chart.x_label = "hosts";
  chart.y_label = "gain";
  chart.log_x = true;
  chart.series = {{"d=1", {4, 16, 64, 256}, {1.2, 1.3, 1.31, 1.3}},
                  {"k3m5d10", {4, 16, 64, 256}, {2.5, 3.1, std::nan(""), 3.3}}};
  return chart;
}

HtmlReport sample() {
  Table table({{"policy"}, {"ticks/s", 0}});
  table.row().text("k3m5d10").number(1470).highlight();
  HtmlReport report("Fish & <jitter>");
  report.heading("Result").paragraph("a < b & \"c\"").code("$ rubato demo\n<output>");
  report.table(table, "All checksums are equal.").chart(bars()).chart(lines());
  report.image({2, 2, std::vector<Rgb>(4, Rgb{1, 2, 3})}, "The school");
  return report;
}

TEST(HtmlReport, IsOneWellFormedFileWithoutReferences) {
  const TempFolder folder;
  sample().write(folder / "report.html");
  const std::string html = testing::content_of(folder / "report.html");
  EXPECT_EQ(html, sample().html());
  EXPECT_EQ(bad_nesting(html.substr(html.find("<html"))), "");
  EXPECT_EQ(count(html, "http"), 0U);
  EXPECT_EQ(count(html, "<script"), 0U);
  EXPECT_EQ(count(html, "src=\"data:image/png;base64,iVBORw0KGgo"), 1U);
  EXPECT_EQ(count(html, "prefers-color-scheme: dark"), 1U);
  if (const char* const kept = std::getenv("RUBATO_TEST_PICTURES")) {
    sample().write(std::string(kept) + "/report.html");
  }
}

TEST(HtmlReport, EscapesWhatUsersWrote) {
  const std::string html = sample().html();
  EXPECT_EQ(count(html, "<jitter>"), 0U);
  EXPECT_EQ(count(html, "Fish &amp; &lt;jitter&gt;"), 2U);
  EXPECT_EQ(count(html, "<output>"), 0U);
  EXPECT_EQ(count(html, "bulk &lt;all&gt;"), 1U);
}

TEST(HtmlReport, NamesAFileThatCannotBeWritten) {
  EXPECT_EQ(testing::error_of([] { sample().write("/dev/full"); }),
            "writing /dev/full: No space left on device");
}

TEST(BarChart, HasABarForEachFiniteValueInProportion) {
  const std::string svg = to_svg(bars());
  const std::regex rect("<rect[^>]* width=\"([0-9.]+)\"");
  std::vector<double> widths;
  for (std::sregex_iterator at(svg.begin(), svg.end(), rect), end; at != end; ++at) {
    widths.push_back(std::stod((*at)[1]));
  }
  ASSERT_EQ(widths.size(), 3U);
  EXPECT_NEAR(widths[1] / widths[0], 412.0 / 210, 0.01);
  EXPECT_NEAR(widths[2] / widths[0], 7, 0.01);
  EXPECT_EQ(count(svg, ">1470</text>"), 1U);
}

TEST(LineChart, InterruptsALineWhereAValueIsMissing) {
  const std::string svg = to_svg(lines());
  EXPECT_EQ(count(svg, "<circle"), 7U);
  const std::regex path("<path d=\"([^\"]*)\"");
  std::vector<std::string> paths;
  for (std::sregex_iterator at(svg.begin(), svg.end(), path), end; at != end; ++at) {
    paths.push_back((*at)[1]);
  }
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(count(paths[0], "M"), 1U);
  EXPECT_EQ(count(paths[1], "M"), 2U);
}

TEST(Chart, AnyNumbersMakeAWellFormedChart) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed);
    const auto any = [&]() -> double {
      switch (random.between(0, 6)) {
        case 0:
          return 0;
        case 1:
          return HUGE_VAL;
        case 2:
          return std::nan("");
        case 3:
          return 1e300 * random.unit();
        default:
          return random.unit() - 0.3;
      }
    };
    LineChart chart;
    chart.log_x = random.between(0, 1) == 1;
    chart.log_y = random.between(0, 1) == 1;
    BarChart more;
    for (auto n = random.between(0, 3); n > 0; --n) {
      chart.series.push_back({"s<" + std::to_string(n), {any(), any()}, {any(), any()}});
      more.bars.push_back({"b", any()});
    }
    EXPECT_EQ(bad_nesting(to_svg(chart)), "") << "seed " << seed;
    EXPECT_EQ(bad_nesting(to_svg(more)), "") << "seed " << seed;
    EXPECT_EQ(count(to_svg(chart) + to_svg(more), "nan\""), 0U) << "seed " << seed;
  }
}

TEST(Base64, MatchesTheExamplesOfItsDefinition) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace rubato::io

#include "rubato/io/chart.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "rubato/base/error.hpp"
#include "rubato/io/detail/ticks.hpp"
#include "rubato/io/table.hpp"

namespace rubato::io {
namespace {

constexpr double kWidth = 720;
constexpr std::size_t kColors = 6;
constexpr std::array<const char*, kColors> kFallback = {"#3b6fd4", "#d9622b", "#2e9e6b",
                                                        "#a04fc4", "#b98a00", "#cc3f6a"};

std::string color_of(std::size_t series) {
  const std::size_t i = series % kColors;
  return "var(--series-" + std::to_string(i) + "," + kFallback[i] + ")";
}

// A coordinate: hundredths of a unit are finer than any screen.
std::string at(double value) {
  std::array<char, 64> buffer;
  if (!(std::fabs(value) < 1e6)) value = 0;
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                         std::chars_format::fixed, 2);
  return {buffer.data(), end};
}

std::string fixed(double value, int n_decimals) {
  if (!(std::fabs(value) < 1e12)) return detail::tick_label(value);
  std::array<char, 64> buffer;
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                         std::chars_format::fixed, n_decimals);
  return {buffer.data(), end};
}

std::string open_svg(double height, const std::string& title) {
  return "<svg class=\"chart\" viewBox=\"0 0 " + at(kWidth) + " " + at(height) +
         "\" role=\"img\" aria-label=\"" + xml_escaped(title) +
         "\" fill=\"currentColor\" font-family=\"system-ui,sans-serif\" font-size=\"13\">\n";
}

struct TextStyle {
  const char* anchor = "start";
  const char* more = "";  // further attributes
};

std::string text(double x, double y, const std::string& content, const TextStyle& style = {}) {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + style.anchor + "\" " +
         style.more + ">" + xml_escaped(content) + "</text>\n";
}

std::string grid_line(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" + at(x2) + "\" y2=\"" + at(y2) +
         "\" stroke=\"currentColor\" stroke-opacity=\"0.18\"/>\n";
}

// About what 13 px of a usual font take.
double text_width(const std::string& content) {
  return 7.2 * static_cast<double>(content.size());
}

// From values to coordinates of one axis.
struct Axis {
  double low;
  double high;
  bool logarithmic;
  double begin;  // the coordinate of `low`
  double end;

  [[nodiscard]] bool has(double value) const {
    return std::isfinite(value) && (!logarithmic || value > 0);
  }
  [[nodiscard]] double place(double value) const {
    const double a = logarithmic ? std::log10(low) : low;
    const double b = logarithmic ? std::log10(high) : high;
    const double v = logarithmic ? std::log10(value) : value;
    return b > a ? begin + (v - a) / (b - a) * (end - begin) : (begin + end) / 2;
  }
  [[nodiscard]] std::vector<double> ticks() const {
    return logarithmic ? detail::log_ticks(low, high) : detail::ticks(low, high, 6);
  }
};

// Widens the bounds to hold all values; what an axis cannot show does not count.
Axis axis_of(const LineChart& chart, bool of_x) {
  Axis axis{HUGE_VAL, -HUGE_VAL, of_x ? chart.log_x : chart.log_y, 0, 0};
  for (const Series& series : chart.series) {
    for (const double value : of_x ? series.x : series.y) {
      if (!axis.has(value)) continue;
      axis.low = std::min(axis.low, value);
      axis.high = std::max(axis.high, value);
    }
  }
  if (axis.low > axis.high) axis.low = axis.high = 1;
  if (!of_x && !axis.logarithmic && chart.from_zero) {
    axis.low = std::min(axis.low, 0.0);
    axis.high = std::max(axis.high, 0.0);
  }
  return axis;
}

std::string series_svg(const Series& series, std::size_t index, const Axis& x, const Axis& y) {
  std::string path;
  std::string marks;
  bool pen_down = false;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!x.has(series.x[i]) || !y.has(series.y[i])) {
      pen_down = false;
      continue;
    }
    const std::string place_x = at(x.place(series.x[i]));
    const std::string place_y = at(y.place(series.y[i]));
    path.append(pen_down ? "L" : "M").append(place_x).append(" ").append(place_y);
    const std::string title = series.name + ": " + detail::tick_label(series.x[i]) + ", " +
                              detail::tick_label(series.y[i]);
    marks.append("<circle cx=\"").append(place_x).append("\" cy=\"").append(place_y);
    marks.append("\" r=\"3\"><title>").append(xml_escaped(title)).append("</title></circle>\n");
    pen_down = true;
  }
  const std::string color = color_of(index);
  return "<path d=\"" + path + "\" fill=\"none\" style=\"stroke:" + color +
         "\" stroke-width=\"2\"/>\n<g style=\"fill:" + color + "\">\n" + marks + "</g>\n";
}

}  // namespace

std::string to_svg(const BarChart& chart) {
  constexpr double kBar = 22;
  constexpr double kStep = 30;
  constexpr double kTop = 34;
  double label_width = 0;
  double low = 0;
  double high = 0;
  for (const Bar& bar : chart.bars) {
    label_width = std::max(label_width, text_width(bar.label));
    if (!std::isfinite(bar.value)) continue;
    low = std::min(low, bar.value);
    high = std::max(high, bar.value);
  }
  const double left = std::min(label_width, kWidth / 2) + 12;
  const double bottom = kTop + kStep * static_cast<double>(chart.bars.size());
  const Axis axis{low, high > low ? high : low + 1, false, left, kWidth - 80};
  std::string svg = open_svg(bottom + 44, chart.title);
  svg += text(0, 16, chart.title, {"start", "font-weight=\"600\""});
  for (const double tick : axis.ticks()) {
    svg += grid_line(axis.place(tick), kTop - 4, axis.place(tick), bottom);
    svg += text(axis.place(tick), bottom + 16, detail::tick_label(tick),
                {"middle", "opacity=\"0.75\""});
  }
  svg += text((axis.begin + axis.end) / 2, bottom + 36, chart.unit, {"middle", "opacity=\"0.75\""});
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const double y = kTop + kStep * static_cast<double>(i);
    svg += text(left - 8, y + 16, bar.label, {"end", bar.highlighted ? "font-weight=\"600\"" : ""});
    if (!std::isfinite(bar.value)) continue;
    const double from = axis.place(std::min(0.0, bar.value));
    const double to = axis.place(std::max(0.0, bar.value));
    svg += "<rect x=\"" + at(from) + "\" y=\"" + at(y) + "\" width=\"" + at(to - from) +
           "\" height=\"" + at(kBar) +
           "\" rx=\"2\" style=\"fill:" + color_of(bar.highlighted ? 1 : 0) + "\"/>\n";
    svg += text(to + 6, y + 16, fixed(bar.value, chart.n_decimals));
  }
  return svg + "</svg>\n";
}

std::string to_svg(const LineChart& chart) {
  constexpr double kHeight = 380;
  constexpr double kTop = 44;
  constexpr double kBottom = kHeight - 52;
  Axis x = axis_of(chart, true);
  Axis y = axis_of(chart, false);
  double label_width = 0;
  for (const double tick : y.ticks()) {
    label_width = std::max(label_width, text_width(detail::tick_label(tick)));
  }
  double legend_width = 0;
  for (const Series& series : chart.series) {
    RUBATO_REQUIRE(series.x.size() == series.y.size(), series.name, series.x.size(),
                   series.y.size());
    legend_width = std::max(legend_width, text_width(series.name) + 34);
  }
  x.begin = label_width + 14;
  x.end = kWidth - std::min(legend_width, kWidth / 2) - 8;
  y.begin = kBottom;
  y.end = kTop;
  std::string svg = open_svg(kHeight, chart.title);
  svg += text(0, 16, chart.title, {"start", "font-weight=\"600\""});
  svg += text(0, 34, chart.y_label, {"start", "opacity=\"0.75\""});
  for (const double tick : y.ticks()) {
    svg += grid_line(x.begin, y.place(tick), x.end, y.place(tick));
    svg +=
        text(x.begin - 8, y.place(tick) + 4, detail::tick_label(tick), {"end", "opacity=\"0.75\""});
  }
  for (const double tick : x.ticks()) {
    svg += grid_line(x.place(tick), y.begin, x.place(tick), y.end);
    svg +=
        text(x.place(tick), kBottom + 18, detail::tick_label(tick), {"middle", "opacity=\"0.75\""});
  }
  svg += text((x.begin + x.end) / 2, kBottom + 40, chart.x_label, {"middle", "opacity=\"0.75\""});
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    svg += series_svg(chart.series[i], i, x, y);
    const double at_y = kTop + 20 * static_cast<double>(i);
    svg += "<rect x=\"" + at(x.end + 12) + "\" y=\"" + at(at_y) +
           "\" width=\"12\" height=\"12\" rx=\"2\" style=\"fill:" + color_of(i) + "\"/>\n";
    svg += text(x.end + 30, at_y + 11, chart.series[i].name);
  }
  return svg + "</svg>\n";
}

}  // namespace rubato::io

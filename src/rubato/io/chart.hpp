#pragma once
// Charts as SVG text, for HTML reports: bars and lines with axes. Texts and axes have the colour of
// the text around them, so that a chart is legible on light and dark pages; HtmlReport defines the
// colours of the series (--series-0 .. --series-5), and each has a fallback for a chart on its own.

#include <string>
#include <vector>

namespace rubato::io {

struct Bar {
  std::string label;
  double value = 0;
  bool highlighted = false;
};

// Horizontal bars from zero, each with its label and value.
struct BarChart {
  std::string title;
  std::string unit = "";  // of the values, below the axis
  std::vector<Bar> bars = {};
  int n_decimals = 2;
};

struct Series {
  std::string name;
  std::vector<double> x = {};
  std::vector<double> y = {};
};

// Lines with a mark at each point. Points that are not finite, or not positive on a logarithmic
// axis, interrupt their line.
struct LineChart {
  std::string title;
  std::string x_label = "";
  std::string y_label = "";
  std::vector<Series> series = {};
  bool log_x = false;
  bool log_y = false;
  bool from_zero = true;  // the y axis includes zero, unless it is logarithmic
};

// An <svg> element that scales with its surroundings; all text escaped. Values that are not finite
// have no bar. REQUIRES (lines): x and y of a series have the same length.
[[nodiscard]] std::string to_svg(const BarChart& chart);
[[nodiscard]] std::string to_svg(const LineChart& chart);

}  // namespace rubato::io

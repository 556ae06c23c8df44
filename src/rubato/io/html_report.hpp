#pragma once
// One HTML file that holds a whole report: text, tables, pictures and charts, without a script and
// without a reference to anything else, so that it can be mailed and opened from anywhere. Legible
// on light and dark screens, on paper and on a telephone.
//
//   HtmlReport report("A school of fish under jitter");
//   report.paragraph("Each policy computes the same bits.").table(table).chart(bars).image(school,
//   ".."); report.write("report.html");

#include <string>
#include <string_view>

#include "rubato/io/chart.hpp"
#include "rubato/io/image.hpp"
#include "rubato/io/table.hpp"

namespace rubato::io {

// All text is escaped: what users call their models and files cannot break the page.
class HtmlReport {
 public:
  explicit HtmlReport(std::string_view title);

  HtmlReport& heading(std::string_view text);
  HtmlReport& paragraph(std::string_view text);
  // Commands and their output, as they are.
  HtmlReport& code(std::string_view text);
  HtmlReport& table(const Table& table, std::string_view caption = "");
  // Embedded as PNG. `caption` stands below and is read out where a picture cannot be seen.
  HtmlReport& image(const RgbImage& image, std::string_view caption);
  HtmlReport& chart(const BarChart& chart);
  HtmlReport& chart(const LineChart& chart);

  [[nodiscard]] std::string html() const;
  // The file appears whole. Throws Error if it cannot be written.
  void write(const std::string& path) const;

 private:
  std::string title_;
  std::string body_;
};

// Base64 with padding (RFC 4648).
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace rubato::io

#include "rubato/io/html_report.hpp"

#include "rubato/io/output_file.hpp"

namespace rubato::io {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ground: #fdfdfc; --ink: #1d1f24; --soft: #5d6470;
  --line: #d9dce1; --best: #e8f1e6; --series-0: #3b6fd4; --series-1: #d9622b; --series-2: #2e9e6b;
  --series-3: #a04fc4; --series-4: #b98a00; --series-5: #cc3f6a; }
@media (prefers-color-scheme: dark) { :root { --ground: #15171b; --ink: #e6e8ec; --soft: #9aa2af;
  --line: #343840; --best: #1f3326; --series-0: #7aa5ff; --series-1: #ff9a66; --series-2: #5fd3a0;
  --series-3: #d08cf0; --series-4: #e8c04a; --series-5: #ff86a8; } }
body { background: var(--ground); color: var(--ink); max-width: 52rem; margin: 2rem auto;
  padding: 0 1rem; font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid var(--line); text-align: left; }
th { color: var(--soft); font-weight: 600; } .number { text-align: right; }
tr.best td { background: var(--best); font-weight: 600; }
.scroll { overflow-x: auto; } figure { margin: 1.5rem 0; }
figcaption { color: var(--soft); font-size: .9rem; margin-top: .4rem; }
img, svg.chart { max-width: 100%; height: auto; } svg.chart { width: 100%; }
pre { background: color-mix(in srgb, var(--ink) 6%, transparent); padding: .8rem 1rem;
  overflow-x: auto; border-radius: 4px; font-size: .85rem; }
)";

std::string figure(const std::string& content, std::string_view caption) {
  std::string out = "<figure>\n" + content;
  if (!caption.empty()) out += "<figcaption>" + xml_escaped(caption) + "</figcaption>\n";
  return out + "</figure>\n";
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  const auto byte = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i])) : 0U;
  };
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const unsigned group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    out += kDigits[group >> 18];
    out += kDigits[group >> 12 & 63];
    out += i + 1 < bytes.size() ? kDigits[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kDigits[group & 63] : '=';
  }
  return out;
}

HtmlReport::HtmlReport(std::string_view title) : title_(xml_escaped(title)) {}

HtmlReport& HtmlReport::heading(std::string_view text) {
  body_ += "<h2>" + xml_escaped(text) + "</h2>\n";
  return *this;
}

HtmlReport& HtmlReport::paragraph(std::string_view text) {
  body_ += "<p>" + xml_escaped(text) + "</p>\n";
  return *this;
}

HtmlReport& HtmlReport::code(std::string_view text) {
  body_ += "<pre>" + xml_escaped(text) + "</pre>\n";
  return *this;
}

HtmlReport& HtmlReport::table(const Table& table, std::string_view caption) {
  body_ += figure("<div class=\"scroll\">\n" + table.to_html() + "</div>\n", caption);
  return *this;
}

HtmlReport& HtmlReport::image(const RgbImage& image, std::string_view caption) {
  body_ += figure("<img width=\"" + std::to_string(image.width) + "\" height=\"" +
                      std::to_string(image.height) + "\" alt=\"" + xml_escaped(caption) +
                      "\" src=\"data:image/png;base64," + base64(encode_png(image)) + "\">\n",
                  caption);
  return *this;
}

HtmlReport& HtmlReport::chart(const BarChart& chart) {
  body_ += figure(to_svg(chart), "");
  return *this;
}

HtmlReport& HtmlReport::chart(const LineChart& chart) {
  body_ += figure(to_svg(chart), "");
  return *this;
}

std::string HtmlReport::html() const {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         title_ + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n<h1>" + title_ +
         "</h1>\n" + body_ + "</body>\n</html>\n";
}

void HtmlReport::write(const std::string& path) const {
  write_file(path, html());
}

}  // namespace rubato::io

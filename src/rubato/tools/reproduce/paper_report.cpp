#include "rubato/tools/reproduce/paper_report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "rubato/io/html_report.hpp"
#include "rubato/tools/build_info.hpp"
#include "rubato/tools/reproduce/statement_text.hpp"

namespace rubato::tools {

std::string report_text(const PaperReport& report) {
  const io::TableStyle style = io::style_of_terminal(STDOUT_FILENO);
  std::string text;
  for (const PaperFigure& figure : report.figures) {
    text += fmt::format("{}  {}\n{}", figure.place, figure.title, figure.table.to_text(style));
    text += figure.note.empty() ? "\n" : "(" + figure.note + ")\n\n";
  }
  return text + statements_text(report.statements);
}

std::string report_json(const PaperReport& report,
                        const std::function<void(io::JsonWriter&)>& put_options) {
  io::JsonWriter json;
  json.begin_object().field("paper", report.paper).field("commit", commit());
  put_options(json);
  json.key("figures").begin_array();
  for (const PaperFigure& figure : report.figures) {
    json.begin_object();
    if (figure.number > 0) {
      json.field("number", figure.number);
    } else {
      json.field("place", figure.place);
    }
    json.field("title", figure.title).field("note", figure.note);
    json.key("points");
    figure.table.to_json(json);
    json.end_object();
  }
  json.end_array().key("statements");
  put_statements(json, report.statements);
  json.end_object();
  return json.text() + '\n';
}

void write_html_report(const std::string& path, const PaperReport& report) {
  io::HtmlReport html(report.title);
  html.paragraph(report.conditions + ".");
  if (!report.statements.empty())
    html.heading("What the paper says").table(statement_table(report.statements));
  for (const PaperFigure& figure : report.figures) {
    html.heading(figure.place + ": " + figure.title);
    for (const io::LineChart& chart : figure.charts)
      html.chart(chart);
    html.table(figure.table);
    if (!figure.note.empty()) html.paragraph(figure.note + ".");
  }
  html.write(path);
}

}  // namespace rubato::tools

#pragma once
// What `reproduce PAPER` prints: figures as tables, and which statements of the paper hold; as text,
// as JSON, and as an HTML report.

#include <functional>
#include <string>
#include <vector>

#include "rubato/io/chart.hpp"
#include "rubato/io/json.hpp"
#include "rubato/io/table.hpp"
#include "rubato/tools/reproduce/statement.hpp"

namespace rubato::tools {

struct PaperFigure {
  std::string place;  // in the paper: "Figure 6, left"
  std::string title;
  io::Table table;
  std::string note = "";                   // below the table
  std::vector<io::LineChart> charts = {};  // of a report
  int number = 0;                          // in JSON, instead of the place; 0: it has none
};

struct PaperReport {
  std::string paper;       // its name on the command line
  std::string title;       // of the HTML report
  std::string conditions;  // under which the figures came about, a sentence without its end
  std::vector<PaperFigure> figures;
  std::vector<Statement> statements;  // none if nothing is judged
};

// Figures, then statements; tables are drawn as the terminal can.
[[nodiscard]] std::string report_text(const PaperReport& report);
// An object on a line: paper, commit, what `put_options` adds, figures, statements.
[[nodiscard]] std::string report_json(const PaperReport& report,
                                      const std::function<void(io::JsonWriter&)>& put_options);
// Throws Error if the file cannot be written.
void write_html_report(const std::string& path, const PaperReport& report);

}  // namespace rubato::tools

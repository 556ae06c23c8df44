#include "rubato/tools/reproduce/statement_text.hpp"

#include <fmt/format.h>

namespace rubato::tools {

std::string statements_text(const std::vector<Statement>& statements) {
  std::string text;
  for (const Statement& statement : statements) {
    text += fmt::format("{:<5}  {}\n       here: {}; wanted: {}\n", statement.verdict(),
                        statement.text, statement.here, statement.wanted);
    if (!statement.why.empty()) text += "       why not: " + statement.why + '\n';
  }
  return text;
}

io::Table statement_table(const std::vector<Statement>& statements) {
  io::Table table({{"the paper"}, {"here"}, {"wanted"}, {"holds"}, {"why not"}});
  for (const Statement& statement : statements) {
    table.row()
        .text(statement.text)
        .text(statement.here)
        .text(statement.wanted)
        .text(statement.verdict())
        .text(statement.why);
  }
  return table;
}

void put_statements(io::JsonWriter& json, const std::vector<Statement>& statements) {
  json.begin_array();
  for (const Statement& statement : statements) {
    json.begin_object()
        .field("text", statement.text)
        .field("here", statement.here)
        .field("wanted", statement.wanted)
        .field("judged", statement.is_judged)
        .field("holds", statement.holds)
        .field("why", statement.why)
        .end_object();
  }
  json.end_array();
}

}  // namespace rubato::tools

#pragma once
// Statements as people, scripts and reports get them.

#include <string>
#include <vector>

#include "rubato/io/json.hpp"
#include "rubato/io/table.hpp"
#include "rubato/tools/reproduce/statement.hpp"

namespace rubato::tools {

// Lines, each statement's verdict first.
[[nodiscard]] std::string statements_text(const std::vector<Statement>& statements);
[[nodiscard]] io::Table statement_table(const std::vector<Statement>& statements);
// An array of objects.
void put_statements(io::JsonWriter& json, const std::vector<Statement>& statements);

}  // namespace rubato::tools

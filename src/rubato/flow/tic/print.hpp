#pragma once
// A tree as canonical text: one statement a line, two spaces a block, declarations before main's
// statements, parentheses only where they are needed. Comments are not part of a tree.

#include <string>

#include "rubato/flow/tic/syntax.hpp"

namespace rubato::flow::tic {

// parse_program(print_program(p)) == p for each p that was parsed and not yet checked.
[[nodiscard]] std::string print_program(const Program& program);

// One expression, e.g. for a message or a trace: "(a + b) * c[i]".
[[nodiscard]] std::string print_expression(const Expr& expression);

// One statement with its blocks, without a newline behind it.
[[nodiscard]] std::string print_statement(const Statement& statement);

}  // namespace rubato::flow::tic

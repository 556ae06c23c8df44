#pragma once
// The text of a TIC script to its tree. Grammar: docs/tic.md.

#include <string>
#include <string_view>

#include "rubato/flow/tic/diagnostics.hpp"
#include "rubato/flow/tic/syntax.hpp"

namespace rubato::flow::tic {

// The program of `text`. `file_name` is what errors name. Names are not resolved: see check.hpp.
// Throws Error with one line for each error, Diagnostics::kMax at most.
[[nodiscard]] Program parse_program(std::string_view text, std::string file_name);

// The same for tools: what could be read, and all errors in `errors`.
[[nodiscard]] Program parse_program(std::string_view text, std::string file_name,
                                    Diagnostics& errors);

}  // namespace rubato::flow::tic

#pragma once
// What can be known of a script before it runs: that its names exist and its types fit, that no
// variable has two writers in one straight line nor none at all, that every action finds what it
// reads among the inputs of its rule, that no rule waits for itself.

#include <string>
#include <string_view>
#include <vector>

#include "rubato/flow/tic/diagnostics.hpp"
#include "rubato/flow/tic/syntax.hpp"

namespace rubato::flow::tic {

// Resolves and checks a parsed program: fills in all that syntax.hpp says the checker sets. Errors
// go to `errors`, what may well be meant to `warnings`: values that nobody reads. The tree may be
// run only if there are no errors. REQUIRES: parsed, not yet checked.
void check_program(Program& program, Diagnostics& errors, Diagnostics& warnings);

// The same; throws Error with all messages, returns the warnings.
std::vector<Diagnostic> check_program(Program& program);

// Parsed and checked. Throws Error with all messages, syntax first.
[[nodiscard]] Program load_program(std::string_view text, std::string file_name);

}  // namespace rubato::flow::tic

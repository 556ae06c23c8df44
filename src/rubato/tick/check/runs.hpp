#pragma once
// check_problem: the rules of a model (checker.hpp), and then its fast store: whole runs in the
// simulator under several policies, node and core counts, whose tuples must be those of the serial
// reference, bit for bit; and steps that go ahead of their inputs (ahead_rule.hpp).

#include "rubato/tick/check/report.hpp"
#include "rubato/tick/problem.hpp"

namespace rubato::tick {

// Blocks; uses one thread. Throws Error as Problem::check.
[[nodiscard]] CheckReport check_problem(const Problem& problem, const CheckOptions& options);

}  // namespace rubato::tick

#pragma once
// The rule of a store's asynchronous part [AsyTick 3.2, Table 1], of whatever kind it is: a general
// model's interact() has a rule of its own (step_rules.hpp), but the stores of grids, points and graphs
// take their steps apart themselves.

#include "rubato/tick/check/report.hpp"
#include "rubato/tick/problem.hpp"

namespace rubato::tick::detail {

// Adds the rule "ahead-of-inputs" if the store has such a part and the model several regions: under some
// random cuts into pieces, two nodes that are alike step some ticks; one goes ahead of each step with
// random subsets of its inputs, more and more of them, and what both have saved must be the same bytes. Blocks; uses one thread.
void check_ahead(const Problem& problem, const CheckOptions& options, CheckReport& report);

}  // namespace rubato::tick::detail

#pragma once
// check_model: tests by sampling that a model keeps the rules that the engine builds on: the
// properties and definitions of [Ticks 4, A.1], what tick/model.hpp asks of states and queries, and
// the bit rules. A rule that holds for all samples may still be wrong; one that is reported broken
// is: the report names the tuple, the query and the tick.
//
// States are those of the serial reference run at some ticks; queries are described in queries.hpp.
// The rules stand in four files: state_rules.hpp (what a State is), query_rules.hpp (what queries
// select), step_rules.hpp (what a step reads, writes and yields), piece_rules.hpp (pieces and what
// joins them, of models that have them).

#include "rubato/tick/check/piece_rules.hpp"
#include "rubato/tick/check/query_rules.hpp"
#include "rubato/tick/check/state_rules.hpp"
#include "rubato/tick/check/step_rules.hpp"

namespace rubato::tick {

// Runs all rules on the calling thread; some seconds for 10,000 tuples. Throws Error (usage) if the
// instance has no tuples or too many, and as the model's init and part do. What a model's function
// throws while a rule is tested breaks that rule.
template <Checkable M>
[[nodiscard]] CheckReport check_model(const M& model, const CheckOptions& options = {}) {
  RUBATO_REQUIRE(options.ticks > 0 && options.n_states > 0, options.ticks, options.n_states);
  detail::CheckContext<M> context(model, options);
  CheckReport report;
  report.n_tuples = context.samples.front().tuples.size();
  report.n_queries = context.queries.size();
  report.ticks = context.end;
  report.reference = context.reference;
  detail::check_states(context, report);
  detail::check_queries(context, report);
  detail::check_steps(context, report);
  detail::check_pieces(context, report);
  return report;
}
}  // namespace rubato::tick

#pragma once
// Equal tasks of a run with a journal: which of them one is.
//
// Two tasks of the same command, or of the same leaf with the same values, are two tasks: the k-th
// that a run begins, on whatever node, is the k-th in the journal. Each has its home on a core, which
// counts those that are equal to it. So a run that was ended after three of five leaves three entries,
// and the next one, of any number of nodes, has two left to do.

#include "rubato/core/message/core_context.hpp"
#include "rubato/flow/journal/journal.hpp"

namespace rubato::flow {

// Gives it the next number among its equals, if it may have any; returns that. Once a task, before it
// is looked for. By a task, which may wait for an answer of another core.
std::uint64_t number_among_equals(TaskIdentity& task);
// At the end of a run, on each core.
void forget_equal_tasks(core::CoreContext& here);

}  // namespace rubato::flow

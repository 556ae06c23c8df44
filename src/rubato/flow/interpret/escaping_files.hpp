#pragma once
// Which variables that are files are used by more than those that wait for them, read or write them.

#include <set>
#include <utility>

#include "rubato/flow/tic/syntax.hpp"

namespace rubato::flow {

// Those whose name goes elsewhere: by filename(), into containers, structs, strings and other variables,
// to a leaf that may return it, or to a function where it does. REQUIRES: checked.
[[nodiscard]] std::set<std::pair<const tic::Frame*, int>> escaping_files(
    const tic::Program& program);

}  // namespace rubato::flow

#pragma once
// A task for a node, whichever of its cores: `async(f, {.core = next_core_of(2)})`.

#include "rubato/core/message/core_context.hpp"

namespace rubato::flow {

// A core of that node, another one at each call, so that its cores take turns at what this core sends
// there; all cores begin with different ones. Does not wait. Throws Error (usage) if there is no such node.
[[nodiscard]] core::CoreId next_core_of(core::NodeId node);

}  // namespace rubato::flow

#include "rubato/flow/node_turns.hpp"

#include <map>
#include <string>

#include "rubato/base/error.hpp"

namespace rubato::flow {
namespace {

// Of a core: how many it has sent to each node.
struct NodeTurns {
  std::map<core::NodeId, std::uint32_t> n_sent;
};

}  // namespace

core::CoreId next_core_of(core::NodeId node) {
  core::CoreContext& here = core::CoreContext::here();
  const core::JobShape& shape = here.shape();
  if (node >= shape.n_nodes) {
    throw Error(
        "node " + std::to_string(node) + ": expected 0 to " + std::to_string(shape.n_nodes - 1),
        ExitCode::usage);
  }
  std::uint32_t& turn =
      here.local_or_make<NodeTurns>().n_sent.try_emplace(node, here.core()).first->second;
  return node * shape.n_cores + turn++ % shape.n_cores;
}

}  // namespace rubato::flow

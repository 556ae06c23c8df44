#pragma once
// On which machines a run runs: looked at by each node, put together by node 0.

#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/tools/record/run_file.hpp"

namespace rubato::tools {

// Without nodes.
[[nodiscard]] RecordedHost this_machine();

// A machine as bytes for node 0; docs/formats.md has them.
void put(Writer& out, const RecordedHost& host);
// Throws Error if the bytes are none.
[[nodiscard]] RecordedHost get_host(Reader& in);

// The machines of nodes 0, 1, .., each once with its nodes, in the order of their first ones.
[[nodiscard]] std::vector<RecordedHost> hosts_of_nodes(const std::vector<RecordedHost>& by_node);

}  // namespace rubato::tools

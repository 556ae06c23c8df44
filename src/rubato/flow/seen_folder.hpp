#pragma once
// Whether a folder of one node is there for all: what files without a name of their own are in, which
// the task of one node writes and that of another reads.

#include <string>
#include <vector>

namespace rubato::flow {

// The nodes that do not see the folder, as "node 3 on HOST"; none if it is on a file system that they
// share. REQUIRES: no other folder has that name anywhere. Called by a task; waits for all nodes.
[[nodiscard]] std::vector<std::string> nodes_without(const std::string& folder);

}  // namespace rubato::flow

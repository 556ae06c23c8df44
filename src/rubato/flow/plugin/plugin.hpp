#pragma once
// Shared libraries with leaves of scripts (rubato_plugin.h).

#include <string>

namespace rubato::flow {

// Adds the leaves of a library, for the rest of the process. Before a run, on every node. A path
// without a slash is looked up as the system looks up libraries. Throws Error if it cannot be
// loaded, is no plugin, or refuses.
void load_plugin(const std::string& path);

}  // namespace rubato::flow

#pragma once
// The only place that knows METIS.

#include <cstdint>
#include <vector>

#include "rubato/tick/graph/digraph.hpp"

namespace rubato::tick::detail {

// [n_vertices] the part of each vertex; no part is empty. Deterministic. Throws Error for no parts,
// more parts than vertices, or a graph beyond METIS's 32-bit counts.
[[nodiscard]] std::vector<std::uint32_t> cut_with_metis(const Digraph& graph,
                                                        std::uint32_t n_parts);

}  // namespace rubato::tick::detail

#pragma once
// The only place that knows METIS.

#include <cstdint>
#include <span>
#include <vector>

#include "rubato/tick/graph/digraph.hpp"

namespace rubato::tick::detail {

// [n_vertices] the part of each vertex; no part is empty. Deterministic. Throws Error for no parts,
// more parts than vertices, or a graph beyond METIS's 32-bit counts.
[[nodiscard]] std::vector<std::uint32_t> cut_with_metis(const Digraph& graph,
                                                        std::uint32_t n_parts);

// [graphs] the same of each, in as many parts as it has vertices if it has fewer than n_parts: all in one
// process, so that a thousand graphs take no longer than one that is as large as all of them.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> cut_each_with_metis(
    std::span<const Digraph* const> graphs, std::uint32_t n_parts);

}  // namespace rubato::tick::detail

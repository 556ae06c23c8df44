#pragma once
// How much slower than its costs say each virtual node computes, as people give it: "2" is all nodes,
// "2@5" node 5 alone, "1.5,4@0,3@7" all nodes but two. Factors below 1 are faster.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rubato/net/fabric.hpp"

namespace rubato::tools {

struct Slowdowns {
  double all = 1;                                     // of the nodes that have none of their own
  std::vector<std::pair<net::NodeId, double>> nodes;  // by ascending node

  [[nodiscard]] bool any() const noexcept { return all != 1 || !nodes.empty(); }
  // By node, as tick::SimulationOptions wants them; empty if no node is slowed. Throws Error (usage) if
  // a node is named that is none of them.
  [[nodiscard]] std::vector<double> of_nodes(std::uint32_t n_nodes) const;
  // What --slowdown would say of `nodes`: "4@0,3@7", or "".
  [[nodiscard]] std::string nodes_text() const;

  // What --slowdown says. Throws Error (usage).
  [[nodiscard]] static Slowdowns parse(const std::string& text);
};

inline constexpr const char* kSlowdownHelp =
    "How much slower virtual nodes compute: 2 all, 2@5 node 5 alone, 1.5,4@0,3@7 all but two";

}  // namespace rubato::tools

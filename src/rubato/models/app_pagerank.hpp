#pragma once
// pagerank as people meet it: its parameters, the Problem that they make (tick/app.hpp), and the
// ranking of what its nodes hold at the end.

#include <memory>

#include "rubato/models/pagerank.hpp"
#include "rubato/tick/app.hpp"
#include "rubato/tick/problem_of.hpp"

namespace rubato::models {

// What PageRankApp builds.
using PageRankProblem = tick::ProblemOf<PageRankModel, PageRankStore, tick::GraphStoreOptions>;

// A vertex shares out its rank evenly, or by the weights of its edges, which are 0 or more.
[[nodiscard]] std::unique_ptr<tick::App> make_pagerank_app();
// For who wants the graph that its parameters describe, with any weights.
[[nodiscard]] std::unique_ptr<tick::App> make_weighted_graph_app();

// Adds the own vertices of a node at the end of its run. False if it is no node of a
// PageRankProblem.
[[nodiscard]] bool add_to_ranking(tick::NodeRun& node, Ranking& ranking);

}  // namespace rubato::models

// Compiled once, in this library.
extern template class rubato::tick::ProblemOf<
    rubato::models::PageRankModel, rubato::models::PageRankStore, rubato::tick::GraphStoreOptions>;

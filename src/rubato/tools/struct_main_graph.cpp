#include "rubato/tools/struct_main_graph.hpp"

#include <algorithm>
#include <string_view>

#include "rubato/models/app_pagerank.hpp"

namespace rubato::tools {
namespace {

// Those of pagerank's parameters that say what the graph is; the others say what is done with it.
constexpr std::string_view kOfTheGraph[] = {
    "input", "labels",     "source-column", "target-column", "weight-column",
    "only",  "duplicates", "vertices",      "degree",        "seed"};

}  // namespace

GraphInput::GraphInput() : source_(models::make_weighted_graph_app()) {}
GraphInput::~GraphInput() = default;

void GraphInput::declare(tick::Parameters& parameters) {
  tick::Parameters all;
  source_->declare(all);
  for (const tick::Parameters::Parameter& each : all.list()) {
    if (std::ranges::count(kOfTheGraph, each.name) > 0 && !parameters.has(each.name)) {
      parameters.add(each);
    }
  }
}

InputGraph GraphInput::read() {
  const std::unique_ptr<tick::Problem> problem = source_->build();
  const auto* pagerank = dynamic_cast<const models::PageRankProblem*>(problem.get());
  RUBATO_REQUIRE(pagerank != nullptr);
  return pagerank->model().user().input();
}

}  // namespace rubato::tools

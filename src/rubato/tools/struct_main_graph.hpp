#pragma once
// The graph of a program whose model is a struct of the kind `graph`: an edge list that people
// name, or a trial graph. The options are those of `rubato run pagerank`, and so is what reads it;
// but weights may be negative: steps use them as they like (InEdges::weight).

#include <memory>

#include "rubato/models/pagerank.hpp"
#include "rubato/tick/app.hpp"

namespace rubato {

// What was read: the graph, shared, and the names of its vertices if the file has names.
using InputGraph = models::PageRankGraph;

namespace tools {

class GraphInput {
 public:
  GraphInput();
  GraphInput(const GraphInput&) = delete;
  GraphInput& operator=(const GraphInput&) = delete;
  ~GraphInput();

  // Adds --input and what says how to read it, but for names that are taken. `parameters` must not
  // be set after this has gone.
  void declare(tick::Parameters& parameters);
  // Weights of edges are those of a Matrix Market file or of --weight-column; lines with a third
  // number are refused without it. Throws Error: bad parameters, or a file that is no graph.
  [[nodiscard]] InputGraph read();

 private:
  std::unique_ptr<tick::App> source_;
};

}  // namespace tools
}  // namespace rubato

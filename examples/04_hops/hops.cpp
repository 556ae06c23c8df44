// A graph: over how many edges one vertex reaches each other one. The graph is an --input, as
// `rubato run pagerank` takes it, or a trial graph:
//   build/hops --input flights.txt --labels text --from Reykjavik --ticks 5 --output reached

#include "rubato/tools/struct_main.hpp"

struct Hops {
  using Value = std::uint32_t;
  static constexpr Value kFar = UINT32_MAX;
  std::string from;
  rubato::VertexId start = 0;
  rubato::InputGraph input;

  void declare(rubato::Parameters& p) {
    p.add("from", from, "vertex to start at; without it the last one");
  }
  void take_graph(const rubato::InputGraph& graph) {
    input = graph;
    start = from.empty() ? input.graph->n_vertices() - 1 : input.find(from);
  }

  Value init(rubato::VertexId v) const { return v == start ? 0 : kFar; }
  Value step(rubato::VertexId, Value own, const rubato::InEdges<Value>& in, rubato::Tick) const {
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in.value(i) != kFar) own = std::min(own, in.value(i) + 1);
    }
    return own;
  }

  std::vector<rubato::OutputColumn> output_columns() const {
    return {{"name", rubato::ColumnType::text}, {"hops", rubato::ColumnType::i64}};
  }
  void output_row(rubato::VertexId v, Value hops, rubato::OutputRows& rows) const {
    rows.add(input.name(v)).add(hops == kFar ? std::int64_t{-1} : std::int64_t{hops});
  }
};

int main(int argc, char** argv) {
  return rubato::struct_main<Hops>("hops", argc, argv);
}

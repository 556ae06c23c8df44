// A graph whose step is in parts: people listen to those whose opinion is not too far from their own, and
// move towards what these say. Who listens to whom is an --input, as `rubato run pagerank` takes it, or a
// trial graph:
//   build/opinions --ticks 60 --simulate 8 --profile ec2-large --policy asytick-plb --output camps

#include "rubato/tools/struct_main.hpp"

struct Opinions {
  using Value = double;  // from 0 to 1
  struct Sum {
    double own = 0;
    double pull = 0;
    double heard = 0;
  };
  double open = 0.2;
  std::uint64_t seed = 1;
  rubato::InputGraph input;

  void declare(rubato::Parameters& p) {
    p.add("open", open, "opinions further away than this are not heard");
    p.add("seed", seed, "of the first opinions");
  }
  void take_graph(const rubato::InputGraph& graph) { input = graph; }

  Value init(rubato::VertexId v) const { return rubato::RandomStream(seed, v).unit(); }

  Sum begin(rubato::VertexId, double own, rubato::Tick) const { return {own}; }
  void interact(Sum& sum, const rubato::InEdge<double>& in, rubato::Tick) const {
    const double away = in.value - sum.own;
    if (std::abs(away) > open) return;
    sum.pull += in.weight * away;
    sum.heard += in.weight;
  }
  Value finish(rubato::VertexId, double own, const Sum& sum, rubato::Tick) const {
    return sum.heard > 0 ? own + 0.5 * sum.pull / sum.heard : own;
  }

  std::vector<rubato::OutputColumn> output_columns() const {
    return {{"name", rubato::ColumnType::text}, {"opinion", rubato::ColumnType::f64}};
  }
  void output_row(rubato::VertexId v, double opinion, rubato::OutputRows& rows) const {
    rows.add(input.name(v)).add(opinion);
  }
};

int main(int argc, char** argv) {
  return rubato::struct_main<Opinions>("opinions", argc, argv);
}

// Graphs without an init, with a step that is not const, with a graph that cannot be used, and with
// values that have gaps.
// expect-error: a graph model needs: Value init(VertexId v) const
// expect-error: a graph model needs: Value step(VertexId v, Value own, const InEdges<Value>& in
// expect-error: a graph model with a Sum needs it plain, and: Sum begin(VertexId v, const
// expect-error: a graph model's graph is: std::shared_ptr<const Digraph> graph() const
// expect-error: a graph model's take_graph is: void take_graph(const InputGraph&)
// expect-error: a graph model needs: using Value = plain bytes without padding, of a vertex
// expect-error: a struct's declare is: void declare(Parameters&)
#include "rubato/tools/struct_main.hpp"

namespace {

struct Whole {
  using Value = std::uint32_t;
  Value init(rubato::VertexId v) const { return v; }
  Value step(rubato::VertexId, Value own, const rubato::InEdges<Value>&, rubato::Tick) const {
    return own;
  }
};

struct NoInit : Whole {
#ifndef RUBATO_RIGHT
  Value init() const {
    return 0;
  }
#endif
};

struct MutableStep : Whole {
#ifndef RUBATO_RIGHT
  Value step(rubato::VertexId, Value own, const rubato::InEdges<Value>&, rubato::Tick) {
    return own;
  }
#endif
};

struct OtherInteract {
  using Value = std::uint32_t;
  using Sum = std::uint64_t;
  Value init(rubato::VertexId v) const { return v; }
  Sum begin(rubato::VertexId, Value own, rubato::Tick) const { return own; }
#ifdef RUBATO_RIGHT
  void interact(Sum& sum, const rubato::InEdge<Value>& in, rubato::Tick) const {
    sum += in.value;
  }
#else
  void interact(Sum& sum, Value value) const {
    sum += value;
  }
#endif
  Value finish(rubato::VertexId, Value, Sum sum, rubato::Tick) const {
    return static_cast<Value>(sum);
  }
};

struct OtherGraph : Whole {
#ifndef RUBATO_RIGHT
  int graph() const {
    return 0;
  }
#endif
};

struct Padded {
  struct Value {
    std::uint64_t wide = 0;
    std::uint32_t narrow = 0;
#ifdef RUBATO_RIGHT
    std::uint32_t unused = 0;
#endif
  };
  Value init(rubato::VertexId v) const {
    return {.wide = v};
  }
  Value step(rubato::VertexId, Value own, const rubato::InEdges<Value>&, rubato::Tick) const {
    return own;
  }
};

struct OtherTake : Whole {
#ifndef RUBATO_RIGHT
  void take_graph(int) {}
  void declare() {}
#endif
};

}  // namespace

int main(int argc, char** argv) {
  return rubato::struct_main<NoInit>("a", argc, argv) +
         rubato::struct_main<MutableStep>("b", argc, argv) +
         rubato::struct_main<OtherInteract>("f", argc, argv) +
         rubato::struct_main<OtherGraph>("c", argc, argv) +
         rubato::struct_main<OtherTake>("d", argc, argv) +
         rubato::struct_main<Padded>("e", argc, argv);
}

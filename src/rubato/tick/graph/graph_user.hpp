#pragma once
// What a user of the kind `graph` writes: the value of a vertex and its step.
//
//   struct Shortest {                       // hops from vertex 0
//     using Value = std::uint32_t;
//     Value init(VertexId v) const { return v == 0 ? 0 : kFar; }
//     Value step(VertexId, Value own, const InEdges<Value>& in, Tick) const {
//       for (std::size_t i = 0; i < in.size(); ++i) own = std::min(own, in.value(i) + 1);
//       return own;
//     }
//   };
// A step sees its in-edges ascending by source, equal ones as they came: combine in that order and
// the bits are the same for every partition. Where edges are taken up one by one, as in most models,
// the step is better written in parts (GraphHasInteract below): a vertex then goes as far as its
// sources have come. GraphModel (graph_model.hpp) generates the eight
// functions of [Ticks Table 1], GraphStore (graph_store.hpp) runs them fast.

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/tick/graph/digraph.hpp"
#include "rubato/tick/output/schema.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick {

// Where values lie that are not in the array of all others: those of regions of slots.
template <class Value>
struct ValuesElsewhere {
  const std::uint32_t* region_of = nullptr;          // [slots]
  const std::size_t* begins = nullptr;               // [regions] the first slot of each
  const std::unique_ptr<Value[]>* places = nullptr;  // [regions]; null: in the array

  [[nodiscard]] const Value& at(const Value* array, std::size_t slot) const noexcept {
    const std::uint32_t region = region_of[slot];
    const Value* place = places[region].get();
    return place == nullptr ? array[slot] : place[slot - begins[region]];
  }
};

// One edge into a vertex. Valid during the call that it is given to.
template <class Value>
struct InEdge {
  VertexId source = 0;
  const Value& value;  // at the source
  double weight = 1;
};

// The edges into one vertex with the values at their sources. A view: valid during the step.
template <class Value>
class InEdges {
 public:
  // Source i is vertices[slots[i]] and has values[slots[i]], but for those that are `elsewhere`;
  // weights and elsewhere may be null.
  InEdges(std::span<const std::uint32_t> slots, const VertexId* vertices, const Value* values,
          const double* weights, const ValuesElsewhere<Value>* elsewhere = nullptr) noexcept
      : slots_(slots),
        vertices_(vertices),
        values_(values),
        weights_(weights),
        elsewhere_(elsewhere) {}

  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
  [[nodiscard]] const Value& value(std::size_t i) const noexcept {
    return elsewhere_ == nullptr ? values_[slots_[i]] : elsewhere_->at(values_, slots_[i]);
  }
  [[nodiscard]] VertexId source(std::size_t i) const noexcept { return vertices_[slots_[i]]; }
  [[nodiscard]] double weight(std::size_t i) const noexcept {
    return weights_ == nullptr ? 1.0 : weights_[i];
  }
  // Calls f(InEdge<Value>) for edges [first, last), with what is the same for all of them looked at once.
  template <class F>
  void for_each(std::size_t first, std::size_t last, F&& f) const {
    const auto visit = [&](auto&& value_of, auto&& weight_of) {
      for (std::size_t i = first; i < last; ++i)
        f(InEdge<Value>{source(i), value_of(slots_[i]), weight_of(i)});
    };
    const auto in_array = [values = values_](std::uint32_t slot) -> const Value& {
      return values[slot];
    };
    if (elsewhere_ != nullptr) {
      visit([this](std::uint32_t slot) -> const Value& { return elsewhere_->at(values_, slot); },
            [this](std::size_t i) { return weight(i); });
    } else if (weights_ != nullptr) {
      visit(in_array, [weights = weights_](std::size_t i) { return weights[i]; });
    } else {
      visit(in_array, [](std::size_t) { return 1.0; });
    }
  }

 private:
  std::span<const std::uint32_t> slots_;
  const VertexId* vertices_;
  const Value* values_;
  const double* weights_;
  const ValuesElsewhere<Value>* elsewhere_;
};

template <class U>
concept GraphHasStep = requires(const U& u, VertexId v, const typename U::Value& own,
                                const InEdges<typename U::Value>& in, Tick t) {
  { u.step(v, own, in, t) } -> std::convertible_to<typename U::Value>;
};
// In place of step(), the step of a vertex in parts [AsyTick 3.2, Table 1]:
//   using Sum = ..;                                        plain; what has been taken up
//   Sum begin(VertexId v, const Value& own, Tick t) const;
//   void interact(Sum& sum, const InEdge<Value>& in, Tick t) const;   once for each edge into v
//   Value finish(VertexId v, const Value& own, const Sum& sum, Tick t) const;
// Edges are taken up ascending by source, equal ones as they came, whenever their values come: those
// that come before their turn wait for it, and the bits are those of a step that has all of them. Where
// there is a step(), too, it is left aside.
template <class U>
concept GraphHasInteract = requires(const U& u, VertexId v, const typename U::Value& own,
                                    typename U::Sum& sum, const InEdge<typename U::Value>& in,
                                    Tick t) {
  requires Plain<typename U::Sum>;
  { u.begin(v, own, t) } -> std::convertible_to<typename U::Sum>;
  u.interact(sum, in, t);
  { u.finish(v, own, sum, t) } -> std::convertible_to<typename U::Value>;
};

// Value: plain bytes without padding (Unpadded). All functions are const and pure.
template <class U>
concept GraphUser = requires(const U& u, VertexId v) {
  requires Unpadded<typename U::Value>;
  { u.init(v) } -> std::convertible_to<typename U::Value>;
}
&&(GraphHasStep<U> || GraphHasInteract<U>);

// Optional: the stop condition of tick/model.hpp, measured vertex by vertex. Adding a vertex to a
// measure, too, must be exactly associative and commutative.
template <class U>
concept GraphHasStop = requires(const U& u, typename U::Measure& m, VertexId v,
                                const typename U::Value& value) {
  requires Plain<typename U::Measure>;
  u.measure(m, v, value, value);  // before and after the step
  u.combine(m, m);
  { u.stop(m, Tick{}) } -> std::convertible_to<bool>;
  { u.stop_interval() } -> std::convertible_to<Tick>;
  { u.stop_lag() } -> std::convertible_to<Tick>;
};

// Optional: what files show of a vertex; output_row adds one value a column.
template <class U>
concept GraphHasOutput = requires(const U& u, VertexId v, const typename U::Value& value,
                                  OutputRows& rows) {
  { u.output_columns() } -> std::convertible_to<std::vector<OutputColumn>>;
  u.output_row(v, value, rows);
};

namespace detail {
struct NoMeasure {};
template <class U>
struct GraphMeasure {
  using type = NoMeasure;
};
template <GraphHasStop U>
struct GraphMeasure<U> {
  using type = typename U::Measure;
};

struct NoSum {};
template <class U>
struct GraphSum {
  using type = NoSum;
};
template <GraphHasInteract U>
struct GraphSum<U> {
  using type = typename U::Sum;
};

// Takes up edges [first, last).
template <GraphHasInteract U>
void take_edges(const U& user, typename U::Sum& sum, const InEdges<typename U::Value>& in,
                std::size_t first, std::size_t last, Tick t) {
  in.for_each(first, last,
              [&](const InEdge<typename U::Value>& edge) { user.interact(sum, edge, t); });
}
}  // namespace detail

// The step of one vertex that has all of its edges.
template <GraphUser U>
[[nodiscard]] typename U::Value step_vertex(const U& user, VertexId v, const typename U::Value& own,
                                            const InEdges<typename U::Value>& in, Tick t) {
  if constexpr (GraphHasInteract<U>) {
    typename U::Sum sum = user.begin(v, own, t);
    detail::take_edges(user, sum, in, 0, in.size(), t);
    return user.finish(v, own, sum, t);
  } else {
    return user.step(v, own, in, t);
  }
}

}  // namespace rubato::tick

#pragma once
// Which kind of model a struct is, and what one lacks that is none yet: a line of the compiler for
// each missing member, with the kind that the struct seems to be of.

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/graph/graph_store.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tools/struct_main_graph.hpp"

namespace rubato::tools {

// A graph of its own, instead of an --input.
template <class U>
concept OwnsGraph = requires(const U& u) {
  { u.graph() } -> std::convertible_to<std::shared_ptr<const tick::Digraph>>;
};
template <class U>
inline constexpr bool kReadsGraph = tick::GraphUser<U> && !OwnsGraph<U>;

template <class U>
concept StructModel = std::copyable<U> && std::default_initializable<U> &&
    (tick::GridUser<U> || tick::points::PointsUser<U> || tick::GraphUser<U> || tick::Checkable<U>);

namespace detail {

// What a struct seems to be meant as: members that only one kind has.
template <class U>
concept LooksGeneral = requires {
  typename U::State;
}
|| requires {
  typename U::Query;
};
template <class U>
concept LooksPoints = requires {
  typename U::Tuple;
}
|| requires {
  U::kSeen;
}
|| requires(const U& u) {
  u.world();
};
template <class U>
concept LooksGrid = requires {
  U::kRadius;
}
|| requires {
  U::kFields;
}
|| requires(const U& u) {
  u.shape();
};
template <class U>
concept LooksGraph = requires {
  typename U::Value;
}
|| requires(const U& u) {
  u.graph();
};

template <class U>
concept GridNumbers = requires {
  requires std::is_arithmetic_v<typename U::Value> && Unpadded<typename U::Value>;
  requires U::kDimensions >= 1 && U::kDimensions <= 3;
  requires U::kRadius >= 1 && U::kFields >= 1 && U::kFixed >= 0;
};

// Of grids whose step is meant to be in parts.
template <class U>
consteval void explain_stencil() {
  if constexpr (requires { U::kStencil; }) {
    static_assert(
        tick::GridHasInteract<U>,
        "a grid model with a kStencil needs: static constexpr std::array<Index<kDimensions>, N> "
        "kStencil, a plain Sum, Sum begin(const GridCell<U>& own), void interact(Sum& sum, const "
        "GridCell<U>& own, std::size_t k, const GridCell<U>& other) and GridValues<U> finish(const "
        "GridCell<U>& own, const Sum& sum), const");
  }
}

template <class U>
consteval void explain_grid() {
  using tick::Index;
  static_assert(
      requires { requires std::is_arithmetic_v<typename U::Value> && Unpadded<typename U::Value>; },
      "a grid model needs: using Value = the type of a number, and not long double");
  static_assert(
      requires { requires U::kDimensions >= 1 && U::kDimensions <= 3; },
      "a grid model needs: static constexpr int kDimensions, 1 to 3");
  static_assert(
      requires { requires U::kRadius >= 1; },
      "a grid model needs: static constexpr int kRadius, how far a cell sees, 1 or more");
  static_assert(
      requires { requires U::kFields >= 1; },
      "a grid model needs: static constexpr int kFields, values of a cell, 1 or more");
  static_assert(
      requires { requires U::kFixed >= 0; },
      "a grid model needs: static constexpr int kFixed, values that never change, 0 or "
      "more");
  if constexpr (GridNumbers<U>) {
    static_assert(
        requires(const U& u) {
          { u.shape() } -> std::convertible_to<tick::GridShape<U::kDimensions>>;
        },
        "a grid model needs: GridShape<kDimensions> shape() const");
    static_assert(
        requires(const U& u, Index<U::kDimensions> at, std::int64_t n,
                 typename U::Value* const* out) { u.init(at, n, out, out); },
        "a grid model needs: void init(Index<kDimensions> at, std::int64_t n, Value* "
        "const* fields, Value* const* fixed) const");
    explain_stencil<U>();
    static_assert(
        tick::GridHasStep<U> || tick::GridHasInteract<U>,
        "a grid model needs: void step(const GridSpan<U>& in, Value* const* out, "
        "Index<kDimensions> at, std::int64_t n, Tick t) const; or kStencil, Sum, begin(), "
        "interact() and finish() as tick/grid/grid_user.hpp has them");
  }
}

template <class U>
consteval void explain_points() {
  using tick::points::HasInteract;
  using tick::points::HasTuple;
  using tick::points::HasTupleStep;
  using tick::points::Wanted;
  using tick::points::World;
  static_assert(HasTuple<U>,
                "a points model needs: Tuple with std::uint64_t id and std::array<Scalar, "
                "kDimensions> position, Scalar float or double, kDimensions 2 or 3, and kSeen");
  if constexpr (HasTuple<U>) {
    using Tuple = typename U::Tuple;
    using Scalar = typename U::Scalar;
    constexpr int kD = U::kDimensions;
    static_assert(Unpadded<Tuple>,
                  "a points model's Tuple must be plain data without padding bytes, "
                  "default-constructible at compile time: name what fills a gap, e.g. "
                  "std::uint32_t unused = 0");
    static_assert(
        requires(const U& u) {
          { u.world() } -> std::convertible_to<World<Scalar, kD>>;
        },
        "a points model needs: World<Scalar, kDimensions> world() const");
    static_assert(
        requires(const U& u, const Tuple& tuple) {
          { u.seen(tuple) } -> std::convertible_to<std::array<Scalar, U::kSeen>>;
        },
        "a points model needs: std::array<Scalar, kSeen> seen(const Tuple&) const");
    static_assert(
        requires(const U& u, const Wanted<Scalar, kD>& wanted, std::vector<Tuple>& out) {
          u.start(wanted, out);
        },
        "a points model needs: void start(const Wanted<Scalar, kDimensions>& wanted, "
        "std::vector<Tuple>& out) const");
    static_assert(HasTupleStep<U> || HasInteract<U>,
                  "a points model needs: void step(const Tuple&, const NeighboursOf<U>& near, "
                  "Tick t, Offspring<Tuple>& out) const, or interact and finish");
  }
}

template <class U>
consteval void explain_graph() {
  static_assert(
      requires { requires Unpadded<typename U::Value>; },
      "a graph model needs: using Value = plain bytes without padding, of a vertex");
  if constexpr (requires { requires Unpadded<typename U::Value>; }) {
    using Value = typename U::Value;
    static_assert(
        requires(const U& u, tick::VertexId v) {
          { u.init(v) } -> std::convertible_to<Value>;
        },
        "a graph model needs: Value init(VertexId v) const");
    if constexpr (!tick::GraphHasStep<U> && requires { typename U::Sum; }) {
      static_assert(
          tick::GraphHasInteract<U>,
          "a graph model with a Sum needs it plain, and: Sum begin(VertexId v, const "
          "Value& own, Tick t), void interact(Sum& sum, const InEdge<Value>& in, Tick t) "
          "and Value finish(VertexId v, const Value& own, const Sum& sum, Tick t), const");
    } else {
      static_assert(tick::GraphHasStep<U>,
                    "a graph model needs: Value step(VertexId v, Value own, const InEdges<Value>& "
                    "in, Tick t) const, or Sum, begin, interact and finish");
    }
  }
}

// Optional members that are there but cannot be called: they would be left aside without a word.
template <class U>
consteval void explain_optional() {
  if constexpr (requires { &U::declare; }) {
    static_assert(
        requires(U & u, tick::Parameters & p) { u.declare(p); },
        "a struct's declare is: void declare(Parameters&)");
  }
  if constexpr (tick::GridUser<U>) explain_stencil<U>();
  if constexpr (tick::GraphUser<U> && requires { &U::graph; }) {
    static_assert(OwnsGraph<U>,
                  "a graph model's graph is: std::shared_ptr<const Digraph> graph() const");
  }
  if constexpr (tick::GraphUser<U> && requires { &U::take_graph; }) {
    static_assert(
        requires(U & u, const InputGraph& input) { u.take_graph(input); },
        "a graph model's take_graph is: void take_graph(const InputGraph&)");
    static_assert(!OwnsGraph<U>, "a graph model has graph() or takes one, take_graph(), not both");
  }
}

template <class U>
consteval void explain_general() {
  tick::explain_model<U>();
  if constexpr (tick::Model<U>) {
    static_assert(tick::Checkable<U>,
                  "a general model needs, for checksums, a State that is a list of plain tuples "
                  "with an id, or: void for_each_tuple(const State&, f) const, which calls f(id, "
                  "bytes)");
  }
}

}  // namespace detail

// Refuses what is no StructModel, with the reason.
template <class U>
consteval void explain_struct() {
  detail::explain_optional<U>();
  if constexpr (!StructModel<U>) {
    static_assert(std::copyable<U> && std::default_initializable<U>,
                  "a struct of struct_main must be copyable and default-constructible: its members "
                  "are the parameters, its copy is the model");
    if constexpr (detail::LooksGeneral<U>) {
      detail::explain_general<U>();
    } else if constexpr (detail::LooksPoints<U>) {
      detail::explain_points<U>();
    } else if constexpr (detail::LooksGrid<U>) {
      detail::explain_grid<U>();
    } else if constexpr (detail::LooksGraph<U>) {
      detail::explain_graph<U>();
    } else {
      static_assert(detail::LooksGraph<U>,
                    "a struct of struct_main is a model of a grid (it has kRadius, shape()), of "
                    "points (Tuple, world()), of a graph (Value alone) or a general one (State, "
                    "Query): see tools/struct_main.hpp");
    }
  }
}

}  // namespace rubato::tools

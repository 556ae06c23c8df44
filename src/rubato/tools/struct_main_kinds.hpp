#pragma once
// Which structs are models.

#include <concepts>
#include <memory>

#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/graph/graph_store.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/problem.hpp"

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

}  // namespace rubato::tools

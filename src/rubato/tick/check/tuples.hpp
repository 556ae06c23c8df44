#pragma once
// Tuples of a state, one by one, whatever the state is: their ids and bits, subsets of them, and
// what differs between two states.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rubato/tick/check/report.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/store.hpp"

namespace rubato::tick {

// Optional for a model: calls f(id, bytes) for each tuple of a state, by ascending id. Checksums
// and `rubato check` need it.
template <class M>
concept HasTuples = requires(const M& m, const typename M::State& s,
                             const std::function<void(std::uint64_t, ByteView)>& f) {
  m.for_each_tuple(s, f);
};

// Optional: what people call the tuple of an id: "cell (3, 4)".
template <class M>
concept HasTupleNames = requires(const M& m) {
  { m.tuple_name(std::uint64_t{}) } -> std::convertible_to<std::string>;
};

namespace detail {

// A list of tuples with ids, or columns of values by id (grids, graphs): what a subset can be cut
// from tuple by tuple.
template <class S>
concept ListState = requires(S& state) {
  { state.begin()->id } -> std::convertible_to<std::uint64_t>;
  state.push_back(*state.begin());
};
template <class S>
concept ColumnState = requires(S& state) {
  { *state.ids.begin() } -> std::convertible_to<std::uint64_t>;
  state.values.insert(state.values.end(), state.values.begin(), state.values.end());
};

template <class M>
inline constexpr bool kFilters = ListState<typename M::State> || ColumnState<typename M::State> ||
                                 requires(const M& m, const typename M::State& s,
                                          const std::function<bool(std::uint64_t)>& keep) {
  { m.filter(s, keep) } -> std::convertible_to<typename M::State>;
};

// The tuples whose ids `keep` wants. REQUIRES: kFilters<M>.
template <Model M>
[[nodiscard]] typename M::State filter(const M& model, const typename M::State& state,
                                       const std::function<bool(std::uint64_t)>& keep) {
  using State = typename M::State;
  if constexpr (requires { model.filter(state, keep); }) {
    return model.filter(state, keep);
  } else if constexpr (ListState<State>) {
    State result;
    for (const auto& tuple : state) {
      if (keep(tuple.id)) result.push_back(tuple);
    }
    return result;
  } else {
    State result;
    const auto width = state.ids.empty()
                           ? std::ptrdiff_t{1}
                           : static_cast<std::ptrdiff_t>(state.values.size() / state.ids.size());
    for (std::size_t i = 0; i < state.ids.size(); ++i) {
      if (!keep(static_cast<std::uint64_t>(state.ids[i]))) continue;
      result.ids.push_back(state.ids[i]);
      const auto first = state.values.begin() + static_cast<std::ptrdiff_t>(i) * width;
      result.values.insert(result.values.end(), first, first + width);
    }
    return result;
  }
}

// Lists of plain tuples need no for_each_tuple: their bytes are their bits.
template <class M>
concept PlainTuples = ListState<typename M::State> &&
    Plain<std::remove_cvref_t<decltype(*std::declval<typename M::State&>().begin())>>;

template <Model M>
requires HasTuples<M> || PlainTuples<M>
[[nodiscard]] TupleList tuples_of(const M& model, const typename M::State& state) {
  TupleList list;
  const auto add = [&list](std::uint64_t id, ByteView bytes) {
    list.ids.push_back(id);
    list.hashes.push_back(tuple_hash(id, bytes));
  };
  if constexpr (HasTuples<M>) {
    model.for_each_tuple(state, add);
  } else {
    for (const auto& tuple : state)
      add(tuple.id, std::as_bytes(std::span(&tuple, 1)));
  }
  return list;
}

template <Model M>
[[nodiscard]] std::string tuple_name(const M& model, std::uint64_t id) {
  if constexpr (HasTupleNames<M>) return model.tuple_name(id);
  return "tuple " + std::to_string(id);
}

}  // namespace detail

// What check_model() can take apart.
template <class M>
concept Checkable = Model<M> &&(HasTuples<M> || detail::PlainTuples<M>);

}  // namespace rubato::tick

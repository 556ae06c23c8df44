#pragma once
// The queries that a check tests with: parts for several n, what the dependency functions derive
// from them, and random boxes where a model's queries are boxes.

#include <string>
#include <utility>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/tick/geometry/box.hpp"
#include "rubato/tick/model.hpp"

namespace rubato::tick {

// Optional: further queries for `rubato check`, any at all: the stranger the better.
template <class M>
concept HasSampleQueries = requires(const M& m, RandomStream& random) {
  { m.sample_query(random) } -> std::convertible_to<typename M::Query>;
};

namespace detail {

template <class Query>
struct NamedQuery {
  std::string name;
  Query query;
};

template <class T>
inline constexpr bool kIsBoxSet = false;
template <class T, int D>
inline constexpr bool kIsBoxSet<BoxSet<T, D>> = true;

template <class T, int D>
[[nodiscard]] BoxSet<T, D> random_boxes(const BoxSet<T, D>& everything, RandomStream& random) {
  BoxSet<T, D> set;
  const Box<T, D>& world = everything.boxes().front();
  for (std::int64_t n = random.between(1, 2); n > 0; --n) {
    Box<T, D> box;
    for (std::size_t d = 0; d < D; ++d) {
      const std::int64_t a = random.between(world.low[d], world.high[d]);
      const std::int64_t b = random.between(world.low[d], world.high[d]);
      box.low[d] = std::min(a, b);
      box.high[d] = std::max(a, b);
    }
    set.add(box);
  }
  return set;
}

// The parts for each n that the model can be cut into.
template <Model M>
[[nodiscard]] std::vector<std::vector<typename M::Query>> sample_parts(const M& model) {
  std::vector<std::vector<typename M::Query>> list;
  for (const std::uint32_t n : {1U, 2U, 3U, 7U, 16U}) {
    try {
      list.push_back(model.part(n));
    } catch (const Error&) {
      if (n == 1) throw;  // a model may be too small for many parts, but not for one
    }
  }
  return list;
}

template <Model M>
[[nodiscard]] std::vector<NamedQuery<typename M::Query>> sample_queries(
    const M& model, const std::vector<std::vector<typename M::Query>>& parts,
    RandomStream& random) {
  using Query = typename M::Query;
  std::vector<NamedQuery<Query>> list;
  for (const auto& cut : parts) {
    // Of many parts some, drawn evenly.
    for (std::size_t i = 0; i < cut.size(); ++i) {
      if (cut.size() > 3 && random.between(0, static_cast<std::int64_t>(cut.size()) - 1) > 2)
        continue;
      list.push_back(
          {"part(" + std::to_string(cut.size()) + ")[" + std::to_string(i) + "]", cut[i]});
    }
  }
  for (int i = 0; i < 6; ++i) {
    if constexpr (HasSampleQueries<M>) {
      list.push_back({"sample query " + std::to_string(i), model.sample_query(random)});
    } else if constexpr (kIsBoxSet<Query> && requires { model.everything().boxes().front(); }) {
      list.push_back(
          {"random boxes " + std::to_string(i), random_boxes(model.everything(), random)});
    }
  }
  const std::size_t n_base = list.size();
  for (std::size_t i = 0; i < n_base; ++i) {
    const NamedQuery<Query> base = list[i];
    switch (random.between(0, 4)) {
      case 0:
        list.push_back({"write_dependencies(read_dependencies(" + base.name + "))",
                        model.write_dependencies(model.read_dependencies(base.query))});
        break;
      case 1:
        list.push_back({"read_exclusive(write_exclusive(" + base.name + "))",
                        model.read_exclusive(model.write_exclusive(base.query))});
        break;
      case 2:
        list.push_back(
            {"write_dependencies(" + base.name + ")", model.write_dependencies(base.query)});
        break;
      case 3:
        list.push_back(
            {"read_dependencies(" + base.name + ")", model.read_dependencies(base.query)});
        break;
      default:
        break;
    }
  }
  return list;
}

}  // namespace detail
}  // namespace rubato::tick

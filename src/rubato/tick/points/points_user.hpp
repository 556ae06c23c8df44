#pragma once
// What a user writes to have points step: one struct, no geometry [Ticks 2, 4].
//
//   struct Bird { std::uint64_t id; std::array<float, 2> position; float vx, vy; };  // no padding
//   struct Flock {
//     using Tuple = Bird;
//     using Scalar = float;                        // of coordinates: float or double
//     static constexpr int kDimensions = 2;        // 2 or 3
//     static constexpr std::size_t kSeen = 2;      // numbers that neighbours see of a tuple
//     points::World<float, 2> world() const;
//     std::array<float, 2> seen(const Bird& b) const { return {b.vx, b.vy}; }
//     void start(const points::Wanted<float, 2>& wanted, std::vector<Bird>& out) const;
//     void step(const Bird& b, const points::NeighboursOf<Flock>& near, Tick t,
//               points::Offspring<Bird>& out) const;   // once for each bird and tick
//   };
//   PointsModel<Flock> model(flock);   // the eight functions of Table 1; points_model.hpp
//   PointsStore<Flock> store(model, plan);
//
// step() gives out.survive(bird) or not (it dies), and out.born(bird) for each of its young. All
// are pure and called on several cores at once; random numbers come from base/random.hpp by (seed,
// id, tick). A sum over neighbours runs over near in order, 16 lanes at a time (lanes.hpp).

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"
#include "rubato/tick/points/lattice.hpp"
#include "rubato/tick/points/neighbours.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick::points {

// Which start tuples are asked for: those that a query selects.
template <class T, int D>
class Wanted {
 public:
  // Both must outlive it.
  Wanted(const Lattice<T, D>& lattice, const UnitSet<D>& units)
      : lattice_(lattice), units_(units) {}

  // True as well for what is outside of the world, so that somebody reports it.
  [[nodiscard]] bool contains(const std::array<T, D>& position) const noexcept {
    return !lattice_.contains(position) || units_.contains(lattice_.unit(position));
  }
  // The same as boxes in coordinates, for readers of spatially sorted data.
  [[nodiscard]] std::vector<Box<T, D>> boxes() const {
    std::vector<Box<T, D>> list;
    for (const auto& box : units_.boxes())
      list.push_back(lattice_.real(box));
    return list;
  }

 private:
  const Lattice<T, D>& lattice_;
  const UnitSet<D>& units_;
};

// What one tuple becomes: itself one tick on or nothing, and its young.
template <class Tuple>
class Offspring {
 public:
  // The tuple one tick on. At most once, and with the same id.
  void survive(const Tuple& tuple) {
    RUBATO_DASSERT(tuple.id == parent_ && !survived_, tuple.id, parent_, survived_);
    survived_ = true;
    results_.push_back(tuple);
  }
  // A new tuple, within the reachability of its parent. Its id is made here, from (parent, tick,
  // ordinal), and returned.
  std::uint64_t born(Tuple tuple) {
    tuple.id = hash_words(parent_, static_cast<std::uint64_t>(tick_), ++n_born_);
    results_.push_back(tuple);
    return tuple.id;
  }

  // For those who call step().
  void begin(std::uint64_t parent, Tick t) noexcept {
    parent_ = parent;
    tick_ = t;
    n_born_ = 0;
    survived_ = false;
  }
  [[nodiscard]] std::vector<Tuple>& results() noexcept { return results_; }

 private:
  std::vector<Tuple> results_;
  std::uint64_t parent_ = 0;
  Tick tick_ = 0;
  std::uint64_t n_born_ = 0;
  bool survived_ = false;
};

// Tuples that have looked around, to be finished together: influences[i] is what tuples[i] saw.
// How many come together is not part of the result.
template <class Tuple, class Influence>
struct Batch {
  std::span<const Tuple* const> tuples;
  std::span<const Influence> influences;
};

template <class U>
using NeighboursOf = Neighbours<typename U::Scalar, U::kDimensions, U::kSeen, typename U::Tuple>;

template <class U>
concept HasTuple = requires(const typename U::Tuple& tuple) {
  requires std::same_as<typename U::Scalar, float> || std::same_as<typename U::Scalar, double>;
  requires U::kDimensions == 2 || U::kDimensions == 3;
  { U::kSeen } -> std::convertible_to<std::size_t>;
  { tuple.id } -> std::same_as<const std::uint64_t&>;
  { tuple.position } -> std::same_as<const std::array<typename U::Scalar, U::kDimensions>&>;
};
// Instead of step(), for speed: the part that looks and the part that acts [AsyTick Table 1]. The
// second one gets many tuples, so that it can be written in lanes. For each tuple it calls
// out.begin(tuple.id, t), then survive() and born() as step() does.
//   using Influence = ..;   plain, default-constructible
//   Influence interact(const Tuple&, const NeighboursOf<U>& near, Tick t) const;
//   void finish(const Batch<Tuple, Influence>& batch, Tick t, Offspring<Tuple>& out) const;
template <class U>
concept HasInteract = requires(const U& u, const typename U::Tuple& tuple,
                               const NeighboursOf<U>& near, Tick t,
                               const Batch<typename U::Tuple, typename U::Influence>& batch,
                               Offspring<typename U::Tuple>& out) {
  { u.interact(tuple, near, t) } -> std::convertible_to<typename U::Influence>;
  u.finish(batch, t, out);
};
template <class U>
concept HasTupleStep = requires(const U& u, const typename U::Tuple& tuple,
                                const NeighboursOf<U>& near, Tick t,
                                Offspring<typename U::Tuple>& out) {
  u.step(tuple, near, t, out);
};

template <class U>
concept PointsUser = HasTuple<U> && Unpadded<typename U::Tuple> &&
    requires(const U& u, const typename U::Tuple& tuple, std::vector<typename U::Tuple>& out,
             const Wanted<typename U::Scalar, U::kDimensions>& wanted) {
  { u.world() } -> std::convertible_to<World<typename U::Scalar, U::kDimensions>>;
  { u.seen(tuple) } -> std::convertible_to<std::array<typename U::Scalar, U::kSeen>>;
  u.start(wanted, out);
} &&(HasTupleStep<U> || HasInteract<U>);

// Optional: static constexpr bool kSeesTuples = true lets step() ask for near.tuple(j).
template <class U>
inline constexpr bool kSeesTuples = requires {
  requires U::kSeesTuples;
};

// Optional: calls add(position) for the start tuples or an even sample of them, from which the
// quadtree is cut; without it start() is called slab by slab.
template <class U>
concept HasSample = requires(const U& u) {
  u.sample([](const std::array<typename U::Scalar, U::kDimensions>&) {});
};

// Optional: about how many tuples there are, so that tiles can be sized for the cache.
template <class U>
concept HasExpectedTuples = requires(const U& u) {
  { u.expected_tuples() } -> std::convertible_to<std::uint64_t>;
};

// Optional: a stop condition as in tick/model.hpp, over the tuples of a step before and after it,
// in any order.
template <class U>
concept PointsHasStop = requires(const U& u, const std::vector<typename U::Tuple>& tuples,
                                 typename U::Measure& m, Tick t) {
  requires Plain<typename U::Measure>;
  { u.measure(tuples, tuples) } -> std::convertible_to<typename U::Measure>;
  u.combine(m, m);
  { u.stop(m, t) } -> std::convertible_to<bool>;
  { u.stop_interval() } -> std::convertible_to<Tick>;
  { u.stop_lag() } -> std::convertible_to<Tick>;
};

// One readable line for each thing that is missing.
template <class U>
consteval void explain_points_user() {
  static_assert(HasTuple<U>,
                "a points model needs: Tuple with std::uint64_t id and std::array<Scalar, "
                "kDimensions> position, Scalar float or double, kDimensions 2 or 3, and kSeen");
  if constexpr (HasTuple<U>) {
    static_assert(Unpadded<typename U::Tuple>,
                  "Tuple must be plain data without padding bytes, default-constructible at "
                  "compile time: name what fills a gap, e.g. std::uint32_t unused = 0");
    static_assert(PointsUser<U>,
                  "a points model needs world(), seen(tuple), start(wanted, out) and step(tuple, "
                  "neighbours, t, offspring), or interact and finish, all const: see "
                  "tick/points/points_user.hpp");
  }
}

}  // namespace rubato::tick::points

#pragma once
// Stepper: calls the user's step() tuple by tuple, or interact() tuple by tuple and finish() for
// many together.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rubato/tick/points/points_user.hpp"

namespace rubato::tick::points {

namespace detail {

struct NoInfluence {};
template <class U>
struct InfluenceOf {
  using Type = NoInfluence;
};
template <HasInteract U>
struct InfluenceOf<U> {
  using Type = typename U::Influence;
};

}  // namespace detail

template <PointsUser U>
class Stepper {
 public:
  using Tuple = typename U::Tuple;

  // Forgets all results.
  void begin(Tick t) {
    t_ = t;
    n_ = 0;
    offspring_.results().clear();
  }
  // Steps `tuple`, which stays where it is until flush().
  void step(const U& user, const Tuple& tuple, const NeighboursOf<U>& near) {
    if constexpr (HasInteract<U>) {
      tuples_[n_] = &tuple;
      influences_[n_] = user.interact(tuple, near, t_);
      if (++n_ == kMost) flush(user);
    } else {
      offspring_.begin(tuple.id, t_);
      user.step(tuple, near, t_, offspring_);
    }
  }
  // Finishes what is left.
  void flush(const U& user) {
    if constexpr (HasInteract<U>) {
      if (n_ != 0) {
        user.finish({std::span(tuples_.data(), n_), std::span(influences_.data(), n_)}, t_,
                    offspring_);
      }
      n_ = 0;
    }
  }
  // In the order of their parents.
  [[nodiscard]] std::vector<Tuple>& results() noexcept { return offspring_.results(); }

 private:
  static constexpr std::size_t kMost = 8 * kLanes;

  Tick t_ = 0;
  std::size_t n_ = 0;
  std::array<const Tuple*, kMost> tuples_{};
  std::array<typename detail::InfluenceOf<U>::Type, kMost> influences_{};
  Offspring<Tuple> offspring_;
};

}  // namespace rubato::tick::points

#pragma once
// nbody as people meet it: its parameters, and the Problem that they make (tick/app.hpp).

#include <functional>
#include <memory>

#include "rubato/models/nbody.hpp"
#include "rubato/models/nbody_drift.hpp"
#include "rubato/tick/app.hpp"
#include "rubato/tick/problem_of.hpp"

namespace rubato::models {

// What NBodyApp builds: one of four.
template <class T, int D>
using NBodyProblem = tick::ProblemOf<tick::PointsModel<NBody<T, D>>, tick::PointsStore<NBody<T, D>>,
                                     tick::PointsCosts>;

struct NBodyBuild {
  std::unique_ptr<tick::Problem> problem;
  // What a node of it has at the end of its run; it reads its part of the start again.
  std::function<NBodyDrift(tick::NodeRun&)> drift;
};

// Of T float or double, D 2 or 3. Throws Error as NBody does.
template <class T, int D>
[[nodiscard]] NBodyBuild build_nbody(const NBodyOptions& options, const tick::PointsOptions& points,
                                     const tick::PointsCosts& costs);

[[nodiscard]] std::unique_ptr<tick::App> make_nbody_app();

}  // namespace rubato::models

// Compiled once, in this library.
extern template class rubato::tick::ProblemOf<
    rubato::tick::PointsModel<rubato::models::NBody<float, 2>>,
    rubato::tick::PointsStore<rubato::models::NBody<float, 2>>, rubato::tick::PointsCosts>;
extern template class rubato::tick::ProblemOf<
    rubato::tick::PointsModel<rubato::models::NBody<double, 2>>,
    rubato::tick::PointsStore<rubato::models::NBody<double, 2>>, rubato::tick::PointsCosts>;
extern template class rubato::tick::ProblemOf<
    rubato::tick::PointsModel<rubato::models::NBody<float, 3>>,
    rubato::tick::PointsStore<rubato::models::NBody<float, 3>>, rubato::tick::PointsCosts>;
extern template class rubato::tick::ProblemOf<
    rubato::tick::PointsModel<rubato::models::NBody<double, 3>>,
    rubato::tick::PointsStore<rubato::models::NBody<double, 3>>, rubato::tick::PointsCosts>;

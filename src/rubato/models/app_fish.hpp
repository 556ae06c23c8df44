#pragma once
// fish as people meet it: its parameters, and the Problem that they make (tick/app.hpp).

#include <memory>

#include "rubato/models/fish.hpp"
#include "rubato/tick/app.hpp"
#include "rubato/tick/problem_of.hpp"

namespace rubato::models {

// What FishApp builds.
using FishProblem =
    tick::ProblemOf<tick::PointsModel<FishModel>, tick::PointsStore<FishModel>, tick::PointsCosts>;

[[nodiscard]] std::unique_ptr<tick::App> make_fish_app();

}  // namespace rubato::models

// Compiled once, in this library.
extern template class rubato::tick::ProblemOf<rubato::tick::PointsModel<rubato::models::FishModel>,
                                              rubato::tick::PointsStore<rubato::models::FishModel>,
                                              rubato::tick::PointsCosts>;

#pragma once
// heat as people meet it: its parameters, and the Problem that they make (tick/app.hpp).

#include <memory>

#include "rubato/models/heat.hpp"
#include "rubato/tick/app.hpp"
#include "rubato/tick/problem_of.hpp"

namespace rubato::models {

// What HeatApp builds; output that wants the cells of a node finds them by this type.
using HeatProblem = tick::ProblemOf<tick::GridModel<UniformHeat>, tick::GridStore<UniformHeat>,
                                    tick::GridStoreOptions>;

[[nodiscard]] std::unique_ptr<tick::App> make_heat_app();

}  // namespace rubato::models

// Compiled once, in this library.
extern template class rubato::tick::ProblemOf<rubato::tick::GridModel<rubato::models::UniformHeat>,
                                              rubato::tick::GridStore<rubato::models::UniformHeat>,
                                              rubato::tick::GridStoreOptions>;

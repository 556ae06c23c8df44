#pragma once
// traffic as people meet it: its parameters, and the Problem that they make (tick/app.hpp).

#include <memory>

#include "rubato/models/traffic.hpp"
#include "rubato/tick/app.hpp"
#include "rubato/tick/problem_of.hpp"

namespace rubato::models {

// What TrafficApp builds: a general model needs no store of its own.
using TrafficProblem = tick::ProblemOf<TrafficModel, tick::FragmentStore<TrafficModel>>;

[[nodiscard]] std::unique_ptr<tick::App> make_traffic_app();

}  // namespace rubato::models

// Compiled once, in this library.
extern template class rubato::tick::ProblemOf<
    rubato::models::TrafficModel, rubato::tick::FragmentStore<rubato::models::TrafficModel>>;

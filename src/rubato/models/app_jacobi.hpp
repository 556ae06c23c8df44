#pragma once
// jacobi as people meet it: its parameters, and the Problem that they make (tick/app.hpp).

#include <memory>

#include "rubato/models/jacobi.hpp"
#include "rubato/tick/app.hpp"
#include "rubato/tick/problem_of.hpp"

namespace rubato::models {

// What JacobiApp builds.
using JacobiProblem = tick::ProblemOf<JacobiModel, JacobiStore, tick::GraphStoreOptions>;

[[nodiscard]] std::unique_ptr<tick::App> make_jacobi_app();

}  // namespace rubato::models

// Compiled once, in this library.
extern template class rubato::tick::ProblemOf<
    rubato::models::JacobiModel, rubato::models::JacobiStore, rubato::tick::GraphStoreOptions>;

#pragma once
// The models that come with Rubato, as the command line offers them.

#include <vector>

#include "rubato/tick/app.hpp"

namespace rubato::models {

// One maker for each model, in the order of the help; each call of a maker gives an App of its own.
[[nodiscard]] std::vector<tick::AppMaker> built_in_apps();

}  // namespace rubato::models

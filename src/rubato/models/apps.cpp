#include "rubato/models/apps.hpp"

#include "rubato/models/app_heat.hpp"

namespace rubato::models {

// A new model is one line here.
std::vector<tick::AppMaker> built_in_apps() {
  return {make_heat_app};
}

}  // namespace rubato::models

#include "rubato/models/apps.hpp"

#include "rubato/models/app_fish.hpp"
#include "rubato/models/app_heat.hpp"
#include "rubato/models/app_jacobi.hpp"
#include "rubato/models/app_nbody.hpp"
#include "rubato/models/app_pagerank.hpp"
#include "rubato/models/app_traffic.hpp"

namespace rubato::models {

// A new model is one line here.
std::vector<tick::AppMaker> built_in_apps() {
  return {make_fish_app,  make_heat_app,     make_jacobi_app,
          make_nbody_app, make_pagerank_app, make_traffic_app};
}

}  // namespace rubato::models

// Bodies in 3 dimensions.

#include "rubato/models/nbody_build.hpp"

namespace rubato::models {

template NBodyBuild build_nbody<float, 3>(const NBodyOptions&, const tick::PointsOptions&,
                                          const tick::PointsCosts&);
template NBodyBuild build_nbody<double, 3>(const NBodyOptions&, const tick::PointsOptions&,
                                           const tick::PointsCosts&);

}  // namespace rubato::models

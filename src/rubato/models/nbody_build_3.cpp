// Bodies in 3 dimensions.

#include "rubato/models/nbody_build.hpp"

namespace rubato::models {

template NBodyBuild build_nbody<float, 3>(const NBodyOptions&, const tick::PointsOptions&,
                                          const tick::PointsCosts&);
template NBodyBuild build_nbody<double, 3>(const NBodyOptions&, const tick::PointsOptions&,
                                           const tick::PointsCosts&);

}  // namespace rubato::models

template class rubato::tick::ProblemOf<rubato::tick::PointsModel<rubato::models::NBody<float, 3>>,
                                       rubato::tick::PointsStore<rubato::models::NBody<float, 3>>,
                                       rubato::tick::PointsCosts>;
template class rubato::tick::ProblemOf<rubato::tick::PointsModel<rubato::models::NBody<double, 3>>,
                                       rubato::tick::PointsStore<rubato::models::NBody<double, 3>>,
                                       rubato::tick::PointsCosts>;

#pragma once
// build_nbody() of app_nbody.hpp, for the files that instantiate it: engine and store of one kind
// of bodies take a while to compile.

#include "rubato/models/app_nbody.hpp"

namespace rubato::models {

template <class T, int D>
NBodyBuild build_nbody(const NBodyOptions& options, const tick::PointsOptions& points,
                       const tick::PointsCosts& costs) {
  const NBody<T, D> model(options);
  const auto drift = [model](tick::NodeRun& node) {
    const auto* store = dynamic_cast<const tick::PointsStore<NBody<T, D>>*>(&node.store());
    RUBATO_REQUIRE(store != nullptr);
    NBodyDrift sums(node.engine().end(), D, model.options().branch);
    model.for_each_start(node.plan().self, node.plan().n_nodes,
                         [&](const Body<T, D>& body) { sums.add_start(body); });
    store->for_each_own(node.engine().end(), [&](const Body<T, D>& body) { sums.add_end(body); });
    return sums;
  };
  return {
      std::make_unique<NBodyProblem<T, D>>(tick::PointsModel<NBody<T, D>>(model, points), costs),
      drift};
}

}  // namespace rubato::models

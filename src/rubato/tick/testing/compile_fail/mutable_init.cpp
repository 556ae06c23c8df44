// NEW that is not const.
// expect-error: a model needs: State init(const Query&) const
#include "rubato/tick/testing/compile_fail/minimal_model.hpp"

namespace rubato::tick {

struct Wrong : testing::MinimalModel {
#ifndef RUBATO_RIGHT
  State init(const Query&) {
    return {};
  }
#endif
};

#ifdef RUBATO_RIGHT
static_assert(Model<Wrong>);
#else
static_assert(!Model<Wrong>);
#endif
void check() {
  explain_model<Wrong>();
}

}  // namespace rubato::tick

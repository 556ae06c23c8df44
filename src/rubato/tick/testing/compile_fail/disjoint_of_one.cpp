// DISJOINT takes two queries.
// expect-error: a model needs: bool disjoint(const Query&, const Query&) const
#include "rubato/tick/testing/compile_fail/minimal_model.hpp"

namespace rubato::tick {

struct Wrong : testing::MinimalModel {
#ifndef RUBATO_RIGHT
  bool disjoint(const Query&) const {
    return true;
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

// A State that cannot be read back.
// expect-error: a model needs on its State: select(state, query), difference(a, b), merge(into,
// from), write(Writer&, state) and read(Reader&), all const
#include "rubato/tick/testing/compile_fail/minimal_model.hpp"

namespace rubato::tick {

struct Wrong : testing::MinimalModel {
#ifndef RUBATO_RIGHT
  State read(int) const {
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

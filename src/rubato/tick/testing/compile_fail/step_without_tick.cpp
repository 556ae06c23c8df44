// STEP as in the paper, without the tick.
// expect-error: a model needs: State step(const State& to_step, const State& context, Tick t) const
#include "rubato/tick/testing/compile_fail/minimal_model.hpp"

namespace rubato::tick {

struct Wrong : testing::MinimalModel {
#ifndef RUBATO_RIGHT
  State step(const State& to_step, const State&) const {
    return to_step;
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

// A State that cannot be copied.
// expect-error: a model needs copyable member types State and Query
#include "rubato/tick/testing/compile_fail/minimal_model.hpp"

namespace rubato::tick {

struct Wrong : testing::MinimalModel {
#ifndef RUBATO_RIGHT
  struct State {
    State() = default;
    State(const State&) = delete;
  };
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

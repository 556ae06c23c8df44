// No PART.
// expect-error: a model needs: std::vector<Query> part(std::uint32_t n) const
#include "rubato/tick/testing/compile_fail/minimal_model.hpp"

namespace rubato::tick {

struct Wrong : testing::MinimalModel {
#ifndef RUBATO_RIGHT
  void part(std::uint32_t) const = delete;
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

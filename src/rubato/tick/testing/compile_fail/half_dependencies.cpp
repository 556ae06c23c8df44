// W_X gives no query.
// expect-error: a model needs: Query read_dependencies(const Query&) const, and likewise
// read_exclusive, write_dependencies and write_exclusive [Ticks Table 1]
#include "rubato/tick/testing/compile_fail/minimal_model.hpp"

namespace rubato::tick {

struct Wrong : testing::MinimalModel {
#ifndef RUBATO_RIGHT
  void write_exclusive(const Query&) const {}
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

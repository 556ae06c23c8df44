// Grids without an init, and without a radius.
// expect-error: a grid model needs: void init(Index<kDimensions> at, std::int64_t n, Value* const*
// expect-error: a grid model needs: static constexpr int kRadius, how far a cell sees, 1 or more
#include "rubato/tools/struct_main.hpp"

namespace {

struct Whole {
  using Value = int;
  static constexpr int kDimensions = 1, kRadius = 1, kFields = 1, kFixed = 0;
  rubato::GridShape<1> shape() const { return {{9}, {true}}; }
  void init(auto, auto, auto, auto) const {}
  void step(const auto&, auto, auto, auto, auto) const {}
};

struct NoInit : Whole {
#ifndef RUBATO_RIGHT
  void init() const {}
#endif
};

struct NoRadius : Whole {
#ifndef RUBATO_RIGHT
  static constexpr int kRadius = 0;
#endif
};

}  // namespace

int main(int argc, char** argv) {
  return rubato::struct_main<NoInit>("a", argc, argv) +
         rubato::struct_main<NoRadius>("b", argc, argv);
}

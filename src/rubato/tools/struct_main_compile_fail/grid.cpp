// Grids without an init, without a radius, and with a step in parts that cannot be called.
// expect-error: a grid model needs: void init(Index<kDimensions> at, std::int64_t n, Value* const*
// expect-error: a grid model needs: static constexpr int kRadius, how far a cell sees, 1 or more
// expect-error: a grid model with a kStencil needs: static constexpr std::array<Index<kDimensions>
// expect-error: kStencil: a cell further away than kRadius, or the cell itself
#include <array>
#include <cstddef>

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

// Its whole step would be taken without a word.
struct InParts : Whole {
  using Cell = rubato::GridCell<InParts>;
  static constexpr std::array<rubato::Index<1>, 1> kStencil{{{-1}}};
  using Sum = int;
  int begin(const Cell&) const { return 0; }
#ifdef RUBATO_RIGHT
  void interact(int&, const Cell&, std::size_t, const Cell&) const {}
#else
  void interact(int&, const Cell&, std::size_t, const Cell&) {}
#endif
  int finish(const Cell&, int sum) const {
    return sum;
  }
};

struct TooFar : Whole {
  using Cell = rubato::GridCell<TooFar>;
#ifdef RUBATO_RIGHT
  static constexpr std::array<rubato::Index<1>, 1> kStencil{{ { -1 } }};
#else
  static constexpr std::array<rubato::Index<1>, 1> kStencil{{{-2}}};
#endif
  using Sum = int;
  int begin(const Cell&) const {
    return 0;
  }
  void interact(int&, const Cell&, std::size_t, const Cell&) const {}
  int finish(const Cell&, int sum) const {
    return sum;
  }
};

}  // namespace

int main(int argc, char** argv) {
  return rubato::struct_main<NoInit>("a", argc, argv) +
         rubato::struct_main<NoRadius>("b", argc, argv) +
         rubato::struct_main<InParts>("c", argc, argv) +
         rubato::struct_main<TooFar>("d", argc, argv);
}

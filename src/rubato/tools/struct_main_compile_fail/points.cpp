// Points that are born nowhere, and ones that say nothing of what is seen.
// expect-error: a points model needs: void start(const Wanted<Scalar, kDimensions>& wanted
// expect-error: a points model needs: std::array<Scalar, kSeen> seen(const Tuple&) const
#include "rubato/tools/struct_main.hpp"

namespace {

struct Dot {
  std::uint64_t id = 0;
  std::array<double, 2> position{};
};

struct Whole {
  using Tuple = Dot;
  using Scalar = double;
  static constexpr int kDimensions = 2;
  static constexpr std::size_t kSeen = 0;
  rubato::World<double, 2> world() const { return {}; }
  std::array<double, 0> seen(const Dot&) const { return {}; }
  void start(const auto&, std::vector<Dot>&) const {}
  void step(const Dot&, const auto&, rubato::Tick, rubato::Offspring<Dot>&) const {}
};

struct NoStart : Whole {
#ifndef RUBATO_RIGHT
  void start() const {}
#endif
};

struct NotSeen : Whole {
#ifndef RUBATO_RIGHT
  void seen(const Dot&) const {}
#endif
};

}  // namespace

int main(int argc, char** argv) {
  return rubato::struct_main<NoStart>("a", argc, argv) +
         rubato::struct_main<NotSeen>("b", argc, argv);
}

// A general model without PART, one whose tuples nobody can list, and a struct of no kind.
// expect-error: a model needs: std::vector<Query> part(std::uint32_t n) const
// expect-error: a general model needs, for checksums, a State that is a list of plain tuples
// expect-error: a struct of struct_main is a model of a grid (it has kRadius, shape()), of points
// expect-error: a struct of struct_main must be copyable and default-constructible
#include "rubato/tick/testing/compile_fail/minimal_model.hpp"
#include "rubato/tools/struct_main.hpp"

namespace {

struct Listed : rubato::tick::testing::MinimalModel {
  State filter(const State& state, const auto&) const { return state; }
  void for_each_tuple(const State&, const auto&) const {}
};

struct NoPart : Listed {
#ifndef RUBATO_RIGHT
  void part(std::uint32_t) const = delete;
#endif
};

struct Unlisted : Listed {
#ifndef RUBATO_RIGHT
  void for_each_tuple() const {}
#endif
};

#ifdef RUBATO_RIGHT
struct NoKind : Listed {};
#else
struct NoKind {};
#endif

struct NoDefault : Listed {
#ifndef RUBATO_RIGHT
  explicit NoDefault(int) {}
#endif
};

}  // namespace

int main(int argc, char** argv) {
  return rubato::struct_main<NoPart>("a", argc, argv) +
         rubato::struct_main<Unlisted>("b", argc, argv) +
         rubato::struct_main<NoKind>("c", argc, argv) +
         rubato::struct_main<NoDefault>("d", argc, argv);
}

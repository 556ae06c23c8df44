#include "rubato/tools/struct_main.hpp"

struct Waves {                 // an excitable medium: cells wake their neighbours
  using Value = std::uint8_t;  // 0 at rest, 1 excited, 2 tired
  static constexpr int kDimensions = 2, kRadius = 1, kFields = 1, kFixed = 0;
  rubato::GridShape<2> shape() const { return {{400, 400}, {true, true}}; }
  void init(rubato::Index<2> at, auto n, auto out, auto) const {
    for (int i = 0; i < n; ++i)
      out[0][i] = rubato::hash_words(at[0] + i, at[1]) % 3;
  }
  void step(const rubato::GridSpan<Waves>& in, auto out, auto, auto n, auto) const {
    for (int i = 0; i < n; ++i) {
      const Value* here = in.field[0] + i;
      const bool lit = here[-1] == 1 || here[1] == 1 || here[-in.row] == 1 || here[in.row] == 1;
      out[0][i] = *here == 0 ? lit : (*here + 1) % 3;
    }
  }
};

int main(int argc, char** argv) {
  return rubato::struct_main<Waves>("waves", argc, argv);
}

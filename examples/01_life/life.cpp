// A model of one's own in one file: Conway's game of life on a torus. The struct says what the
// cells are and how a row of them is stepped; the App names its parameters. Running it on cores, as
// a job, in the simulator, comparing policies and checking it come from Rubato.

#include <memory>

#include "rubato/base/random.hpp"
#include "rubato/tick/app.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tools/model_main.hpp"

using rubato::tick::GridModel;
using rubato::tick::GridShape;
using rubato::tick::GridSpan;
using rubato::tick::GridStore;
using rubato::tick::Index;
using rubato::tick::Tick;

struct Life {
  using Value = std::uint8_t;  // 1 is alive
  static constexpr int kDimensions = 2;
  static constexpr int kRadius = 1;
  static constexpr int kFields = 1;
  static constexpr int kFixed = 0;

  std::int64_t width = 256;
  std::int64_t height = 256;
  double density = 0.3;
  std::uint64_t seed = 1;

  GridShape<2> shape() const { return {{width, height}, {true, true}}; }

  // A cell's start is a function of seed and place, so any node can make any part of the world.
  void init(Index<2> at, std::int64_t n, Value* const* fields, Value* const* /*fixed*/) const {
    for (std::int64_t i = 0; i < n; ++i, ++at[0]) {
      const auto words = rubato::random_words(seed, std::uint64_t(at[1] * width + at[0]), 0);
      fields[0][i] = rubato::unit_double(words[0], words[1]) < density ? 1 : 0;
    }
  }

  void step(const GridSpan<Life>& in, Value* const* out, Index<2> /*at*/, std::int64_t n,
            Tick /*t*/) const {
    const Value* cell = in.field[0];
    const Value* above = cell - in.row;
    const Value* below = cell + in.row;
    for (std::int64_t i = 0; i < n; ++i) {
      const int neighbours = above[i - 1] + above[i] + above[i + 1] + cell[i - 1] + cell[i + 1] +
                             below[i - 1] + below[i] + below[i + 1];
      out[0][i] = neighbours == 3 || (neighbours == 2 && cell[i] == 1) ? 1 : 0;
    }
  }
};

class LifeApp final : public rubato::tick::App {
 public:
  std::string name() const override { return "life"; }
  std::string summary() const override { return "Conway's game of life on a torus"; }
  std::vector<std::string> examples() const override { return {"life --density 0.2 --ticks 500"}; }
  void declare(rubato::tick::Parameters& parameters) override {
    parameters.add("width", life_.width, "cells along x");
    parameters.add("height", life_.height, "cells along y");
    parameters.add("density", life_.density, "share of cells that are alive at tick 0");
    parameters.add("seed", life_.seed, "of the start");
  }
  std::unique_ptr<rubato::tick::Problem> build() override {
    return std::make_unique<rubato::tick::ProblemOf<GridModel<Life>, GridStore<Life>>>(
        GridModel(life_));
  }

 private:
  Life life_;
};

int main(int argc, char** argv) {
  return rubato::tools::model_main<LifeApp>(argc, argv);
}

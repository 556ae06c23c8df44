// Points: gnats that fly towards those around them. A gnat sees as far as the world's visibility
// and gets no further in a tick than its reachability; no list of neighbours is kept by hand.

#include "rubato/tools/struct_main.hpp"

struct Gnat {
  std::uint64_t id = 0;
  std::array<double, 2> position{};
  std::array<double, 2> velocity{};
};

struct Gnats {
  using Tuple = Gnat;
  using Scalar = double;
  static constexpr int kDimensions = 2;
  static constexpr std::size_t kSeen = 0;  // neighbours see nothing but where a gnat is
  std::uint64_t gnats = 3000;
  std::uint64_t seed = 1;

  void declare(rubato::Parameters& p) {
    p.add("gnats", gnats, "how many");
    p.add("seed", seed, "of places and moods");
  }
  rubato::World<double, 2> world() const {
    return {{{0, 0}, {100, 100}}, {true, true}, /*visibility=*/2, /*reachability=*/0.5};
  }
  std::array<double, 0> seen(const Gnat&) const { return {}; }

  void start(const auto& wanted, std::vector<Gnat>& out) const {
    for (std::uint64_t id = 0; id < gnats; ++id) {
      rubato::RandomStream random(seed, id);
      const double x = 100 * random.unit();
      const Gnat gnat{id, {x, 100 * random.unit()}, {}};
      if (wanted.contains(gnat.position)) out.push_back(gnat);
    }
  }

  void step(const Gnat& gnat, const rubato::NeighboursOf<Gnats>& near, rubato::Tick t,
            rubato::Offspring<Gnat>& out) const {
    rubato::RandomStream mood(rubato::hash_words(seed, t), gnat.id);
    Gnat next = gnat;
    for (std::size_t d = 0; d < 2; ++d) {
      double pull = 0;
      for (std::size_t j = 0; j < near.size(); ++j)
        pull += near.offset_at(d, j) / double(near.size());
      const double v = 0.9 * gnat.velocity[d] + 0.02 * pull + 0.05 * (mood.unit() - 0.5);
      next.velocity[d] = std::clamp(v, -0.5, 0.5);
      next.position[d] = world().wrapped(gnat.position[d] + next.velocity[d], d);
    }
    out.survive(next);
  }
};

int main(int argc, char** argv) {
  return rubato::struct_main<Gnats>("gnats", argc, argv);
}

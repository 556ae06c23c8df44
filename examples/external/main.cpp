// The smallest program outside of the project's own tree: random walkers whose steps are a function
// of (seed, walker, tick), so that they can be computed in any order, here forwards and backwards.

#include <cstdint>
#include <iostream>
#include <vector>

#include "rubato/base/random.hpp"

namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::uint64_t kTicks = 1000;

double walk(std::uint64_t walker) {
  double position = 0;
  for (std::uint64_t tick = 0; tick < kTicks; ++tick) {
    const auto words = rubato::random_words(kSeed, walker, tick);
    position += rubato::unit_double(words[0], words[1]) - 0.5;
  }
  return position;
}

}  // namespace

int main() {
  constexpr std::size_t kWalkers = 100;
  std::vector<double> forwards(kWalkers);
  std::vector<double> backwards(kWalkers);
  for (std::size_t i = 0; i < kWalkers; ++i)
    forwards[i] = walk(i);
  for (std::size_t i = kWalkers; i-- > 0;)
    backwards[i] = walk(i);
  std::cout << (forwards == backwards ? "the same bits\n" : "different bits\n");
  return forwards == backwards ? 0 : 1;
}

#include "rubato/tick/grid/partition.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "rubato/base/error.hpp"

namespace rubato::tick {
namespace {

struct Search {
  const std::vector<std::int64_t>& extent;
  const std::vector<std::int64_t>& wanted;
  std::vector<std::int64_t> now;
  std::vector<std::int64_t> best;
  double best_border = std::numeric_limits<double>::infinity();

  // Cells on the borders of a part that has the most neighbours, for parts of equal size.
  [[nodiscard]] double border() const {
    double volume = 1;
    for (std::size_t d = 0; d < extent.size(); ++d) {
      volume *= static_cast<double>(extent[d]) / static_cast<double>(now[d]);
    }
    double sum = 0;
    for (std::size_t d = 0; d < extent.size(); ++d) {
      const double faces = now[d] > 2 ? 2 : now[d] > 1 ? 1 : 0;
      sum += faces * volume * static_cast<double>(now[d]) / static_cast<double>(extent[d]);
    }
    return sum;
  }
  [[nodiscard]] bool may_be(std::size_t d) const { return wanted[d] == 0 || now[d] == wanted[d]; }
  void run(std::size_t d, std::int64_t left) {
    if (d + 1 == extent.size()) {
      now[d] = left;
      if (left <= extent[d] && may_be(d) && border() < best_border) {
        best_border = border();
        best = now;
      }
      return;
    }
    for (std::int64_t f = 1; f <= left && f <= extent[d]; ++f) {
      if (left % f != 0) continue;
      now[d] = f;
      if (may_be(d)) run(d + 1, left / f);
    }
  }
};

// The factors for n boxes; none if there are none.
std::vector<std::int64_t> find_factors(std::int64_t n, const std::vector<std::int64_t>& extent,
                                       const std::vector<std::int64_t>& wanted) {
  Search search{extent,
                wanted,
                std::vector<std::int64_t>(extent.size(), 1),
                {},
                std::numeric_limits<double>::infinity()};
  search.run(0, n);
  return search.best;
}

// The number next to n for which there are factors, the smaller one of two; or 0: where none is
// below twice n, the parts that are wanted are more than the cells.
std::int64_t nearest_number(std::int64_t n, const std::vector<std::int64_t>& extent,
                            const std::vector<std::int64_t>& wanted) {
  for (std::int64_t by = 1; by <= n; ++by) {
    if (n > by && !find_factors(n - by, extent, wanted).empty()) return n - by;
    if (!find_factors(n + by, extent, wanted).empty()) return n + by;
  }
  return 0;
}

std::string text_of(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers)
    text += (text.empty() ? "" : " x ") + std::to_string(number);
  return text;
}

}  // namespace

std::vector<std::int64_t> grid_factors(std::int64_t n, const std::vector<std::int64_t>& extent,
                                       const std::vector<std::int64_t>& wanted) {
  std::vector<std::int64_t> factors = find_factors(n, extent, wanted);
  if (!factors.empty()) return factors;
  std::string text = "a grid of " + text_of(extent) + " cells cannot be cut into " +
                     std::to_string(n) + " boxes of whole cells";
  if (std::ranges::any_of(wanted, [](std::int64_t w) { return w != 0; })) {
    text += ", " + text_of(wanted) + " of them (0: any number); the product has to be " +
            std::to_string(n) + ", the number of nodes";
  }
  const std::int64_t nearest = nearest_number(n, extent, wanted);
  if (nearest > 0) text += "; the nearest number that goes is " + std::to_string(nearest);
  throw Error(text, ExitCode::usage);
}

}  // namespace rubato::tick

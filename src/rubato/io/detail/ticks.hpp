#pragma once
// Axes: round numbers between two bounds, and their labels. Private to io.

#include <string>
#include <vector>

namespace rubato::io::detail {

// About `n_wanted` multiples of 1, 2 or 5 times a power of ten in [low, high], ascending; at least
// one value, and `low` alone if the bounds are equal or not finite. REQUIRES: n_wanted >= 1.
[[nodiscard]] std::vector<double> ticks(double low, double high, int n_wanted);

// Powers of ten in [low, high]; ticks() if there are fewer than two. REQUIRES: 0 < low <= high.
[[nodiscard]] std::vector<double> log_ticks(double low, double high);

// Short labels that tell the values apart: "0.25", "1500", "2e+06".
[[nodiscard]] std::string tick_label(double value);

}  // namespace rubato::io::detail

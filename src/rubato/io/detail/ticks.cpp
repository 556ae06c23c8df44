#include "rubato/io/detail/ticks.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace rubato::io::detail {

std::vector<double> ticks(double low, double high, int n_wanted) {
  const double span = high - low;
  if (!std::isfinite(span) || span <= 0) return {low};
  const double rough = span / n_wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double mantissa = rough / power;
  const double step = (mantissa <= 1 ? 1 : mantissa <= 2 ? 2 : mantissa <= 5 ? 5 : 10) * power;
  // Bounds so close that the step vanishes against them have no ticks between them.
  if (!(step > 0) || low + step == low) return {low};
  std::vector<double> values;
  // A little slack, so that a bound which is a tick counts in spite of rounding.
  const double first = std::ceil(low / step - 1e-9);
  const double last = std::floor(high / step + 1e-9);
  for (int n = 0; first + n <= last && n < 1000; ++n) {
    const double i = first + n;
    values.push_back(i == 0 ? 0 : i * step);
  }
  if (values.empty()) values.push_back(low);
  return values;
}

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> values;
  const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  for (int e = static_cast<int>(std::ceil(std::log10(low) - 1e-9)); e <= last; ++e)
    values.push_back(std::pow(10.0, e));
  return values.size() < 2 ? ticks(low, high, 4) : values;
}

std::string tick_label(double value) {
  std::array<char, 64> buffer;
  // Ten digits hide that 3 * 0.1 is no 0.3, and are more than labels need.
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                         std::chars_format::general, 10);
  std::string general(buffer.data(), end);
  const double size = std::fabs(value);
  if (size < 1e6 || !std::isfinite(value)) return general;
  const auto [short_end, short_code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                                     value, std::chars_format::general, 4);
  return {buffer.data(), short_end};
}

}  // namespace rubato::io::detail

#include "rubato/models/heat.hpp"

#include <optional>

#include "rubato/base/random.hpp"
#include "rubato/models/heat_raster_file.hpp"

namespace rubato::models {
namespace {

constexpr double kWarm = 100;  // the disc, above its surroundings

}  // namespace

HeatRange made_up_range(const HeatOptions& options) {
  return {options.start, options.start + kWarm + 1};
}

tick::PictureStyle UniformHeat::picture_style() const {
  tick::PictureStyle style;
  if (o_.is_branch) return style;
  const std::optional<HeatRange> start = start_ ? start_->bounds() : made_up_range(o_);
  if (!start) return style;
  const HeatRange all = start->with(o_.edge);
  style.low = all.low;
  style.high = all.high;
  return style;
}

void UniformHeat::init(tick::Index<2> at, std::int64_t n, double* const* fields,
                       double* const* /*fixed*/) const {
  if (start_ != nullptr) {
    start_->read(at[0], at[1], n, fields[0]);
    return;
  }
  const double radius = static_cast<double>(std::min(o_.width, o_.height)) / 4;
  for (std::int64_t i = 0; i < n; ++i, ++at[0]) {
    const double x = static_cast<double>(at[0]) - static_cast<double>(o_.width) / 2;
    const double y = static_cast<double>(at[1]) - static_cast<double>(o_.height) / 2;
    const auto id = static_cast<std::uint64_t>(at[1] * o_.width + at[0]);
    const double rough = unit_double(static_cast<std::uint32_t>(id * 2654435761U), 0);
    fields[0][i] = o_.start + rough + (x * x + y * y < radius * radius ? kWarm : 0);
  }
}

}  // namespace rubato::models

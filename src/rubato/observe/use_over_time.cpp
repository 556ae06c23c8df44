#include "rubato/observe/use_over_time.hpp"

#include <algorithm>
#include <numeric>

namespace rubato::observe {

void UseOverTime::add(Nanos begin, Nanos end) noexcept {
  begin = std::max<Nanos>(begin, 0);
  if (end <= begin) return;
  while (end > width_ * static_cast<Nanos>(kBins))
    halve();
  while (begin < end) {
    const Nanos bin = begin / width_;
    const Nanos stop = std::min(end, (bin + 1) * width_);
    bins_[static_cast<std::size_t>(bin)] += stop - begin;
    begin = stop;
  }
}

void UseOverTime::add(const UseOverTime& other) noexcept {
  widen(other.width_);
  const Nanos n_in_one = width_ / other.width_;
  for (std::size_t i = 0; i < kBins; ++i)
    bins_[i / static_cast<std::size_t>(n_in_one)] += other.bins_[i];
}

Nanos UseOverTime::total() const noexcept {
  return std::accumulate(bins_.begin(), bins_.end(), Nanos{0});
}

void UseOverTime::halve() noexcept {
  for (std::size_t i = 0; i < kBins / 2; ++i)
    bins_[i] = bins_[2 * i] + bins_[2 * i + 1];
  std::fill(bins_.begin() + kBins / 2, bins_.end(), 0);
  width_ *= 2;
}

void UseOverTime::put(Writer& out) const {
  out.put(width_);
  for (const Nanos time : bins_)
    out.put(time);
}

UseOverTime UseOverTime::get(Reader& in) {
  UseOverTime use;
  const auto width = in.get<Nanos>();
  if (width < kNarrowest || width > (kNever >> 9)) throw Error("bins of no width");
  use.widen(width);
  for (Nanos& time : use.bins_)
    time = in.get<Nanos>();
  return use;
}

}  // namespace rubato::observe

#include "rubato/tick/tune/delays.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::tick {

namespace {

constexpr std::size_t kParts = 1000;  // all strata end at one of their ends

constexpr std::array<std::uint8_t, kParts> stratum_of_parts() {
  std::array<std::uint8_t, kParts> strata{};
  for (std::size_t part = 0; part < kParts; ++part) {
    std::uint8_t i = 0;
    while (Delays::kStrata[i] * kParts < static_cast<double>(part) + 0.5)
      ++i;
    strata[part] = i;
  }
  return strata;
}

constexpr std::array<std::uint8_t, kParts> kStratumOf = stratum_of_parts();

}  // namespace

double Delays::draw(double unit) const noexcept {
  return above[kStratumOf[static_cast<std::size_t>(unit * kParts)]];
}

void DelayLog::add(Nanos delay) {
  if (samples_.size() < kMost) {
    samples_.push_back(delay);
    return;
  }
  samples_[next_] = delay;
  next_ = (next_ + 1) % kMost;
}

Delays DelayLog::delays() const {
  Delays result;
  result.n = samples_.size();
  if (samples_.empty()) return result;
  std::vector<Nanos> sorted = samples_;
  std::ranges::sort(sorted);
  const Nanos least = sorted.front();
  result.least = static_cast<double>(least);
  // Each sample covers a stretch of [0, n); a stratum has parts of those at its ends.
  const auto n = static_cast<double>(sorted.size());
  double begin = 0;
  for (std::size_t i = 0; i < Delays::kStrata.size(); ++i) {
    const double end = Delays::kStrata[i] * n;
    double sum = 0;
    for (auto at = static_cast<std::size_t>(begin); at < sorted.size(); ++at) {
      const double from = std::max(begin, static_cast<double>(at));
      const double to = std::min(end, static_cast<double>(at + 1));
      if (to <= from) break;
      sum += (to - from) * static_cast<double>(sorted[at] - least);
    }
    result.above[i] = static_cast<float>(sum / (end - begin));
    begin = end;
  }
  return result;
}

}  // namespace rubato::tick

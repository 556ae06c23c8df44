#pragma once
// PersistentCost: what a piece may be expected to cost a tick, from what it has cost.
//
// A balancer by persistence takes what was for what will be. What came and went in a few ticks, a
// group that met there, or a core that was taken away, will not be there again, but elsewhere: it is
// told apart, so that it can be shared among all pieces. Taken for a piece's own it would drive
// others off a node that has no more to do than the rest; left out, nodes of much room and little
// work would get more than their part of it.
//
// What grows or shrinks steadily does not stay as it was, either: a dense place that drifts leaves the
// pieces behind it and enters those before it, and by the middle of the next epoch has gone on for
// longer than it was watched. So a piece whose cost was another in the later half of its ticks, by
// more than single ticks differ, is expected to go on like that.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace rubato::tick {

class PersistentCost {
 public:
  static constexpr std::size_t kMost = 64;        // samples that are kept
  static constexpr std::size_t kLeftOut = 8;      // one of so many
  static constexpr std::size_t kTrendLeast = 16;  // samples: of fewer no trend is told

  // Parts of a tick that were done before its step, ns.
  void add(double ns) { open_ += ns; }
  // The step of a tick, ns.
  void add_step(double ns) {
    sum_ += open_ + ns;
    open_ = 0;
    if (++n_summed_ < stride_) return;
    samples_.push_back(static_cast<float>(sum_ / static_cast<double>(stride_)));
    sum_ = 0;
    n_summed_ = 0;
    if (samples_.size() < kMost) return;
    // A long time is looked at in longer parts.
    for (std::size_t i = 0; i < kMost / 2; ++i)
      samples_[i] = (samples_[2 * i] + samples_[2 * i + 1]) / 2;
    samples_.resize(kMost / 2);
    stride_ *= 2;
  }

  // ns a tick. All are 0 if there was no tick.
  struct Mean {
    double stays = 0;   // of all ticks but the costliest eighth
    double passes = 0;  // of all, above that
    double late = 0;    // as `stays`, of the later half of the ticks
    double slope = 0;   // by how much that grows with each tick; 0 if it does not
    double since = 0;   // ticks from the middle of that half to the last of all

    // What stays, so many ticks after the last one; not below 0, and at most twice what was there.
    [[nodiscard]] double after(double n_ticks) const {
      if (slope == 0) return stays;
      return std::clamp(late + slope * (since + n_ticks), 0.0, 2 * std::max(late, stays));
    }
  };
  // Of the ticks since the last call.
  [[nodiscard]] Mean take() {
    if (samples_.empty() && n_summed_ > 0)
      samples_.push_back(static_cast<float>(sum_ / static_cast<double>(n_summed_)));
    Mean mean;
    const std::size_t n = samples_.size();
    if (n > 0) {
      find_trend(mean);
      const double all = std::accumulate(samples_.begin(), samples_.end(), 0.0);
      mean.stays = of_what_stays(0, n).mean;
      mean.passes = std::max(0.0, all / static_cast<double>(n) - mean.stays);
    }
    samples_.clear();
    sum_ = 0;
    n_summed_ = 0;
    stride_ = 1;
    return mean;
  }

 private:
  struct Part {
    double mean = 0;
    double variance = 0;  // of its mean, by how samples differ
  };
  // Of the samples from `first` to before `last`, but their costliest eighth, in any order.
  [[nodiscard]] Part of_what_stays(std::size_t first, std::size_t last) {
    const std::size_t n = last - first - (last - first) / kLeftOut;
    const auto begin = samples_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(n);
    std::nth_element(begin, end - 1, samples_.begin() + static_cast<std::ptrdiff_t>(last));
    Part part;
    const auto count = static_cast<double>(n);
    part.mean = std::accumulate(begin, end, 0.0) / count;
    for (auto at = begin; at != end; ++at)
      part.variance += (*at - part.mean) * (*at - part.mean) / (count * count);
    return part;
  }
  // Changes the order of samples within each half.
  void find_trend(Mean& mean) {
    constexpr double kErrors = 4;  // of chance, that a trend must exceed
    const std::size_t n = samples_.size();
    if (n < kTrendLeast) return;
    const Part early = of_what_stays(0, n / 2);
    const Part late = of_what_stays(n / 2, n);
    const double grown = late.mean - early.mean;
    if (std::abs(grown) <= kErrors * std::sqrt(early.variance + late.variance)) return;
    const auto half = static_cast<double>(n * stride_) / 2;
    mean.late = late.mean;
    mean.slope = grown / half;
    mean.since = half / 2;
  }

  std::vector<float> samples_;  // each of `stride_` ticks, ns a tick
  std::size_t stride_ = 1;
  double sum_ = 0;  // of the ticks since the last sample
  std::size_t n_summed_ = 0;
  double open_ = 0;
};

}  // namespace rubato::tick

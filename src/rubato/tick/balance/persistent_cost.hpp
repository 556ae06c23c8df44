#pragma once
// PersistentCost: what a piece may be expected to cost a tick, from what it has cost.
//
// A balancer by persistence takes what was for what will be. What came and went in a few ticks, a
// group that met there, or a core that was taken away, will not be there again, but elsewhere: it is
// told apart, so that it can be shared among all pieces. Taken for a piece's own it would drive
// others off a node that has no more to do than the rest; left out, nodes of much room and little
// work would get more than their part of it.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace rubato::tick {

class PersistentCost {
 public:
  static constexpr std::size_t kMost = 64;    // samples that are kept
  static constexpr std::size_t kLeftOut = 8;  // one of so many

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

  // ns a tick. Both are 0 if there was no tick.
  struct Mean {
    double stays = 0;   // of all ticks but the costliest eighth
    double passes = 0;  // of all, above that
  };
  // Of the ticks since the last call.
  [[nodiscard]] Mean take() {
    if (samples_.empty() && n_summed_ > 0)
      samples_.push_back(static_cast<float>(sum_ / static_cast<double>(n_summed_)));
    Mean mean;
    const std::size_t n = samples_.size();
    const std::size_t n_stay = n - n / kLeftOut;
    if (n > 0) {
      const auto end = samples_.begin() + static_cast<std::ptrdiff_t>(n_stay);
      std::ranges::nth_element(samples_, end - 1);
      const double stay = std::accumulate(samples_.begin(), end, 0.0);
      const double all = std::accumulate(end, samples_.end(), stay);
      mean.stays = stay / static_cast<double>(n_stay);
      mean.passes = std::max(0.0, all / static_cast<double>(n) - mean.stays);
    }
    samples_.clear();
    sum_ = 0;
    n_summed_ = 0;
    stride_ = 1;
    return mean;
  }

 private:
  std::vector<float> samples_;  // each of `stride_` ticks, ns a tick
  std::size_t stride_ = 1;
  double sum_ = 0;  // of the ticks since the last sample
  std::size_t n_summed_ = 0;
  double open_ = 0;
};

}  // namespace rubato::tick

#pragma once
// Delays: how late the messages of one link are, as they are measured in passing: every message of
// a run that is tuned says when it was sent, by its sender's clock.
//
// Clocks of nodes differ by an amount that nobody knows, so a single delay means nothing. What lies
// above the least delay of a link does, and so does the sum of the least delays of both ways: half
// of it is taken for the least of each.

#include <array>
#include <cstdint>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/base/time.hpp"

namespace rubato::tick {

// A distribution in few words: its sorted samples in strata, finer towards the late end, each told
// by its mean, so that the mean of all is kept and with it what rare spikes weigh.
struct Delays {
  // The upper ends of the strata, as shares of all samples.
  static constexpr std::array<double, 16> kStrata{0.15, 0.3,  0.45, 0.6,  0.75,  0.85,  0.9,   0.93,
                                                  0.95, 0.97, 0.98, 0.99, 0.994, 0.997, 0.999, 1};
  std::uint64_t n = 0;                        // of samples; none: nothing else is known
  double least = 0;                           // ns, by two clocks
  std::array<float, kStrata.size()> above{};  // mean of each stratum above the least, ns

  // Above the least, of a number that is uniform in [0, 1).
  [[nodiscard]] double draw(double unit) const noexcept;
};

// The latest samples of one link.
class DelayLog {
 public:
  static constexpr std::size_t kMost = 512;

  void add(Nanos delay);
  [[nodiscard]] Delays delays() const;

 private:
  std::vector<Nanos> samples_;  // a ring once there are kMost
  std::size_t next_ = 0;
};

}  // namespace rubato::tick

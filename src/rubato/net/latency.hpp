#pragma once
// What a profile means for one link: when does a message that was sent at t arrive?
//
// Rules that the simulator, the delaying wrapper and the lab share:
// - The n-th unit of a link always draws the same delay, whatever happens elsewhere: a draw is a
//   pure function of (seed, from, to, n), with a fixed number of random words. With unit=time, n
//   is the number of the span of time.
// - Nothing is lost, and nothing overtakes within a link.
// - Times are nanoseconds since the start of the run; stall clocks start there.
// A sampler is small (links are created when first used) and single-threaded.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/net/fabric.hpp"
#include "rubato/net/profile.hpp"

namespace rubato::net {

// While a message is on the sender's wire.
struct OnWire {
  Nanos begin = 0;
  Nanos end = 0;
};

// The wire out of a host: one message after the other, at a rate that all its links share.
class Egress {
 public:
  // `rate_mbit` in 10^6 bits a second; 0 is unlimited.
  explicit Egress(double rate_mbit = 0) noexcept : rate_mbit_(rate_mbit) {}

  // Puts a message on the wire as soon as it is free at or after `ready`.
  OnWire take(Nanos ready, std::size_t n_bytes) noexcept;

  // When the wire has sent all that it was given; 0 before the first message.
  [[nodiscard]] Nanos free_at() const noexcept { return free_at_; }

 private:
  double rate_mbit_;
  Nanos free_at_ = 0;
};

// On and off: off ("stalled") for a fixed time at exponentially distributed gaps.
class StallClock {
 public:
  StallClock(std::uint64_t seed, double every_ms, double for_ms) noexcept;

  // The earliest time >= `t` outside of the stalls. REQUIRES: `t` does not go back between calls.
  [[nodiscard]] Nanos push_out(Nanos t) noexcept;

 private:
  [[nodiscard]] Nanos next_gap() noexcept;

  std::uint64_t seed_;
  std::uint64_t n_gaps_ = 0;
  double every_ns_;
  Nanos for_;
  Nanos begin_;  // of the current or next stall
  Nanos end_;
};

// The delays of one link.
class LinkSampler {
 public:
  // Nodes count from 0; node i is host i + 1 of the profile's stalls. `profile` must outlive this.
  LinkSampler(const Profile& profile, std::uint64_t seed, NodeId from, NodeId to);

  // When the message that is now sent arrives; at or after all earlier ones. `has_payload` is false
  // for bare acknowledgements, which spikes miss unless the profile says ack-spikes.
  [[nodiscard]] Nanos arrival(OnWire wire, std::size_t n_bytes, bool has_payload = true) noexcept;
  [[nodiscard]] Nanos arrival(Nanos sent, std::size_t n_bytes, bool has_payload = true) noexcept {
    return arrival(OnWire{sent, sent}, n_bytes, has_payload);
  }

  // The delay of draw `n` of this link, without stalls, egress and order.
  [[nodiscard]] Nanos delay(std::uint64_t n, bool has_payload = true) const noexcept;

 private:
  [[nodiscard]] Nanos in_order(Nanos release) noexcept;

  const Profile* profile_;
  std::uint64_t seed_;
  std::uint64_t trace_offset_ = 0;
  std::uint64_t n_drawn_ = 0;
  Nanos last_ = 0;  // when the last message was released
  std::vector<StallClock> stalls_;
};

}  // namespace rubato::net

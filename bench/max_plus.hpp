#pragma once
// A max-plus model of a square grid of hosts under a latency profile: what a policy should gain, by
// arithmetic on arrival times alone, without an engine. The yardstick beside simulated runs.

#include <cstdint>

#include "rubato/net/profile.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::bench {

struct MaxPlusCase {
  int side = 4;         // hosts along each dimension
  double block = 1000;  // cells along a host's side
  double ns_per_cell = 1;
  double bytes_per_cell = 8;
  int ticks = 300;
};

// Ticks a second. A tick of a host starts when the round that its replicas no longer bridge is
// here; work that scheduling did ahead is taken off; each host sends to up to 8 others.
[[nodiscard]] double max_plus_ticks_per_second(const MaxPlusCase& c, const tick::Policy& policy,
                                               const net::Profile& profile, std::uint64_t seed);

}  // namespace rubato::bench

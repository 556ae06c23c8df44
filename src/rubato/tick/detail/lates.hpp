#pragma once
// Lates: how late the messages of other nodes are. In virtual time that is how long they were on their
// way. Clocks of real nodes differ by an amount that nobody knows, so that of that time only what lies above
// the least of its link means something.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "rubato/core/engine.hpp"

namespace rubato::tick::detail {

class Lates {
 public:
  // Clocks go apart, some microseconds a second: the least is that of this many messages, up to twice.
  static constexpr std::uint32_t kMessages = 256;

  // Of a message of node `from`, sent by its clock. Who knows exactly when it came has virtual time, and one clock
  // for all nodes. Others: how much longer it was on its way than the quickest of late, at least; a node whose
  // cores are busy finds a message late that was not.
  [[nodiscard]] Nanos late(core::NodeId from, Nanos sent, const core::Port::Came& came) {
    if (came.earliest == came.latest) return came.latest - sent;
    if (from >= links_.size()) links_.resize(std::size_t{from} + 1);
    Link& link = links_[from];
    if (link.n == kMessages) link = {link.least, kNone, 0};
    ++link.n;
    link.least = std::min(link.least, came.latest - sent);
    return std::max<Nanos>(came.earliest - sent - std::min(link.least, link.least_before), 0);
  }

 private:
  static constexpr Nanos kNone = std::numeric_limits<Nanos>::max();
  struct Link {
    Nanos least_before = kNone;  // of the kMessages before these
    Nanos least = kNone;
    std::uint32_t n = 0;
  };
  std::vector<Link> links_;  // [nodes]
};

}  // namespace rubato::tick::detail

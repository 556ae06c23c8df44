#pragma once
// MulticastRecord: how a record comes to many cores (CoreContext::multicast): down a tree, each core
// handing it on before it does anything else.

#include <algorithm>

#include "rubato/core/job_shape.hpp"
#include "rubato/core/message/record.hpp"

namespace rubato::core::detail {

inline constexpr CoreId kMulticastFanOut = 8;

// Cuts the cores [first, last) into parts, the first of which begins with `first` and is handed on
// by nobody: hand_on(begin, end) for the others, and so on with the first part. Few steps from core
// to core, since each of them is a turn of a core that may be busy.
template <class F>
void for_parts_of_cores(CoreId first, CoreId last, F&& hand_on) {
  while (last - first > 1) {
    const CoreId part = (last - first + kMulticastFanOut - 1) / kMulticastFanOut;
    for (CoreId at = first + part; at < last; at += part)
      hand_on(at, std::min(at + part, last));
    last = first + part;
  }
}

// A record for the cores [first, last), on the first of them, with its payload if it has one.
template <Record R>
struct MulticastRecord {
  CoreId first;
  CoreId last;
  R record;

  template <class Here, class... Payload>
  requires(sizeof...(Payload) == (HasPayload<R> ? 1 : 0)) void apply(Here& here,
                                                                     Payload... payload) const {
    for_parts_of_cores(first, last, [&](CoreId begin, CoreId end) {
      here.post(begin, MulticastRecord{begin, end, record}, payload...);
      here.hurry(begin);
    });
    record.apply(here, payload...);
  }
};

}  // namespace rubato::core::detail

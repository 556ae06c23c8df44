#pragma once
// Whether nodes of policy pieces let their neighbours run steps for them (dataflow_lending.cpp).

#include <optional>

#include "rubato/base/time.hpp"

namespace rubato::tick {

struct LendingOptions {
  bool on = false;
  // What lending takes besides the step itself: only longer steps are lent, by nodes that have several
  // times as much to do. None: as it is measured, beginning with kLendingTakes.
  std::optional<Nanos> takes{};
};

inline constexpr Nanos kLendingTakes = kMillisecond;

}  // namespace rubato::tick

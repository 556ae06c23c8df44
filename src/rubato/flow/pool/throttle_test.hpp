#pragma once
// For tests of throttling.

#include <algorithm>
#include <cstdint>

#include "rubato/core/message/core_context.hpp"

namespace rubato::flow {

// Tasks of a test that are made and have not begun; virtual nodes are one process and one thread.
struct Made {
  std::int64_t n_open = 0;
  std::int64_t n_most = 0;
  std::int64_t n_run = 0;

  void make() {
    n_most = std::max(n_most, ++n_open);
    core::CoreContext::here().charge(kMicrosecond);  // nothing is made in no time
  }
  void run() {
    --n_open;
    ++n_run;
  }
};
// Of the test that runs.
inline Made made;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace rubato::flow

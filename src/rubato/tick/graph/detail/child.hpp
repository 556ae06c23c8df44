#pragma once
// Computing in a child process, for libraries that print, take signals for themselves, cannot be
// told to stop, or take memory that would else be the node's for good.

#include <cstddef>
#include <functional>

#include "rubato/base/bytes.hpp"

namespace rubato::tick::detail {

// What `compute` returns, in a child of this process that has no output and whose memory goes with
// it. Blocks until then, or until a signal ends the run, which it throws (core/signals.hpp).
// `compute` sees this process as it is, and changes nothing in it; it starts no threads. Empty if
// the child died or `compute` threw. Throws Error if there can be no child.
[[nodiscard]] Bytes compute_in_child(const std::function<Bytes()>& compute);

}  // namespace rubato::tick::detail

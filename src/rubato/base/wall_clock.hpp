#pragma once
// The date: by which people find a run again. Nothing that a run computes may depend on it, so a gate
// refuses wall clocks everywhere but in this file.

#include <string>

namespace rubato {

// Now, in UTC, to the second: "2026-11-21T23:15:00Z".
[[nodiscard]] std::string utc_now();

}  // namespace rubato

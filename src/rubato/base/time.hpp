#pragma once
// Time is a plain count of nanoseconds, real or virtual. Only drivers read a clock; engines are
// told.

#include <cstdint>
#include <string>

namespace rubato {

using Nanos = std::int64_t;

inline constexpr Nanos kMicrosecond = 1'000;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;
inline constexpr Nanos kNever = INT64_MAX;

// The monotonic clock of this machine.
[[nodiscard]] Nanos steady_now() noexcept;

// Which start of which machine this is; "" if it does not say.
[[nodiscard]] std::string boot_id();
// The same of the clock: processes with one name, other than "", read the same clock.
[[nodiscard]] std::string clock_name();

// Sleeps for about `duration` (the kernel adds 50 us unless the timer slack was lowered).
void nap(Nanos duration) noexcept;

}  // namespace rubato

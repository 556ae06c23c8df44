#pragma once
// How long two cores take to see each other's writes. A virtual machine's host may move its
// processors apart (from one third-level cache to two: 105 and 500 ns on an AMD EPYC) and back
// within seconds, and what a runtime shares between cores costs that much more or less.

#include <cstdint>

namespace rubato::bench {

// The round trip of a value between two cores where a job of `n_cores` runs, in ns: one writes a
// line, the other answers on another one. Takes about 10 ms; 0 if there is one core.
[[nodiscard]] double core_to_core_ns(std::uint32_t n_cores);

}  // namespace rubato::bench

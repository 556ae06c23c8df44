#pragma once
// The n-body input of the skew benchmarks, frozen: bodies all over a torus, a dense cluster that
// drifts, and groups that fly together, one each tick, each at another place. The cluster is what a
// balancer can know from the ticks before; where the next group meets it cannot.

#include <vector>

#include "bench/harness.hpp"
#include "rubato/models/app_nbody.hpp"
#include "rubato/tick/sharing.hpp"

namespace rubato::bench {

using SkewProblem = models::NBodyProblem<float, 2>;

inline constexpr std::uint32_t kSkewNodes = 16;
inline constexpr std::uint32_t kSkewPieces = 64 * 64;
inline constexpr tick::Tick kSkewEpoch = 32;

[[nodiscard]] SkewProblem skew_nbody_problem(tick::Tick ticks, std::uint64_t seed);

// One of the systems of [AsyTick 5], or asytick-lend, on these pieces; or auto, as nobody has told it anything.
[[nodiscard]] tick::System skew_system(const char* name);

// lab-over-oritick, lab-over-comtick, lab-comtick-gain and lab-lend-over-plb: a smaller world on four
// lab hosts. Throws as in_lab().
[[nodiscard]] std::vector<Row> skew_lab_rows(const Options& options);

}  // namespace rubato::bench

#pragma once
// reduce_cores: what all cores say, combined in the order of the cores, for one task.

#include <type_traits>

#include "rubato/global/loop.hpp"
#include "rubato/global/team.hpp"

namespace rubato::global {

// op(f() of core 0, f() of core 1, ..), up a tree; op is associative. f may wait, and is called in
// a task of each core.
template <class F, class Op>
auto reduce_cores(const F& f, const Op& op, SourcePlace at = SourcePlace::here()) {
  using R = std::remove_cvref_t<std::invoke_result_t<const F&>>;
  static_assert(
      std::is_trivially_copyable_v<F> && std::is_trivially_copyable_v<Op>,
      "what runs on all cores is copied there by its bytes: it must capture plain values");
  static_assert(std::is_trivially_copyable_v<R> || Encoded<R>,
                "results travel as their bytes, or as those of their codec");
  const Team team = Team::private_job();
  R result{};
  on_all_cores(
      [f, op, team, to = make_global(result)] {
        const R all = team.reduce(f(), op, to.core());
        team.free();
        if (to.is_local()) to.local() = all;
      },
      at);
  return result;
}

}  // namespace rubato::global

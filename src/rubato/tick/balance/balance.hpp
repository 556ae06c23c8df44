#pragma once
// Balance: how the work of a run is shared anew at epochs (tick/epoch/).

#include <string_view>

#include "rubato/tick/balance/persistence.hpp"

namespace rubato::tick {

//   none          who owns what stays as it was cut at the start
//   persistence   pieces move to other nodes by what they have cost (persistence.hpp)
//   repartition   the model is cut again (HasRepartition in model.hpp): points by samples of their
//                 state, grids by what nodes have taken for their cells
enum class Balance { none, persistence, repartition };

// Throws Error (usage) with the nearest name if there is no such one.
[[nodiscard]] Balance parse_balance(std::string_view text);
[[nodiscard]] const char* name_of(Balance balance) noexcept;

}  // namespace rubato::tick

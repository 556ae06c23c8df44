#include "rubato/tick/balance/balance.hpp"

#include <string>
#include <vector>

#include "rubato/base/error.hpp"

namespace rubato::tick {
namespace {

const std::vector<std::string> kNames{"none", "persistence", "repartition"};

}  // namespace

Balance parse_balance(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Balance>(i);
  }
  const std::string near = nearest(text, kNames);
  throw Error("balance: expected none, persistence or repartition, found '" + std::string(text) +
                  "'" + (near.empty() ? "" : "; did you mean " + near + "?"),
              ExitCode::usage);
}

const char* name_of(Balance balance) noexcept {
  return kNames[static_cast<std::size_t>(balance)].c_str();
}

}  // namespace rubato::tick

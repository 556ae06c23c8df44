#include "rubato/tools/reproduce/statement.hpp"

#include <utility>

#include <fmt/format.h>

namespace rubato::tools {

std::string Range::text(const char* unit) const {
  if (high == std::numeric_limits<double>::infinity())
    return fmt::format("more than {:.4g}{}", low, unit);
  if (low == 0) return fmt::format("less than {:.4g}{}", high, unit);
  return fmt::format("between {:.4g}{} and {:.4g}{}", low, unit, high, unit);
}

Statement judged(std::string text, std::string here, std::string wanted, bool holds,
                 const char* why) {
  return {std::move(text), std::move(here), std::move(wanted), holds, holds ? "" : why};
}

Statement not_judged(std::string text, std::string wanted, const std::string& missing) {
  return {std::move(text), "not judged: " + missing, std::move(wanted), false, "", false};
}

}  // namespace rubato::tools

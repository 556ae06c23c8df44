#include "rubato/core/message/stackless.hpp"

namespace rubato::core::detail {

std::string StacklessTasks::text(CoreId core, std::size_t n_most) const {
  std::string text;
  std::uint64_t n_left = n_;
  for (const auto& [key, of_place] : places_) {
    if (of_place.n == 0) continue;
    if (n_most-- == 0) {
      return text + "; and " + std::to_string(n_left) + " more, started elsewhere";
    }
    n_left -= of_place.n;
    text += "; " + std::to_string(of_place.n) +
            (of_place.n == 1 ? " coroutine of core " : " coroutines of core ") +
            std::to_string(core) + ", started at " + of_place.at.text() + ", " +
            (of_place.n == 1 ? "waits" : "wait");
  }
  return text;
}

}  // namespace rubato::core::detail

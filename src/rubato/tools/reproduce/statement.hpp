#pragma once
// A statement of a paper, held against what was found here: by a Range, from which the verdict and
// its words both come.

#include <limits>
#include <string>

namespace rubato::tools {

struct Statement {
  std::string text;    // what the paper says
  std::string here;    // what was found
  std::string wanted;  // what makes it true: the rule that was applied, with its numbers
  bool holds = false;
  // If it does not hold: what was measured to be the reason, with the default settings.
  std::string why = "";
  bool is_judged = true;  // false: what it needs was not measured; `here` says what

  // "true", "false", or "-".
  [[nodiscard]] const char* verdict() const noexcept {
    return !is_judged ? "-" : holds ? "true" : "false";
  }
};

// Neither end belongs to it.
struct Range {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool has(double x) const { return x > low && x < high; }
  // "between 1.1x and 1.5x"
  [[nodiscard]] std::string text(const char* unit = "x") const;
};

// "About x": within 15 %.
[[nodiscard]] constexpr Range about(double x) {
  return {0.85 * x, 1.15 * x};
}

// `why` is kept only if it does not hold.
[[nodiscard]] Statement judged(std::string text, std::string here, std::string wanted, bool holds,
                               const char* why = "");

// Of what is missing: "bench yield has no row tasks-1k".
[[nodiscard]] Statement not_judged(std::string text, std::string wanted,
                                   const std::string& missing);

}  // namespace rubato::tools

#include "rubato/core/message/stackless.hpp"

#include <string_view>

namespace rubato::core::detail {
namespace {

std::string waits_for(const StacklessTasks::OfPlace& of_place) {
  std::string text;
  const auto add = [&text](std::uint64_t n, const char* what) {
    if (n > 0) text += (text.empty() ? "" : ", ") + std::to_string(n) + what;
  };
  std::uint64_t n_delegates = of_place.n_asking;
  std::map<std::string_view, std::uint64_t> answers;  // by what they say, and not by where it lies
  for (const auto& [what, n] : of_place.answers) {
    answers[what] += n;
    n_delegates -= n;
  }
  add(n_delegates, " for delegates");
  for (const auto& [what, n] : answers)
    add(n, (" for " + std::string(what)).c_str());
  add(of_place.n_nested, " for others that they have begun");
  add(of_place.n - of_place.n_asking - of_place.n_nested, " for events");
  return " (" + text + ")";
}

}  // namespace

StacklessTasks::OfPlace& StacklessTasks::of_place(SourcePlace at) {
  const auto [found, is_new] = places_.try_emplace({at.file, at.line}, OfPlace{.at = at});
  OfPlace& place = found->second;
  if (is_new) {
    place.text = "a coroutine that was started at " + at.text();
    place.handler.name = place.text;
  }
  return place;
}

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
            (of_place.n == 1 ? "waits" : "wait") + waits_for(of_place);
  }
  return text;
}

}  // namespace rubato::core::detail

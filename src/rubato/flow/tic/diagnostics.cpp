#include "rubato/flow/tic/diagnostics.hpp"

#include <algorithm>
#include <tuple>

#include "rubato/base/error.hpp"

namespace rubato::flow::tic {

void Diagnostics::add(Place place, std::string text) {
  if (full()) return;
  const bool again = std::any_of(list_.begin(), list_.end(), [&](const Diagnostic& d) {
    return d.place.line == place.line && d.place.column == place.column;
  });
  if (!again) list_.push_back({place, std::move(text)});
}

void Diagnostics::found(Place place, std::string_view found, std::string_view expected,
                        std::string_view hint) {
  std::string text("found ");
  text.append(found).append(", expected ").append(expected).append(hint);
  add(place, std::move(text));
}

std::string Diagnostics::where(Place place) const {
  return file_name_ + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string Diagnostics::text() const {
  auto sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
  });
  std::string text;
  for (const Diagnostic& d : sorted) {
    if (!text.empty()) text += '\n';
    text.append(where(d.place)).append(": ").append(d.text);
  }
  return text;
}

void Diagnostics::throw_if_any() const {
  if (!empty()) throw Error(text());
}

}  // namespace rubato::flow::tic

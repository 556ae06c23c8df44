#include "rubato/flow/store/held_places.hpp"

#include <algorithm>
#include <cstring>

namespace rubato::flow {
namespace {

std::string what_is(const Datum& held) {
  const std::string what = held.is_container ? "container" : "future";
  if (held.state != Datum::State::closed)
    return what + (held.is_container ? ", open" : ", not set");
  return held.value.is_failed() ? what + ", failed" : what;
}

// Scripts make data before it is known what they will be.
std::string kind_of(const Datum& held) {
  const bool is_by_value = held.kind == Kind::none && !held.is_container && !held.value.is_failed();
  const Kind kind = is_by_value ? held.value.kind() : held.kind;
  return kind == Kind::none ? "" : std::string(name_of(kind));
}

}  // namespace

std::string HeldPlace::text() const {
  const std::size_t comma = std::min(what.find(','), what.size());
  std::string all = std::to_string(n) + " " + what.substr(0, comma) + (n == 1 ? "" : "s");
  std::string details = kind + what.substr(comma);
  if (n_members > 0) {
    details += (details.empty() ? "" : ", ") + std::to_string(n_members) +
               (n_members == 1 ? " member" : " members");
  }
  if (details.starts_with(", ")) details.erase(0, 2);
  return all + (details.empty() ? "" : " (" + details + ")") + " of " + place;
}

void HeldPlaces::add(const Datum& held) {
  add({held.made_at.place().text(), what_is(held), kind_of(held)}, {1, held.n_members});
}

void HeldPlaces::add(const HeldPlaces& other) {
  for (const auto& [key, count] : other.places_)
    add(key, count);
}

void HeldPlaces::add(const Key& key, const Count& count) {
  Count& mine = places_[key];
  mine.n += count.n;
  mine.n_members += count.n_members;
  if (places_.size() > kCarried) places_.erase(std::prev(places_.end()));
}

std::vector<HeldPlace> HeldPlaces::most_first() const {
  std::vector<HeldPlace> all;
  for (const auto& [key, count] : places_)
    all.push_back({key.place, key.what, key.kind, count.n, count.n_members});
  // Line 9 of a file is before its line 10.
  std::ranges::stable_sort(all, [](const HeldPlace& a, const HeldPlace& b) {
    return a.n != b.n ? a.n > b.n : ::strverscmp(a.place.c_str(), b.place.c_str()) < 0;
  });
  if (all.size() > kListed) all.resize(kListed);
  return all;
}

void HeldPlaces::put(Writer& out) const {
  out.put(static_cast<std::uint64_t>(places_.size()));
  for (const auto& [key, count] : places_) {
    out.put_string(key.place);
    out.put_string(key.what);
    out.put_string(key.kind);
    out.put(count.n);
    out.put(count.n_members);
  }
}

HeldPlaces HeldPlaces::get(Reader& in) {
  HeldPlaces all;
  for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
    Key key;
    key.place = in.get_string();
    key.what = in.get_string();
    key.kind = in.get_string();
    Count count;
    count.n = in.get<std::uint64_t>();
    count.n_members = in.get<std::uint64_t>();
    all.add(key, count);
  }
  return all;
}

}  // namespace rubato::flow

#include "rubato/flow/store/container.hpp"

#include <algorithm>

namespace rubato::flow {
namespace {

std::size_t place_in_part(std::int64_t key) noexcept {
  return static_cast<std::size_t>(key & (kMembersAPart - 1));
}

}  // namespace

std::string key_text(const Value& key) {
  return key.kind() == Kind::integer ? std::to_string(key.as_integer())
                                     : std::string("\"").append(key.as_text()).append("\"");
}

bool comes_before(const Value& a, const Value& b) {
  const bool a_is_integer = a.kind() == Kind::integer;
  if (a_is_integer != (b.kind() == Kind::integer)) return a_is_integer;
  return a_is_integer ? a.as_integer() < b.as_integer() : a.as_text() < b.as_text();
}

// Inline, as all that a member of an array needs: else each call of the three costs 2 ns of 30.
[[gnu::always_inline]] inline void Part::set(std::size_t i, const Value& value, PortablePlace at) {
  if (many_ == nullptr || i >= many_->size()) make_room_for(i);
  if (Many* const many = many_.get(); many != nullptr) {
    many->set(i, value, at);
  } else {
    few_.emplace(static_cast<std::uint16_t>(i), One{value, at});
  }
}

// The other form, if there will be enough for the array, or not any more.
[[gnu::noinline]] void Part::make_room_for(std::size_t i) {
  const auto is_enough = [](std::size_t n, std::size_t n_places) { return n_places <= 16 * n; };
  if (many_ != nullptr) {
    Many& all = *many_;
    if (is_enough(all.n + 1, i + 1)) return;
    const std::unique_ptr<Many> old = std::move(many_);
    for (std::size_t at = 0; at < old->size(); ++at) {
      if (old->has[at])
        few_.emplace(static_cast<std::uint16_t>(at), One{old->at(at), old->place_of(at)});
    }
    return;
  }
  const std::size_t last = few_.empty() ? 0 : few_.rbegin()->first;
  if (!is_enough(few_.size() + 1, std::max(i, last) + 1)) return;
  many_ = std::make_unique<Many>();
  many_->words.reserve(std::max(i, last) + 1);
  for (const auto& [at, one] : few_)
    many_->set(at, one.value, one.at);
  few_.clear();
}

Value& Part::stored(std::size_t i) {
  return many_ != nullptr ? many_->values[i] : few_.at(static_cast<std::uint16_t>(i)).value;
}

[[gnu::always_inline]] inline void Part::Many::set(std::size_t i, const Value& value,
                                                   PortablePlace place) {
  if (n == 0 && value.is_word()) kind = value.kind();
  const bool as_word = values.empty() && value.is_word() && value.kind() == kind;
  // As large as what is there: a container of three members is no container of a thousand.
  if (as_word) {
    if (words.size() <= i) words.resize(i + 1);
    words[i] = value.bits();
  } else {
    const std::size_t n_places = std::max(i + 1, size());
    if (values.empty()) {
      values.reserve(n_places);
      for (const std::uint64_t bits : words)
        values.push_back(Value::word(kind, bits));
      words.clear();
      words.shrink_to_fit();
    }
    values.resize(n_places);
    values[i] = value;
  }
  has.set(i);
  ++n;
  note_place(i, place);
}

[[gnu::always_inline]] inline void Part::Many::note_place(std::size_t i, PortablePlace place) {
  if (place_numbers.empty() && !places.empty() && places.front() == place) return;
  const auto is_same = [&](const PortablePlace& other) { return other == place; };
  const auto found = std::ranges::find_if(places, is_same);
  const auto number = static_cast<std::uint16_t>(found - places.begin());
  if (found == places.end()) places.push_back(place);
  if (number == 0) return;
  if (place_numbers.size() <= i) place_numbers.resize(i + 1, 0);
  place_numbers[i] = number;
}

std::optional<Value> Shard::find(const Value& key) const {
  if (key.kind() != Kind::integer) {
    const auto found = named_.find(key.as_text());
    return found == named_.end() ? std::nullopt : std::optional(found->second.first);
  }
  const auto part = parts_.find(part_of(key.as_integer()));
  const std::size_t i = place_in_part(key.as_integer());
  if (part == parts_.end() || !part->second.has(i)) return std::nullopt;
  return part->second.at(i);
}

PortablePlace Shard::place_of(const Value& key) const {
  if (key.kind() != Kind::integer) return named_.at(key.as_text()).second;
  return parts_.at(part_of(key.as_integer())).place_of(place_in_part(key.as_integer()));
}

std::optional<std::pair<Value, PortablePlace>> Shard::set_elsewhere(PortablePlace at) const {
  std::optional<std::pair<Value, PortablePlace>> other;
  for_each([&](const Value& key, const Value& /*value*/) {
    if (const PortablePlace place = place_of(key); !(place == at)) other.emplace(key, place);
  });
  return other;
}

Value* Shard::stored(const Value& key) {
  if (key.kind() != Kind::integer) return &named_.at(key.as_text()).first;
  return &parts_.at(part_of(key.as_integer())).stored(place_in_part(key.as_integer()));
}

std::optional<PortablePlace> Shard::insert(const Value& key, const Value& value, PortablePlace at) {
  if (key.kind() != Kind::integer) {
    const auto [entry, is_new] = named_.try_emplace(key.as_text(), value, at);
    if (!is_new) return entry->second.second;
  } else {
    const std::int64_t number = part_of(key.as_integer());
    const std::size_t i = place_in_part(key.as_integer());
    if (last_.second == nullptr || last_.first != number) last_ = {number, &parts_[number]};
    if (last_.second->has(i)) return last_.second->place_of(i);
    last_.second->set(i, value, at);
  }
  ++n_members_;
  return std::nullopt;
}

void Shard::for_each(const std::function<void(const Value&, const Value&)>& visit) const {
  for (const auto& [number, part] : parts_) {
    const std::int64_t first = number * kMembersAPart;
    part.for_each([&](std::size_t i, const Value& value) {
      visit(Value::integer(first + static_cast<std::int64_t>(i)), value);
    });
  }
  for (const auto& [name, entry] : named_)
    visit(Value::text(Kind::string, name), entry.first);
}

RuleList& Shard::waiting_for(const Value& key) {
  return key.kind() == Kind::integer ? integers_awaited_[key.as_integer()]
                                     : strings_awaited_[key.as_text()];
}

RuleList Shard::take_waiting(const Value& key) {
  if (key.kind() == Kind::integer) {
    auto node = integers_awaited_.extract(key.as_integer());
    return node.empty() ? RuleList() : std::move(node.mapped());
  }
  auto node = strings_awaited_.extract(key.as_text());
  return node.empty() ? RuleList() : std::move(node.mapped());
}

void Shard::take_all_waiting(const std::function<void(const Value&, RuleList)>& visit) {
  for (auto& [key, rules] : std::exchange(integers_awaited_, {}))
    visit(Value::integer(key), std::move(rules));
  for (auto& [key, rules] : std::exchange(strings_awaited_, {}))
    visit(Value::text(Kind::string, key), std::move(rules));
}

void Shard::for_each_waiting(
    const std::function<void(const Value&, const RuleList&)>& visit) const {
  for (const auto& [key, rules] : integers_awaited_)
    visit(Value::integer(key), rules);
  for (const auto& [key, rules] : strings_awaited_)
    visit(Value::text(Kind::string, key), rules);
}

}  // namespace rubato::flow

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

void Part::set(std::size_t i, const Value& value, PortablePlace at) {
  if (has_.none() && value.is_word()) kind_ = value.kind();
  const bool as_word = values_.empty() && value.is_word() && value.kind() == kind_;
  // As large as what is there: a container of three members is no container of a thousand.
  const std::size_t n = std::max(i + 1, std::max(words_.size(), values_.size()));
  if (as_word) {
    words_.resize(n);
    words_[i] = value.bits();
  } else {
    if (values_.empty()) {
      values_.reserve(n);
      for (const std::uint64_t bits : words_)
        values_.push_back(Value::word(kind_, bits));
      words_.clear();
      words_.shrink_to_fit();
    }
    values_.resize(std::max(n, values_.size()));
    values_[i] = value;
  }
  has_.set(i);
  note_place(i, at);
}

void Part::note_place(std::size_t i, PortablePlace at) {
  const auto is_same = [&](const PortablePlace& place) { return place == at; };
  const auto found = std::ranges::find_if(places_, is_same);
  const auto number = static_cast<std::uint32_t>(found - places_.begin());
  if (found == places_.end()) places_.push_back(at);
  if (number == 0 && place_numbers_.empty()) return;
  place_numbers_.resize(kMembersAPart, 0);
  place_numbers_[i] = number;
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
    for (std::int64_t i = 0; i < kMembersAPart; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (part.has(at)) visit(Value::integer(number * kMembersAPart + i), part.at(at));
    }
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

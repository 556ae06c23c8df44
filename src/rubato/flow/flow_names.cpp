// What is set twice, and what never, by the names that people have for it.

#include "rubato/flow/flow.hpp"

namespace rubato::flow {
namespace {

// For people, where no name is known: 5, or [1]["a"], the outermost first.
std::string keys_text(std::span<const Value> keys) {
  if (keys.size() == 1) return key_text(keys.front());
  std::string text;
  for (auto key = keys.rbegin(); key != keys.rend(); ++key)
    text += "[" + key_text(*key) + "]";
  return text;
}

std::string member_text(std::span<const Value> keys) {
  return keys.empty() ? "a container" : "member " + keys_text(keys) + " of a container";
}

// Where it is set has another name for it: a parameter's.
std::string set_as(const std::string& name, const std::string& known_as) {
  return name.empty() || name == known_as ? "" : " as " + name;
}

}  // namespace

std::string Flow::name_at(PortablePlace at, const Keys& keys) const {
  return names_ == nullptr ? "" : names_->set_at(at, keys);
}

void Flow::note_set_twice(const Datum& mine, PortablePlace again) {
  const std::string made_at = mine.made_at.place().text();
  const std::string name = names_ == nullptr ? "" : names_->made_at(mine.made_at);
  const auto as = [&](PortablePlace at) {
    return name.empty() ? "" : set_as(name_at(at, {}), name);
  };
  const PortablePlace first = mine.set_at;
  note_failure((name.empty() ? "the datum of " + made_at : name + " of " + made_at) + " was set" +
               as(first) + " at " + first.place().text() + ", and is set again" +
               (first == again ? " there" : as(again) + " at " + again.place().text()) +
               ": a datum is set once");
}

void Flow::note_set_twice(const Keys& keys, PortablePlace first, PortablePlace again) {
  const std::string name = name_at(first, keys);
  note_failure((name.empty() ? member_text(keys) : name) + " was set at " + first.place().text() +
               ", and is set again" +
               (first == again
                    ? " there"
                    : set_as(name_at(again, keys), name) + " at " + again.place().text()) +
               (keys.empty() ? ": a container is set once" : ": a member is set once"));
}

void Flow::note_part_set(const Keys& keys, std::size_t n_inner, PortablePlace whole,
                         PortablePlace part) {
  const std::span<const Value> all(keys);
  const Keys of_whole(keys.begin() + static_cast<std::ptrdiff_t>(n_inner), keys.end());
  const std::string whole_name = name_at(whole, of_whole);
  const std::string part_name = name_at(part, keys);
  note_failure((whole_name.empty() ? member_text(of_whole) : whole_name) +
               " is set as a whole at " + whole.place().text() + ", and " +
               (part_name.empty() ? "member " + keys_text(all.first(n_inner)) + " of it"
                                  : "its member " + part_name) +
               " at " + part.place().text() + ": a container is set whole or member by member");
}

void Flow::note_unset(const Datum& freed) {
  ++counters_.n_unset;
  unset_.add_place(freed.made_at.place().text(),
                   names_ == nullptr ? "" : names_->made_at(freed.made_at));
}

void Flow::note_unset_field(PortablePlace at, const std::string& name) {
  ++counters_.n_unset;
  unset_.add_place(at.place().text(), "'" + name + "'");
}

// --- fields

bool Flow::lacks_field(DataId id, std::int64_t field) const {
  const auto found = shards_.find(id.word);
  if (found == shards_.end()) return true;
  const Shard& mine = *found->second;
  return !mine.find(Value::integer(field)) && !mine.may_be_needed(field);
}

// By who wrote a member of it; what was declared says by itself what it lacks.
bool Flow::is_made_inside(const Value& member) const {
  if (!member.is_reference()) return false;
  const DataId id = member.as_reference().id;
  return id.is_container() && is_here(id) && !data_.at(id.slot()).has_fields;
}

bool Flow::may_tell_unset(DataId id) const {
  return is_here(id) && !data_.at(id.slot()).value.is_failed();
}

DataId Flow::made_inside(DataId id, std::int64_t field) const {
  DataId made;
  const auto found = shards_.find(id.word);
  if (found == shards_.end()) return made;
  const std::optional<Value> value = found->second->find(Value::integer(field));
  if (value && is_made_inside(*value)) made = value->as_reference().id;
  return made;
}

void Flow::for_each_made_inside(DataId id, const std::function<void(DataId)>& visit) const {
  const auto found = shards_.find(id.word);
  if (found == shards_.end()) return;
  found->second->for_each([&](const Value& /*key*/, const Value& value) {
    if (is_made_inside(value)) visit(value.as_reference().id);
  });
}

}  // namespace rubato::flow

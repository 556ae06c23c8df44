#pragma once
// Shard: the members of a container that one core keeps [Turbine 6.3].
//
// Integer keys lie in parts of kMembersAPart contiguous ones: for numbers a word and a bit each.
// String keys lie in a map. A shard knows who waits for a member, and the loops that want each
// member as it comes.

#include <bitset>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rubato/flow/rule/rule.hpp"

namespace rubato::flow {

inline constexpr std::int64_t kMembersAPart = 1024;

// Which part an integer key is in.
[[nodiscard]] constexpr std::int64_t part_of(std::int64_t key) noexcept {
  return key >> 10;
}
static_assert(kMembersAPart == 1 << 10);

// Members of contiguous integer keys.
class Part {
 public:
  [[nodiscard]] bool has(std::size_t i) const { return has_[i]; }
  // REQUIRES: !has(i).
  void set(std::size_t i, const Value& value, PortablePlace at);
  // REQUIRES: has(i).
  [[nodiscard]] Value at(std::size_t i) const {
    return values_.empty() ? Value::word(kind_, words_[i]) : values_[i];
  }
  // REQUIRES: has(i), and it is no word.
  [[nodiscard]] Value& stored(std::size_t i) { return values_[i]; }
  // Where it was set. REQUIRES: has(i).
  [[nodiscard]] PortablePlace place_of(std::size_t i) const {
    return place_numbers_.empty() ? places_.front() : places_[place_numbers_[i]];
  }

 private:
  void note_place(std::size_t i, PortablePlace at);

  std::bitset<kMembersAPart> has_;
  Kind kind_ = Kind::none;
  std::vector<std::uint64_t> words_;  // of one kind; else values_
  std::vector<Value> values_;
  std::vector<PortablePlace> places_;         // different ones
  std::vector<std::uint32_t> place_numbers_;  // if there are several
};

// A loop over a container, on one core.
struct ShardLoop {
  std::unique_ptr<Rule> body;
  std::vector<std::pair<Value, Value>> pairs;  // that no task has yet
};

class Shard {
 public:
  explicit Shard(DataId id) noexcept : id_(id) {}

  [[nodiscard]] DataId id() const noexcept { return id_; }
  [[nodiscard]] std::uint64_t n_members() const noexcept { return n_members_; }
  // REQUIRES: the key is an integer or a string.
  [[nodiscard]] std::optional<Value> find(const Value& key) const;
  // A member that is no word, as it is stored. REQUIRES: it is there.
  [[nodiscard]] Value* stored(const Value& key);
  // Returns where the member was set before, if it was; it stays then.
  [[nodiscard]] std::optional<PortablePlace> insert(const Value& key, const Value& value,
                                                    PortablePlace at);
  // visit(key, value), in the order of the keys, integers first.
  void for_each(const std::function<void(const Value&, const Value&)>& visit) const;

  // Those that wait for members that are not there.
  [[nodiscard]] RuleList& waiting_for(const Value& key);
  [[nodiscard]] RuleList take_waiting(const Value& key);
  [[nodiscard]] bool anybody_waits() const noexcept {
    return !integers_awaited_.empty() || !strings_awaited_.empty();
  }
  // Each with its key, in no order.
  void take_all_waiting(const std::function<void(const Value&, RuleList)>& visit);
  void for_each_waiting(const std::function<void(const Value&, const RuleList&)>& visit) const;

  std::vector<ShardLoop> loops;
  std::map<std::uint64_t, Ref> inner_writers;  // of members that were made on the way to theirs
  Value failure;                               // if it was closed with one
  std::uint64_t returned = 0;                  // weight of writers that is to go home
  bool is_closed = false;
  bool is_held = false;  // has something to send

 private:
  DataId id_;
  std::uint64_t n_members_ = 0;
  std::map<std::int64_t, Part> parts_;
  std::pair<std::int64_t, Part*> last_{0, nullptr};
  std::map<std::string, std::pair<Value, PortablePlace>> named_;
  std::map<std::int64_t, RuleList> integers_awaited_;
  std::map<std::string, RuleList> strings_awaited_;
};

// The order of keys: integers, then strings.
[[nodiscard]] bool comes_before(const Value& a, const Value& b);
// For people: 7, or "name".
[[nodiscard]] std::string key_text(const Value& key);

}  // namespace rubato::flow

#pragma once
// Shard: the members of a container that one core keeps [Turbine 6.3].
//
// Integer keys lie in parts of kMembersAPart contiguous ones: for numbers a word and a bit each,
// where there are many.
// String keys lie in a map. A shard knows who waits for a member, and the loops that want each
// member as it comes.

#include <algorithm>
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

// Members of contiguous integer keys. An array, as far as the last of them, if it is 1/16 full at
// least; else each by itself: keys that are far apart are to cost no array each.
class Part {
 public:
  [[nodiscard]] bool has(std::size_t i) const {
    return many_ != nullptr ? many_->has[i] : few_.contains(static_cast<std::uint16_t>(i));
  }
  // REQUIRES: !has(i).
  void set(std::size_t i, const Value& value, PortablePlace at);
  // REQUIRES: has(i).
  [[nodiscard]] Value at(std::size_t i) const {
    return many_ != nullptr ? many_->at(i) : few(i).value;
  }
  // REQUIRES: has(i), and it is no word.
  [[nodiscard]] Value& stored(std::size_t i);
  // Where it was set. REQUIRES: has(i).
  [[nodiscard]] PortablePlace place_of(std::size_t i) const {
    return many_ != nullptr ? many_->place_of(i) : few(i).at;
  }
  // visit(i, value), in their order.
  template <class F>
  void for_each(const F& visit) const {
    for (const auto& [i, one] : few_)
      visit(std::size_t{i}, one.value);
    for (std::size_t i = 0; many_ != nullptr && i < many_->size(); ++i) {
      if (many_->has[i]) visit(i, many_->at(i));
    }
  }

 private:
  struct One {
    Value value;
    PortablePlace at;
  };
  struct Many {
    std::bitset<kMembersAPart> has;
    std::size_t n = 0;
    Kind kind = Kind::none;
    std::vector<std::uint64_t> words;  // of one kind; else values
    std::vector<Value> values;
    std::vector<PortablePlace> places;         // different ones
    std::vector<std::uint16_t> place_numbers;  // if there are several; the first's is 0

    [[nodiscard]] std::size_t size() const noexcept {
      return std::max(words.size(), values.size());
    }
    [[nodiscard]] Value at(std::size_t i) const {
      return values.empty() ? Value::word(kind, words[i]) : values[i];
    }
    [[nodiscard]] PortablePlace place_of(std::size_t i) const {
      return places[i < place_numbers.size() ? place_numbers[i] : 0];
    }
    void set(std::size_t i, const Value& value, PortablePlace place);
    void note_place(std::size_t i, PortablePlace place);
  };

  [[nodiscard]] const One& few(std::size_t i) const {
    return few_.at(static_cast<std::uint16_t>(i));
  }
  void make_room_for(std::size_t i);

  std::map<std::uint16_t, One> few_;  // unless many_
  std::unique_ptr<Many> many_;
};

// What is put at a member's keys.
enum class Insertion : std::uint8_t {
  member,
  inner,          // a container, if there is none yet
  whole,          // what follows is all of the container there
  failed_member,  // the reason why the member has none
  failed_inner,   // the reason why any member of the container there may be missing
};
[[nodiscard]] constexpr bool is_failure(Insertion what) noexcept {
  return what >= Insertion::failed_member;
}

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
  // Where it was set. REQUIRES: it is there.
  [[nodiscard]] PortablePlace place_of(const Value& key) const;
  // A member that is no word, as it is stored. REQUIRES: it is there.
  [[nodiscard]] Value* stored(const Value& key);
  // Returns where the member was set before, if it was; it stays then.
  [[nodiscard]] std::optional<PortablePlace> insert(const Value& key, const Value& value,
                                                    PortablePlace at);
  // visit(key, value), in the order of the keys, integers first.
  void for_each(const std::function<void(const Value&, const Value&)>& visit) const;

  // A member that was not set at `at`, and where it was, if there is one: the last of them.
  [[nodiscard]] std::optional<std::pair<Value, PortablePlace>> set_elsewhere(
      PortablePlace at) const;

  // Somebody waited for a member that nobody will set. Fields alone are remembered.
  void note_needed(const Value& key) {
    if (key.kind() == Kind::integer && static_cast<std::uint64_t>(key.as_integer()) < 64)
      fields_needed_ |= std::uint64_t{1} << key.as_integer();
  }
  // Of those beyond the first 64 nobody knows.
  [[nodiscard]] bool may_be_needed(std::int64_t field) const noexcept {
    return field >= 64 || ((fields_needed_ >> field) & 1) != 0;
  }

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
  std::optional<PortablePlace> whole_at;       // where it was set as a whole
  std::uint64_t returned = 0;                  // weight of writers that is to go home
  bool is_closed = false;
  bool is_held = false;  // has something to send

 private:
  DataId id_;
  std::uint64_t n_members_ = 0;
  std::uint64_t fields_needed_ = 0;  // bits, of members that are missing
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

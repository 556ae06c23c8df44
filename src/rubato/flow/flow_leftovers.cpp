// What is left on a core when nothing goes on any more: rules that wait, and data.

#include "rubato/flow/flow.hpp"

namespace rubato::flow {
namespace {

// What people call that which a rule waits for; "" if they have no name for it.
std::string operand_name(const Rule& rule) {
  const auto describe = action_at(rule.action).describe_input;
  return describe != nullptr ? describe(rule, rule.at_arg) : "";
}

}  // namespace

Leftovers Flow::leftovers(std::size_t n_most) const {
  Leftovers left;
  const auto add = [&](const RuleList& waiting, const auto& what) {
    if (waiting.empty()) return;
    ++left.n_data;
    for (const Rule* rule = waiting.first(); rule != nullptr; rule = rule->next) {
      ++left.n_rules;
      if (left.texts.size() >= n_most) continue;
      const std::string name = operand_name(*rule);
      const bool is_field = is_of_field(name);
      left.texts.push_back(rule->text() + " waits for " + (name.empty() ? "" : "'" + name + "', ") +
                           (is_field ? "which nobody has set" : what()));
    }
  };
  data_.for_each([&](std::size_t /*slot*/, const Datum& mine) {
    add(mine.waiting, [&] {
      const char* const state = mine.closing == Closing::counted
                                    ? " to be closed by all that write it"
                                    : ", which nobody has set";
      return (mine.is_container ? "the container of " : "the datum of ") +
             mine.made_at.place().text() + state;
    });
  });
  for (const auto& [word, mine] : shards_) {
    mine->for_each_waiting([&](const Value& key, const RuleList& waiting) {
      add(waiting,
          [&] { return "member " + key_text(key) + " of a container, which nobody has set"; });
    });
  }
  const std::size_t n_told = left.texts.size();
  typed_pool_.add_leftovers(left.texts);
  throttle_.add_leftovers(left.texts);
  left.n = left.n_rules + left.texts.size() - n_told;
  return left;
}

HeldPlaces Flow::held() const {
  HeldPlaces all;
  if (data_.n_held() == 0) return all;  // the table is as large as it ever was
  data_.for_each([&](std::size_t /*slot*/, const Datum& mine) { all.add(mine); });
  return all;
}

}  // namespace rubato::flow

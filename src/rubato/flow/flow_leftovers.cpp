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

std::vector<std::string> Flow::leftovers(std::size_t n_most, std::uint64_t* n_all) const {
  std::vector<std::string> all;
  std::uint64_t n_found = 0;
  const auto add = [&](const RuleList& waiting, const std::string& what) {
    if (waiting.empty()) return;
    ++n_found;
    if (all.size() >= n_most) return;
    std::size_t n = 0;
    for (const Rule* rule = waiting.first(); rule != nullptr; rule = rule->next)
      ++n;
    const std::string name = operand_name(*waiting.first());
    all.push_back(waiting.first()->text() +
                  (n > 1 ? " and " + std::to_string(n - 1) + " more wait" : " waits") + " for " +
                  (name.empty() ? "" : "'" + name + "', ") + what);
  };
  data_.for_each([&](std::size_t /*slot*/, const Datum& mine) {
    const char* const state = mine.closing == Closing::counted
                                  ? " to be closed by all that write it"
                                  : ", which nobody has set";
    add(mine.waiting, (mine.is_container ? "the container of " : "the datum of ") +
                          mine.made_at.place().text() + state);
  });
  for (const auto& [word, mine] : shards_) {
    mine->for_each_waiting([&](const Value& key, const RuleList& waiting) {
      add(waiting, "member " + key_text(key) + " of a container, which nobody has set");
    });
  }
  const std::size_t n_told = all.size();
  typed_pool_.add_leftovers(all);
  throttle_.add_leftovers(all);
  if (n_all != nullptr) *n_all = n_found + all.size() - n_told;
  return all;
}

HeldPlaces Flow::held() const {
  HeldPlaces all;
  if (data_.n_held() == 0) return all;  // the table is as large as it ever was
  data_.for_each([&](std::size_t /*slot*/, const Datum& mine) { all.add(mine); });
  return all;
}

}  // namespace rubato::flow

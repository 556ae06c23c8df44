// What is left on a core when nothing goes on any more: rules that wait, and data.

#include "rubato/flow/flow.hpp"

namespace rubato::flow {

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
    all.push_back(waiting.first()->text() +
                  (n > 1 ? " and " + std::to_string(n - 1) + " more wait" : " waits") + " for " +
                  what);
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

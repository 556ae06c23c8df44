#include "rubato/tick/check/report.hpp"

#include <algorithm>

namespace rubato::tick {

bool TupleList::contains(std::uint64_t id) const noexcept {
  return std::ranges::binary_search(ids, id);
}

std::uint64_t TupleList::checksum() const noexcept {
  std::uint64_t sum = 0;
  for (const std::uint64_t hash : hashes)
    sum += hash;
  return sum;
}

DifferentTuple compare(const TupleList& expected, const TupleList& found) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < expected.size() || j < found.size()) {
    if (j == found.size() || (i < expected.size() && expected.ids[i] < found.ids[j])) {
      return {Difference::missing, expected.ids[i]};
    }
    if (i == expected.size() || found.ids[j] < expected.ids[i]) {
      return {Difference::extra, found.ids[j]};
    }
    if (expected.hashes[i] != found.hashes[j]) return {Difference::bits, found.ids[j]};
    ++i;
    ++j;
  }
  return {};
}

std::string describe(Difference kind, const std::string& tuple_name) {
  switch (kind) {
    case Difference::missing:
      return tuple_name + " is missing";
    case Difference::extra:
      return tuple_name + " should not be there";
    case Difference::bits:
      return tuple_name + " has other bits";
    default:
      return "";
  }
}

bool CheckReport::ok() const noexcept {
  return first_failure() == nullptr;
}

const RuleResult* CheckReport::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(rules, name, &RuleResult::name);
  return found == rules.end() ? nullptr : &*found;
}

const RuleResult* CheckReport::first_failure() const noexcept {
  const auto found =
      std::ranges::find_if(rules, [](const auto& rule) { return rule.failure.has_value(); });
  return found == rules.end() ? nullptr : &*found;
}

std::string describe(const CheckReport& report) {
  std::size_t width = 0;
  std::size_t statement = 0;
  for (const RuleResult& rule : report.rules) {
    width = std::max(width, rule.name.size());
    statement = std::max(statement, rule.statement.size());
  }
  const auto padded = [](std::string text, std::size_t n) {
    text.resize(std::max(n, text.size()), ' ');
    return text;
  };
  std::string text;
  for (const RuleResult& rule : report.rules) {
    const std::string verdict = rule.failure ? "BROKEN" : rule.n_cases == 0 ? "-" : "ok";
    const std::string cases = std::to_string(rule.n_cases);
    text += padded(verdict, 8) + padded(rule.name, width + 2) +
            std::string(cases.size() < 6 ? 6 - cases.size() : 0, ' ') + cases + "  " +
            padded(rule.statement, statement + 2) + rule.source + "\n";
  }
  for (const RuleResult& rule : report.rules) {
    if (rule.failure)
      text += "broken: " + rule.name + " " + rule.source + ": " + *rule.failure + "\n";
  }
  for (const std::string& note : report.notes)
    text += "note: " + note + "\n";
  return text;
}

}  // namespace rubato::tick

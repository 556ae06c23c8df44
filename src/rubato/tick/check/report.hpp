#pragma once
// What a check of a model found: a line for each rule, and for a broken one the tuple, the query
// and the tick that break it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/tick/policy.hpp"

namespace rubato::tick {

struct CheckOptions {
  std::uint64_t seed = 1;    // of queries and subsets
  Tick ticks = 10;           // of the serial reference run; states of some of them are sampled
  std::size_t n_states = 4;  // sampled, tick 0 among them
  // More tuples than that are refused: the general functions of Table 1 are for small instances.
  std::size_t tuples_max = 300'000;
};

struct RuleResult {
  std::string name;       // one word or two with a dash
  std::string source;     // where the rule comes from: "[Ticks 4.1, Property 1]"
  std::string statement;  // one line
  std::size_t n_cases = 0;
  std::optional<std::string> failure = std::nullopt;  // the first
};

// A state as ids and hashes of its tuples, in the order in which the model gives them.
struct TupleList {
  std::vector<std::uint64_t> ids;
  std::vector<std::uint64_t> hashes;  // of id and bits

  bool operator==(const TupleList&) const = default;
  [[nodiscard]] std::size_t size() const noexcept { return ids.size(); }
  // REQUIRES: ids ascend.
  [[nodiscard]] bool contains(std::uint64_t id) const noexcept;
  // As of a run (tick/problem.hpp).
  [[nodiscard]] std::uint64_t checksum() const noexcept;
};

enum class Difference : std::uint8_t { none, missing, extra, bits };

struct DifferentTuple {
  Difference kind = Difference::none;
  std::uint64_t id = 0;
};

// The first tuple by id in which `found` differs from `expected`. REQUIRES: ids ascend in both.
[[nodiscard]] DifferentTuple compare(const TupleList& expected, const TupleList& found);
// "cell (3, 4) is missing", given what the tuple is called; "" for none.
[[nodiscard]] std::string describe(Difference kind, const std::string& tuple_name);

struct CheckReport {
  std::vector<RuleResult> rules;
  std::vector<std::string> notes;  // allowed, but worth knowing
  std::size_t n_tuples = 0;        // at tick 0
  std::size_t n_queries = 0;
  Tick ticks = 0;       // where the reference run ended
  TupleList reference;  // the reference state there, which every run must equal

  [[nodiscard]] bool ok() const noexcept;
  [[nodiscard]] const RuleResult* find(std::string_view name) const noexcept;
  // The first broken rule, or null.
  [[nodiscard]] const RuleResult* first_failure() const noexcept;
};

// A table of the rules for people, then failures and notes, each on a line.
[[nodiscard]] std::string describe(const CheckReport& report);

namespace detail {

// One rule under test. After its first failure it takes no more.
class Rule {
 public:
  explicit Rule(RuleResult& result) : result_(result) {}

  [[nodiscard]] bool broken() const noexcept { return result_.failure.has_value(); }
  // Counts a case, which holds if `failure` is empty.
  void expect(const std::string& failure) {
    if (broken()) return;
    ++result_.n_cases;
    if (!failure.empty()) result_.failure = failure;
  }
  void expect(bool holds, const std::function<std::string()>& failure) {
    expect(holds ? std::string() : failure());
  }

 private:
  RuleResult& result_;
};

}  // namespace detail
}  // namespace rubato::tick

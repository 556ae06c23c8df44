#pragma once
// For tests of random scripts: one in a folder of its own, and a run of it that is held against its
// direct evaluation.

#include <string>

#include "rubato/flow/interpret/random_scripts_test.hpp"
#include "rubato/flow/interpret/run_script_test.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow::random_scripts {

struct RandomScript {
  program_testing::TempFolder folder;
  Outcome expected;
  std::string text;

  explicit RandomScript(std::uint64_t seed, Kinds kinds = {}) {
    kinds.folder = folder.path();
    text = ScriptMaker(seed, std::move(kinds)).make(expected);
  }
  [[nodiscard]] std::string trace(std::uint64_t seed) const {
    return "seed " + std::to_string(seed) + "\n" + text;
  }
};

// Its lines, failures and files; and what leaves did, in this run or in several.
inline void expect_outcome(const Ran& ran, const std::string& calls, const Outcome& expected) {
  SCOPED_TRACE(ran.result.text());
  ASSERT_EQ(ran.out, sorted_lines(expected.lines));
  ASSERT_EQ(sorted_lines(calls), sorted_lines(expected.calls));
  ASSERT_EQ(ran.result.counters.n_failed, expected.n_failed);
  ASSERT_EQ(ran.result.counters.n_skipped, expected.n_skipped);
  ASSERT_EQ(ran.result.n_failures, expected.n_failed);
  for (const auto& [name, content] : expected.files)
    ASSERT_EQ(program_testing::content_of(name), content) << name;
  ASSERT_EQ(ran.result.n_data_held, 0U) << ran.result.leak_text();
  ASSERT_EQ(ran.result.n_waiting, 0U);
}

inline void run_as_expected(
    std::uint64_t seed, const RandomScript& script, const global::SimulateOptions& options,
    const std::function<void()>& prepare = [] {}) {
  SCOPED_TRACE(script.trace(seed));
  forget_calls();
  Ran ran;
  ASSERT_NO_THROW(ran = run_text(options, script.text, script.folder.path(), prepare));
  const std::string log = program_testing::content_of(log_of(script.folder.path()));
  ASSERT_NO_FATAL_FAILURE(expect_outcome(ran, calls().lines + log, script.expected));
}

}  // namespace rubato::flow::random_scripts

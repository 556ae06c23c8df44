#pragma once
// For tests of scripts: a script on virtual nodes in an order of its seed.

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/interpret/run_script.hpp"

namespace rubato::flow {

struct Ran {
  std::string out;  // its lines, sorted, since tasks print in any order
  FlowResult result;
};

inline std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line + "\n");
  std::ranges::sort(lines);
  std::string all;
  for (const std::string& line : lines)
    all += line;
  return all;
}

// Those that it reads. `folder`: of files without a name.
inline ScriptArguments arguments_of(const std::string& text, const std::string& folder) {
  ScriptArguments arguments{{{"n", "12"}, {"name", "wave"}}, folder};
  std::erase_if(arguments.named, [&](const auto& given) {
    return text.find("arg(\"" + given.first + "\"") == std::string::npos;
  });
  return arguments;
}

// `prepare`: called by main before the script.
inline Ran run_text(
    const global::SimulateOptions& options, const std::string& text,
    const std::string& folder = "/tmp", const std::function<void()>& prepare = [] {}) {
  Ran ran;
  testing::internal::CaptureStdout();
  const ScriptArguments arguments = arguments_of(text, folder);
  const auto main = [&] {
    prepare();
    ran.result = run_script(text, "test.tic", arguments);
  };
  try {
    global::simulate(main, options);
  } catch (...) {
    static_cast<void>(testing::internal::GetCapturedStdout());
    throw;
  }
  ran.out = sorted_lines(testing::internal::GetCapturedStdout());
  return ran;
}

inline global::SimulateOptions shape_of(std::uint64_t seed) {
  return global::options_of(static_cast<std::uint32_t>(1 + seed % 4),
                            static_cast<std::uint32_t>(1 + seed / 4 % 3), seed,
                            global::windows_of(seed));
}

inline Ran run_text(std::uint64_t seed, const std::string& text) {
  return run_text(shape_of(seed), text);
}

// The same lines in any order of the events, and everything freed.
inline void expect_lines(const std::string& text, const std::string& lines,
                         std::uint64_t usual = 25) {
  for (std::uint64_t seed = 0; seed < n_seeds(usual); ++seed) {
    const Ran ran = run_text(seed, text);
    ASSERT_EQ(ran.result.text(), "") << "seed " << seed;
    ASSERT_EQ(ran.out, sorted_lines(lines)) << "seed " << seed;
    ASSERT_EQ(ran.result.n_data_held, 0U) << "seed " << seed;
  }
}

}  // namespace rubato::flow

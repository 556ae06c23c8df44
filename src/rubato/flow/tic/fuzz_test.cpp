// Mutated scripts: nothing may crash or hang, and what is accepted reads back as it was printed.

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/flow/tic/check.hpp"
#include "rubato/flow/tic/lexer.hpp"
#include "rubato/flow/tic/parse.hpp"
#include "rubato/flow/tic/print.hpp"
#include "rubato/flow/tic/scripts_test.hpp"

namespace rubato::flow::tic {
namespace {

std::size_t below(RandomStream& random, std::size_t n) {
  return static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(n) - 1));
}

// Some lines of a script, so that a mutation is not lost among many.
std::string excerpt(RandomStream& random, const std::string& text) {
  const std::size_t start = text.rfind('\n', below(random, text.size()));
  const std::size_t from = start == std::string::npos ? 0 : start + 1;
  return text.substr(from, 20 + below(random, 600));
}

void mutate(RandomStream& random, std::string& text) {
  static const std::vector<std::string> pieces{
      "{",     "}",  "(",      ")",      "[",      "]",    "\"",    "\\",  "#",
      ";",     "\n", "when ",  "-",      "**",     " to ", " 1e5 ", "++",  " not ",
      "0.5",   ",",  ":",      "=",      " else ", "\xff", "<",     ".",   "case",
      "next ", "x",  "print(", "close ", "loop ",  " on ", "\0",    "\\x", "file "};
  const std::size_t at = below(random, text.size() + 1);
  const std::size_t n = below(random, 12);
  switch (below(random, 5)) {
    case 0:
      text.insert(at, pieces[below(random, pieces.size())]);
      return;
    case 1:
      text.erase(at, n);
      return;
    case 2:
      text.insert(at, text.substr(below(random, text.size() + 1), n));
      return;
    case 3:
      if (at < text.size()) text[at] = static_cast<char>(random() & 255);
      return;
    default:
      text.replace(at, std::min(n, text.size() - at), pieces[below(random, pieces.size())]);
  }
}

// Returns whether the script was accepted.
bool run_one(const std::string& text) {
  Diagnostics errors("a.tic");
  Program p = parse_program(text, "a.tic", errors);
  if (!errors.empty()) return false;
  const std::string printed = print_program(p);
  Diagnostics again("b.tic");
  const Program q = parse_program(printed, "b.tic", again);
  EXPECT_EQ(again.text(), "") << printed;
  EXPECT_TRUE(p == q) << text << "\n--- printed\n" << printed;
  Diagnostics warnings("a.tic");
  check_program(p, errors, warnings);
  return true;
}

TEST(TicFuzz, mutated_scripts_neither_crash_nor_change_when_printed) {
  const auto scripts = all_scripts();
  int n_accepted = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    RandomStream random(seed);
    std::string text = excerpt(random, scripts[below(random, scripts.size())].text);
    for (std::size_t n = below(random, 4); n > 0; --n)
      mutate(random, text);
    n_accepted += run_one(text) ? 1 : 0;
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  // If nearly none were accepted, the printer would hardly be tested.
  EXPECT_GT(n_accepted, 2'000);
}

TEST(TicFuzz, mutated_whole_scripts_are_checked) {
  const auto scripts = all_scripts();
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    RandomStream random(seed, 1);
    std::string text = scripts[below(random, scripts.size())].text;
    mutate(random, text);
    static_cast<void>(run_one(text));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::flow::tic

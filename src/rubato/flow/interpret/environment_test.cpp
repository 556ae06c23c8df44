// What an activation costs depends on what it uses, not on the block that it is of.

#include "rubato/flow/interpret/environment.hpp"

#include "rubato/flow/interpret/run_script_test.hpp"

namespace rubato::flow {
namespace {

// Each statement that waits has one: of a block of n statements, n times n slots would be too many.
TEST(Environment, of_a_long_block_is_as_small_as_that_of_a_short_one) {
  tic::Frame frame;
  frame.variables.resize(100'000);
  global::run_here(1, [&] {
    for (std::int64_t i = 0; i < 20'000; ++i) {
      Environment environment(Flow::here(), frame);
      const auto variable = static_cast<int>(i);
      EXPECT_FALSE(std::as_const(environment).slot(variable).is_known());
      environment.slot(variable).value = Value::integer(i);
      EXPECT_EQ(environment.slot(variable).value.as_integer(), i);
      environment.forget(variable);
      EXPECT_FALSE(environment.slot(variable).is_known());
      environment.forget(variable + 1);
    }
  });
}

TEST(Environment, has_room_for_blocks_of_thousands_of_statements) {
  std::string script = "integer x0 = 1\n";
  constexpr int kStatements = 4'000;
  for (int i = 1; i < kStatements; ++i) {
    const std::string of = std::to_string(i);
    script += "integer x" + of + " = x" + std::to_string(i - 1) + " + 1\n";
  }
  script += "print(x" + std::to_string(kStatements - 1) + ")\n";
  expect_lines(script, std::to_string(kStatements) + "\n", 2);
}

}  // namespace
}  // namespace rubato::flow

// Recorded costs: the file, the fit, what is recorded of a model whose steps take a known time, and
// the options that make and use them.

#include <algorithm>
#include <array>

#include "rubato/base/random.hpp"
#include "rubato/models/apps.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tools/costs/record_costs.hpp"
#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

std::string refusal_of(const std::string& text) {
  try {
    (void)CostTable::parse(text, "my.costs");
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(CostTable, has_its_lines_without_comments) {
  const CostTable table = CostTable::parse(
      "# made by hand\n\nfish ns-per-fish 61.5  # slow\r\nheat  ns-per-cell 0", "x");
  EXPECT_EQ(table.costs(),
            (std::vector<RecordedCost>{{"fish", "ns-per-fish", 61.5}, {"heat", "ns-per-cell", 0}}));
  EXPECT_EQ(table.ns("heat", "ns-per-cell"), 0);
}

TEST(CostTable, says_in_which_line_it_expected_something_else) {
  EXPECT_EQ(refusal_of("fish ns-per-fish 1\nfish ns-per-pair -2\n"),
            "my.costs: line 2: expected nanoseconds, 0 or more, found \"-2\"");
  EXPECT_EQ(refusal_of("fish ns-per-fish fast"),
            "my.costs: line 1: expected nanoseconds, 0 or more, found \"fast\"");
  EXPECT_EQ(refusal_of("\nfish 3"),
            "my.costs: line 2: expected a model, a parameter and nanoseconds, found 2 words");
  EXPECT_EQ(refusal_of("fish ns-per-fish 1\nfish ns-per-fish 1"),
            "my.costs: line 2: fish ns-per-fish stands in a line before");
  EXPECT_THROW((void)CostTable::read(scratch("none.costs")), Error);
}

// The numbers of the fit are found again, however much single steps are off.
TEST(FitCosts, finds_what_steps_were_made_of) {
  for (std::uint64_t seed = 0; seed < 100 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream random(seed, 71);
    const auto n_kinds = static_cast<std::size_t>(random.between(1, 4));
    std::vector<double> expected;
    for (std::size_t k = 0; k < n_kinds; ++k)
      expected.push_back(random.between(0, 3) == 0 ? 0 : 100 * random.unit());
    std::vector<TimedStep> steps(200);
    for (TimedStep& step : steps) {
      for (std::size_t k = 0; k < n_kinds; ++k) {
        step.counts.push_back(static_cast<double>(random.between(0, 1000)));
        step.ns += step.counts[k] * expected[k];
      }
      step.ns *= 1 + 0.02 * (random.unit() - 0.5);
    }
    const FittedCosts fitted = fit_costs(steps, n_kinds);
    for (std::size_t k = 0; k < n_kinds; ++k)
      EXPECT_NEAR(fitted.ns[k], expected[k], 1) << k;
    EXPECT_GT(fitted.explained, *std::ranges::max_element(expected) > 0 ? 0.98 : -1);
  }
}

// The second of two kinds that always come together costs nothing, and none less than that.
TEST(FitCosts, gives_no_cost_below_zero_and_none_to_what_no_step_has) {
  std::vector<TimedStep> steps;
  for (const double n : {1.0, 2.0, 5.0, 9.0})
    steps.push_back({{n, n, 0, 10 - n}, 7 * n});
  const FittedCosts fitted = fit_costs(steps, 4);
  EXPECT_NEAR(fitted.ns[0] + fitted.ns[1], 7, 1e-9);
  EXPECT_EQ(fitted.ns[2], 0);
  EXPECT_NEAR(fitted.ns[3], 0, 1e-9);
  EXPECT_NEAR(fitted.explained, 1, 1e-9);
}

// A cell takes as long as ten words are hashed, and another kind that is charged is not done at all.
class HashApp final : public tick::App {
 public:
  struct Hashes {
    using Value = std::uint64_t;
    static constexpr int kDimensions = 2, kRadius = 1, kFields = 1, kFixed = 0;
    std::int64_t width = 0;
    [[nodiscard]] tick::GridShape<2> shape() const { return {{width, 64}, {true, true}}; }
    void init(tick::Index<2>, std::int64_t n, Value* const* out, Value* const*) const {
      std::fill_n(out[0], n, 1);
    }
    void step(const tick::GridSpan<Hashes>& in, Value* const* out, tick::Index<2>, std::int64_t n,
              tick::Tick t) const {
      for (std::int64_t i = 0; i < n; ++i) {
        std::uint64_t word = in.field[0][i];
        for (int k = 0; k < 10; ++k)
          word = hash_words(word, static_cast<std::uint64_t>(t));
        out[0][i] = word;
      }
    }
  };

  [[nodiscard]] std::string name() const override { return "hashes"; }
  [[nodiscard]] std::string summary() const override { return "hashes of hashes"; }
  void declare(tick::Parameters& p) override {
    p.add("width", width_, "cells of a row");
    p.add("ns-per-cell", options_.ns_per_cell, "of a cell");
  }
  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    return std::make_unique<
        tick::ProblemOf<tick::GridModel<Hashes>, tick::GridStore<Hashes>, tick::GridStoreOptions>>(
        tick::GridModel<Hashes>(Hashes{width_}, 512), options_);
  }

 private:
  std::int64_t width_ = 256;
  tick::GridStoreOptions options_;
};

// No figure of time: all tiles have equally many cells, so whatever hashes take here, what is charged
// for all cells of all ticks that count is the time of all of their steps.
TEST(RecordCosts, charges_cells_with_the_time_that_steps_took) {
  const tick::AppMaker make = [] { return std::make_unique<HashApp>(); };
  const std::array<CostSample, 2> samples{CostSample{{{"width", "64"}}, 0, 12},
                                          CostSample{{{"width", "256"}}, 0, 12}};
  const CostRecord record = record_costs(make, samples, 3);
  ASSERT_EQ(record.costs.size(), 1U);
  EXPECT_EQ(record.costs[0].model, "hashes");
  EXPECT_EQ(record.costs[0].parameter, "ns-per-cell");
  EXPECT_GT(record.costs[0].ns, 1);
  const double n_cells = 64 * (64 + 256) * 9;
  EXPECT_NEAR(record.costs[0].ns * n_cells * 1e-9 / record.seconds, 1, 1e-6);
  EXPECT_GT(record.n_steps, 9U);
}

TEST(RecordCosts, of_a_model_that_charges_nothing_is_an_error) {
  class Free final : public tick::App {
   public:
    [[nodiscard]] std::string name() const override { return "free"; }
    [[nodiscard]] std::string summary() const override { return ""; }
    void declare(tick::Parameters&) override {}
    [[nodiscard]] std::unique_ptr<tick::Problem> build() override { return nullptr; }
  };
  EXPECT_THROW((void)record_costs([] { return std::make_unique<Free>(); }, {}), Error);
}

TEST(Costs, of_a_file_are_those_of_a_simulation_and_what_people_set_is_theirs) {
  const std::string file = scratch("two.costs");
  std::ofstream(file) << "fish ns-per-fish 1000\nfish ns-per-pair 10\nheat ns-per-cell 5\n";
  const std::vector<std::string> run{"run",     "fish", "--fish",     "200",
                                     "--ticks", "20",   "--simulate", "3"};
  const auto seconds = [&](const std::vector<std::string>& more) {
    return json_of(with(run, more)).at("ticks_per_second").get<double>();
  };
  const double charged = seconds({"--costs", file});
  EXPECT_EQ(charged, seconds({"--ns-per-fish", "1000", "--ns-per-pair", "10"}));
  EXPECT_EQ(seconds({"--costs", file, "--ns-per-pair", "500"}),
            seconds({"--ns-per-fish", "1000", "--ns-per-pair", "500"}));
  EXPECT_NE(charged, seconds({}));
}

TEST(Costs, are_refused_where_they_mean_nothing) {
  const std::string file = scratch("heat.costs");
  std::ofstream(file) << "heat ns-per-cell 5\n";
  Answer answer = call({"run", "fish", "--costs", file});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("expected --simulate N or --paced too"), std::string::npos);
  answer = call({"run", "fish", "--simulate", "2", "--costs", file});
  EXPECT_EQ(answer.code, 3);
  EXPECT_NE(answer.err.find(file + ": expected costs of fish, found those of heat"),
            std::string::npos)
      << answer.err;
  std::ofstream(file) << "heat ns-per-tile 5\n";
  answer = call({"run", "heat", "--simulate", "2", "--costs", file});
  EXPECT_NE(answer.err.find("ns-per-tile"), std::string::npos) << answer.err;
}

TEST(Costs, that_the_command_records_are_a_file_for_run) {
  const std::string file = scratch("here.costs");
  const Answer answer = call({"costs", "fish", "--fish", "500", "--pieces", "4", "--ticks", "8",
                              "--runs", "3", "--output", file});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const CostTable table = CostTable::read(file);
  ASSERT_EQ(table.costs().size(), 2U);
  EXPECT_GT(table.ns("fish", "ns-per-fish") + table.ns("fish", "ns-per-pair"), 0);
  EXPECT_EQ(call({"run", "fish", "--ticks", "5", "--simulate", "2", "--costs", file}).code, 0);
}

// Those of the benchmarks of `reproduce asytick`, each measured.
TEST(Costs, that_come_with_rubato_are_of_steps_of_all_four_benchmarks) {
  const CostTable& shipped = CostTable::shipped();
  EXPECT_EQ(shipped.costs().size(), 8U);
  for (const RecordedCost& cost : shipped.costs()) {
    const auto known = std::ranges::any_of(models::built_in_apps(), [&](const auto& make) {
      ChosenModel model(make());
      return model.app().name() == cost.model && model.has(cost.parameter);
    });
    EXPECT_TRUE(known) << cost.model << " " << cost.parameter;
    EXPECT_GT(cost.ns, 0) << cost.model << " " << cost.parameter;
    EXPECT_LT(cost.ns, 1000) << cost.model << " " << cost.parameter;
  }
}

}  // namespace
}  // namespace rubato::tools

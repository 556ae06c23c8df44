// `rubato check` on models that are right, and on models that break one rule each.

#include "rubato/tick/check/checker.hpp"

#include <gtest/gtest.h>

#include "rubato/tick/check/runs.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/testing/grid_worlds.hpp"
#include "rubato/tick/testing/swarm_model.hpp"

namespace rubato::tick {
namespace {

using testing::Agent;
using testing::AgentBox;
using testing::SwarmModel;

// What a WrongSwarm does wrong.
enum class Wrong {
  nothing,
  ids_twice,
  merge_loses,
  merge_prefers_other,
  difference_by_value,
  write_cuts,
  write_by_arrival,
  select_changes,
  select_by_rank,
  part_overlaps,
  part_leaves_out,
  part_again_leaves_out,
  init_ignores_query,
  init_moves,
  disjoint_too_soon,
  random_stream,
  born_by_count,
  sum_over_call,
  reads_too_far,
  counts_context,
  read_exclusive_too_wide,
  moves_too_far,
  write_exclusive_too_wide,
  dependencies_smaller_than_query,
  measure_mean,
};

// The swarm with one mistake.
class WrongSwarm : public SwarmModel {
 public:
  WrongSwarm(Options options, Wrong wrong) : SwarmModel(options), o_(options), wrong_(wrong) {}

  [[nodiscard]] std::vector<AgentBox> part(std::uint32_t n) const {
    auto parts = SwarmModel::part(n);
    if (n > 1 && wrong_ == Wrong::part_overlaps) parts.back() = parts.back().grown(1);
    if (n > 1 && wrong_ == Wrong::part_leaves_out) parts.back().x0 += 2;
    return parts;
  }
  [[nodiscard]] std::vector<AgentBox> part(std::uint32_t n, const Samples& samples) const {
    auto parts = SwarmModel::part(n, samples);
    if (n > 1 && wrong_ == Wrong::part_again_leaves_out) parts.back().x0 += 2;
    return parts;
  }
  [[nodiscard]] State init(const Query& q) const {
    State state = SwarmModel::init(wrong_ == Wrong::init_ignores_query ? everything() : q);
    if (wrong_ == Wrong::init_moves && q.x0 > 0 && !state.empty()) state.front().value ^= 1;
    return state;
  }
  [[nodiscard]] State step(const State& to_step, const State& context, Tick t) const {
    SwarmModel right(*this);
    if (wrong_ == Wrong::reads_too_far) right = with(o_.visibility + 3, o_.reachability);
    if (wrong_ == Wrong::moves_too_far) right = with(o_.visibility, o_.reachability + 3);
    State result = right.step(to_step, context, t);
    for (Agent& agent : result) {
      if (wrong_ == Wrong::counts_context) agent.value ^= context.size();
      if (wrong_ == Wrong::sum_over_call) agent.value ^= to_step.size();
      if (wrong_ == Wrong::random_stream) agent.value ^= stream_();
    }
    if (wrong_ == Wrong::born_by_count && !to_step.empty()) {
      // Ids from a counter of the call: two parts give birth to the same.
      merge(result,
            {{1'000'000 + static_cast<std::uint64_t>(t), to_step.front().x, to_step.front().y, 1}});
    }
    if (wrong_ == Wrong::ids_twice && !result.empty()) result.push_back(result.back());
    return result;
  }

  [[nodiscard]] Query read_dependencies(const Query& q) const {
    return wrong_ == Wrong::dependencies_smaller_than_query ? q.grown(-1)
                                                            : SwarmModel::read_dependencies(q);
  }
  [[nodiscard]] Query read_exclusive(const Query& q) const {
    return wrong_ == Wrong::read_exclusive_too_wide ? q.grown(1 - o_.visibility)
                                                    : SwarmModel::read_exclusive(q);
  }
  [[nodiscard]] Query write_exclusive(const Query& q) const {
    return wrong_ == Wrong::write_exclusive_too_wide ? q : SwarmModel::write_exclusive(q);
  }
  [[nodiscard]] bool disjoint(const Query& a, const Query& b) const {
    return SwarmModel::disjoint(a, wrong_ == Wrong::disjoint_too_soon ? b.grown(-2) : b);
  }

  [[nodiscard]] State select(const State& state, const Query& q) const {
    State result = SwarmModel::select(state, q);
    if (wrong_ == Wrong::select_changes) {
      for (Agent& agent : result)
        agent.value |= 1;
    }
    // Depends on how many others there are, not on the tuple.
    if (wrong_ == Wrong::select_by_rank && result.size() > 8) result.resize(8);
    return result;
  }
  [[nodiscard]] State difference(const State& a, const State& b) const {
    if (wrong_ != Wrong::difference_by_value) return SwarmModel::difference(a, b);
    State result;
    for (const Agent& agent : a) {
      if (std::ranges::find(b, agent) == b.end()) result.push_back(agent);
    }
    return result;
  }
  void merge(State& into, const State& from) const {
    SwarmModel::merge(into, from);
    if (wrong_ == Wrong::merge_loses && from.size() > 1) {
      std::erase_if(into, [&](const Agent& agent) { return agent.id == from[1].id; });
    }
    if (wrong_ == Wrong::write_by_arrival && !from.empty()) arrival_ = from.front().id;
    if (wrong_ == Wrong::merge_prefers_other && !into.empty() && !from.empty()) {
      into.front().value ^= from.size();
    }
  }
  void write(Writer& writer, const State& state) const {
    if (wrong_ == Wrong::write_cuts && state.size() > 3) {
      State short_state = state;
      short_state.pop_back();
      SwarmModel::write(writer, short_state);
      return;
    }
    SwarmModel::write(writer, state);
    if (wrong_ == Wrong::write_by_arrival) writer.put(arrival_);
  }
  [[nodiscard]] State read(Reader& reader) const {
    State state = SwarmModel::read(reader);
    if (wrong_ == Wrong::write_by_arrival) (void)reader.get<std::uint64_t>();
    return state;
  }
  [[nodiscard]] Measure measure(const State& before, const State& after) const {
    if (wrong_ == Wrong::measure_mean)
      return after.empty() ? 0 : after.front().value / after.size();
    return SwarmModel::measure(before, after);
  }

 private:
  [[nodiscard]] SwarmModel with(std::int32_t visibility, std::int32_t reachability) const {
    Options changed = o_;
    changed.visibility = visibility;
    changed.reachability = reachability;
    return SwarmModel(changed);
  }

  Options o_;
  Wrong wrong_;
  mutable RandomStream stream_{1};
  mutable std::uint64_t arrival_ = 0;
};

SwarmModel::Options swarm_options() {
  SwarmModel::Options options;
  options.n_agents = 120;
  options.width = 60;
  options.height = 50;
  options.stop_interval = 3;
  return options;
}

CheckReport check(Wrong wrong) {
  CheckOptions options;
  options.ticks = 8;
  return check_model(WrongSwarm(swarm_options(), wrong), options);
}

TEST(Check, a_right_model_breaks_no_rule_and_each_rule_has_cases) {
  const CheckReport report = check(Wrong::nothing);
  EXPECT_TRUE(report.ok()) << describe(report);
  EXPECT_GE(report.rules.size(), 18U);
  for (const RuleResult& rule : report.rules)
    EXPECT_GT(rule.n_cases, 0U) << rule.name;
  EXPECT_TRUE(report.notes.empty());
  EXPECT_EQ(report.n_tuples, 120U);
  EXPECT_NE(describe(report).find("[Ticks A.1, Definition 1]"), std::string::npos);
}

struct WrongCase {
  Wrong wrong;
  const char* rule;      // the first that must break
  const char* contains;  // in its message
};

class CheckWrong : public ::testing::TestWithParam<WrongCase> {};

TEST_P(CheckWrong, is_caught_and_named) {
  const CheckReport report = check(GetParam().wrong);
  const RuleResult* broken = report.first_failure();
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->name, GetParam().rule) << describe(report);
  EXPECT_NE(broken->failure->find(GetParam().contains), std::string::npos) << *broken->failure;
  EXPECT_EQ(broken->source.front(), '[');
}

INSTANTIATE_TEST_SUITE_P(
    Each, CheckWrong,
    ::testing::Values(WrongCase{Wrong::ids_twice, "unique-ids", "is there twice"},
                      WrongCase{Wrong::merge_loses, "merge", "is missing"},
                      WrongCase{Wrong::merge_prefers_other, "merge", "has other bits"},
                      WrongCase{Wrong::difference_by_value, "difference", "should not be there"},
                      WrongCase{Wrong::write_cuts, "serialise", "is missing"},
                      WrongCase{Wrong::write_by_arrival, "equal-bytes", "other bytes"},
                      WrongCase{Wrong::select_changes, "select", "has other bits"},
                      WrongCase{Wrong::select_by_rank, "select", "is missing"},
                      WrongCase{Wrong::part_overlaps, "part-disjoint", "is in two of part("},
                      WrongCase{Wrong::part_leaves_out, "part-covers", "is in none of part("},
                      WrongCase{Wrong::part_again_leaves_out, "part-covers", ", samples)"},
                      WrongCase{Wrong::init_ignores_query, "init", "should not be there"},
                      WrongCase{Wrong::init_moves, "init", "has other bits"},
                      WrongCase{Wrong::disjoint_too_soon, "disjoint", "is in both"},
                      WrongCase{Wrong::random_stream, "deterministic", "has other bits"},
                      WrongCase{Wrong::born_by_count, "property-1", "comes from both parts"},
                      WrongCase{Wrong::sum_over_call, "property-2", "has other bits"},
                      WrongCase{Wrong::reads_too_far, "read-dependencies", "it reads tuple"},
                      WrongCase{Wrong::counts_context, "read-dependencies", "has other bits"},
                      WrongCase{Wrong::dependencies_smaller_than_query, "read-dependencies",
                                "leaves out its own"},
                      WrongCase{Wrong::read_exclusive_too_wide, "read-exclusive", "it reads tuple"},
                      WrongCase{Wrong::moves_too_far, "write-dependencies", "is missing"},
                      WrongCase{Wrong::write_exclusive_too_wide, "write-exclusive", "is missing"},
                      WrongCase{Wrong::measure_mean, "measure", "other bits"}));

// A query that selects more of less: what footnote 1 of the paper rules out.
struct NotMonotone : SwarmModel {
  using SwarmModel::SwarmModel;
  [[nodiscard]] State select(const State& state, const Query& q) const {
    State result = SwarmModel::select(state, q);
    // Drops who has a neighbour id in the state, twice the same: idempotent.
    State kept;
    for (const Agent& agent : result) {
      const bool near =
          std::ranges::any_of(state, [&](const Agent& other) { return other.id == agent.id + 1; });
      if (!near || q.x0 == 0) kept.push_back(agent);
    }
    return kept;
  }
};

TEST(Check, a_query_that_more_tuples_make_smaller_is_not_monotone) {
  CheckOptions options;
  options.ticks = 8;
  const CheckReport report = check_model(NotMonotone(swarm_options()), options);
  const RuleResult* rule = report.find("monotone");
  ASSERT_NE(rule, nullptr);
  ASSERT_TRUE(rule->failure.has_value());
  EXPECT_NE(rule->failure->find("of a part of the state but not of all"), std::string::npos)
      << *rule->failure;
}

// Reads what nobody selected for it, if it is there.
// Hashes what its agents see in the order of arrival, not of ids.
struct CombinesByArrival : testing::SwarmInParts {
  using SwarmInParts::SwarmInParts;
  [[nodiscard]] State finish(const State& to_step, const Contributions& in, Tick t) const {
    State result;
    for (std::size_t i = 0; i < to_step.size(); ++i) {
      std::uint64_t seen = to_step[i].value;
      for (const Agent& other : in[i])
        seen = hash_words(seen, other.id, other.value);
      act(to_step[i], seen, t, result);
    }
    std::ranges::sort(result, {}, &Agent::id);
    return result;
  }
};

TEST(Check, a_step_in_two_parts_may_not_depend_on_how_its_context_comes) {
  CheckOptions options;
  options.ticks = 8;
  const CheckReport right = check_model(testing::SwarmInParts(swarm_options()), options);
  EXPECT_TRUE(right.ok()) << describe(right);
  ASSERT_NE(right.find("decomposed-step"), nullptr);
  EXPECT_GT(right.find("decomposed-step")->n_cases, 0U);
  const CheckReport wrong = check_model(CombinesByArrival(swarm_options()), options);
  const RuleResult* rule = wrong.find("decomposed-step");
  ASSERT_NE(rule, nullptr);
  ASSERT_TRUE(rule->failure.has_value());
  EXPECT_NE(rule->failure->find("pieces of the context"), std::string::npos) << *rule->failure;
}

struct ReadsStrangers : SwarmModel {
  using SwarmModel::SwarmModel;
  [[nodiscard]] State step(const State& to_step, const State& context, Tick t) const {
    State result = SwarmModel::step(to_step, context, t);
    // Agent 5 changes only with the whole state's first id gone, so that R_D alone is enough.
    const bool stranger = std::ranges::any_of(context, [](const Agent& a) { return a.id == 1; });
    const bool whole = context.size() > 100;
    for (Agent& agent : result) {
      if (agent.id == 5 && stranger && !whole) agent.value ^= 1;
    }
    return result;
  }
};

TEST(Check, context_that_changes_bits_though_nobody_should_read_it_is_found) {
  CheckOptions options;
  options.ticks = 8;
  auto swarm = swarm_options();
  swarm.death_in = 0;
  const CheckReport report = check_model(ReadsStrangers(swarm), options);
  const RuleResult* rule = report.find("context");
  ASSERT_NE(rule, nullptr);
  ASSERT_TRUE(rule->failure.has_value()) << describe(report);
  EXPECT_NE(rule->failure->find("tuple 5 has other bits"), std::string::npos) << *rule->failure;
}

TEST(Check, a_wider_read_dependency_than_needed_is_a_note_and_no_failure) {
  struct Wide : SwarmModel {
    using SwarmModel::SwarmModel;
    [[nodiscard]] Query read_dependencies(const Query& q) const { return q.grown(9); }
  };
  const CheckReport report = check_model(Wide(swarm_options()), {});
  EXPECT_TRUE(report.ok()) << describe(report);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes.front().find("read_dependencies(read_exclusive("), std::string::npos);
}

TEST(Check, what_a_function_throws_breaks_the_rule_under_test) {
  struct Throws : SwarmModel {
    using SwarmModel::SwarmModel;
    [[nodiscard]] bool disjoint(const Query& a, const Query& b) const {
      if (a.x0 > 0) throw Error("no such thing");
      return SwarmModel::disjoint(a, b);
    }
  };
  const CheckReport report = check_model(Throws(swarm_options()), {});
  ASSERT_NE(report.first_failure(), nullptr);
  EXPECT_EQ(report.first_failure()->name, "disjoint");
  EXPECT_EQ(*report.first_failure()->failure, "threw: no such thing");
}

TEST(Check, an_instance_without_tuples_or_with_too_many_is_refused) {
  auto empty = swarm_options();
  empty.n_agents = 0;
  EXPECT_THROW((void)check_model(SwarmModel(empty), {}), Error);
  CheckOptions options;
  options.tuples_max = 100;
  EXPECT_THROW((void)check_model(SwarmModel(swarm_options()), options), Error);
}

template <int D, int R, int F>
testing::MixingGrid<D, R, F> grid(Index<D> extent, std::array<bool, D> periodic) {
  testing::MixingGrid<D, R, F> user;
  user.grid.extent = extent;
  user.grid.periodic = periodic;
  user.interval = 2;
  return user;
}

TEST(Check, grids_of_one_to_three_dimensions_keep_all_rules) {
  CheckOptions options;
  options.ticks = 4;
  const CheckReport flat =
      check_model(GridModel(grid<2, 2, 2>({23, 19}, {true, false}), 40), options);
  EXPECT_TRUE(flat.ok()) << describe(flat);
  EXPECT_NE(flat.find("tiles"), nullptr);
  const CheckReport line = check_model(GridModel(grid<1, 1, 1>({90}, {true}), 10), options);
  EXPECT_TRUE(line.ok()) << describe(line);
  const CheckReport cube =
      check_model(GridModel(grid<3, 1, 1>({7, 8, 9}, {false, true, false}), 40), options);
  EXPECT_TRUE(cube.ok()) << describe(cube);
}

// Kernels whose bits depend on how rows are cut, or that read beyond the radius: only whole runs
// show it, since the general step calls them for one cell at a time.
struct CutDependent : testing::MixingGrid<2, 1, 1> {
  bool too_far = false;
  void step(const GridSpan<CutDependent>& in, double* const* out, Index<2> /*at*/, std::int64_t n,
            Tick) const {
    for (std::int64_t i = 0; i < n; ++i) {
      out[0][i] = 0.5 * in.field[0][i] +
                  (too_far ? 0.1 * in.field[0][i + 2] : 1e-9 * static_cast<double>(n));
    }
  }
  void measure(double&, const GridSpan<CutDependent>&, const double* const*, std::int64_t) const {}
};

TEST(Check, a_kernel_that_depends_on_the_cut_of_rows_fails_in_whole_runs_with_its_cell) {
  for (const bool too_far : {false, true}) {
    CutDependent user;
    user.grid.extent = {40, 30};
    user.too_far = too_far;
    const ProblemOf<GridModel<CutDependent>, GridStore<CutDependent>> problem{
        GridModel<CutDependent>(user, 100)};
    const CheckReport report = check_problem(problem, {});
    const RuleResult* broken = report.first_failure();
    ASSERT_NE(broken, nullptr) << describe(report);
    EXPECT_EQ(broken->name, "same-bits");
    EXPECT_NE(broken->failure->find("cell ("), std::string::npos) << *broken->failure;
  }
}

TEST(Check, a_grid_in_whole_runs_ends_in_the_reference) {
  using User = testing::MixingGrid<2, 1, 2>;
  const ProblemOf<GridModel<User>, GridStore<User>> problem{
      GridModel(grid<2, 1, 2>({31, 27}, {false, true}), 60)};
  const CheckReport report = check_problem(problem, {});
  EXPECT_TRUE(report.ok()) << describe(report);
  EXPECT_EQ(report.find("same-bits")->n_cases, 8U);
}

}  // namespace
}  // namespace rubato::tick

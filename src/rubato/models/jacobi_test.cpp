// jacobi against a dense solve, its stop condition, and its input.

#include "rubato/models/jacobi.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/models/app_jacobi.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tick/testing/property.hpp"

namespace rubato::models {
namespace {

using Dense = std::vector<std::vector<double>>;

// Gaussian elimination with pivots by rows: the textbook's, which shares nothing with ours.
std::vector<double> solve_dense(Dense a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      pivot = std::abs(a[i][k]) > std::abs(a[pivot][k]) ? i : pivot;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j)
        a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j)
      b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

Dense dense_of(const JacobiSystem& system) {
  const std::size_t n = system.diagonal->size();
  Dense a(n, std::vector<double>(n, 0));
  for (std::size_t v = 0; v < n; ++v) {
    const auto row = static_cast<VertexId>(v);
    const auto columns = system.graph->in(row);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      a[v][columns[i]] +=
          system.graph->in_weights(row) == nullptr ? 1 : system.graph->in_weights(row)[i];
    }
    a[v][v] = (*system.diagonal)[v];
  }
  return a;
}

JacobiModel model_of(const JacobiSystem& system, JacobiOptions options,
                     std::uint64_t tile_work = 1 << 16) {
  return {system.graph, Jacobi(system, options), {tile_work}};
}

JacobiSystem random_system(std::uint64_t seed) {
  RandomStream random(seed, 51);
  JacobiTrial trial;
  trial.rows = random.between(1, 90);
  trial.degree = random.between(0, 7);
  trial.dominance = 1.1 + random.unit();
  trial.seed = seed;
  JacobiSystem system = make_jacobi_matrix(trial);
  const auto n = static_cast<std::uint64_t>(trial.rows);
  system.b = random.between(0, 3) == 0 ? jacobi_ones(n) : jacobi_random(n, seed);
  return system;
}

TEST(Jacobi, a_trial_matrix_without_far_entries_is_a_band) {
  const auto widest = [](std::int64_t far) {
    JacobiTrial trial;
    trial.far = far;
    const JacobiSystem system = make_jacobi_matrix(trial);
    tick::VertexId most = 0;
    for (tick::VertexId row = 0; row < system.graph->n_vertices(); ++row) {
      for (const tick::VertexId column : system.graph->in(row))
        most = std::max(most, row < column ? column - row : row - column);
    }
    return most;
  };
  EXPECT_LE(widest(0), 32U);
  EXPECT_GT(widest(64), 1000U);
}

TEST(Jacobi, converges_to_what_elimination_finds) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const JacobiSystem system = random_system(seed);
    const JacobiModel model = model_of(system, {.tolerance = 1e-14});
    const auto run = tick::run_reference(model, model.everything(), 2000);
    EXPECT_LT(run.ticks, 2000) << "seed " << seed;
    const std::vector<double> expected = solve_dense(dense_of(system), *system.b);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(run.state.values[i], expected[i], 1e-11) << "seed " << seed;
  }
}

TEST(Jacobi, the_run_ends_once_the_residual_is_the_share_of_b_that_was_asked_for) {
  const JacobiSystem system = random_system(7);
  for (const auto norm : {JacobiNorm::max, JacobiNorm::l2}) {
    const JacobiOptions options{.tolerance = 1e-6, .norm = norm, .test_interval = 3, .test_lag = 4};
    const JacobiModel model = model_of(system, options);
    const auto run = tick::run_reference(model, model.everything(), 1000);
    ASSERT_LT(run.ticks, 1000);
    ASSERT_EQ((run.ticks - 4) % 3, 0);
    // b - A x before the step to tick t, from the dense matrix.
    const Dense a = dense_of(system);
    const auto residual_at = [&](Tick t) {
      const JacobiModel endless = model_of(system, {.tolerance = 0});
      const auto x = tick::run_reference(endless, endless.everything(), t - 1).state.values;
      double most = 0;
      double squares = 0;
      double b_most = 0;
      double b_squares = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double b = (*system.b)[i];
        double rest = b;
        for (std::size_t j = 0; j < x.size(); ++j)
          rest -= a[i][j] * x[j];
        most = std::max(most, std::abs(rest));
        squares += rest * rest;
        b_most = std::max(b_most, std::abs(b));
        b_squares += b * b;
      }
      return norm == JacobiNorm::max ? most / b_most : std::sqrt(squares / b_squares);
    };
    EXPECT_LE(residual_at(run.ticks - 4), 1e-6);
    EXPECT_GT(residual_at(run.ticks - 7), 1e-6);
  }
}

TEST(Jacobi, the_residual_of_a_state_is_that_of_the_dense_matrix) {
  const JacobiSystem system = random_system(11);
  const Jacobi solver(system, {});
  std::vector<double> x;
  for (std::size_t i = 0; i < system.b->size(); ++i)
    x.push_back(std::sin(double(i)));
  const Dense a = dense_of(system);
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double rest = (*system.b)[i];
    for (std::size_t j = 0; j < x.size(); ++j)
      rest -= a[i][j] * x[j];
    most = std::max(most, std::abs(rest));
  }
  EXPECT_NEAR(solver.residual(x).norm(JacobiNorm::max), most, 1e-12);
  x[0] = 1e200;
  EXPECT_EQ(solver.residual(x).norm(JacobiNorm::l2), INFINITY);
}

// [4 1; 1 4] x = (b, b). Squares of residuals are below or above all numbers, those of units are not:
// the run takes as many ticks as with b = 1, and has its x times a power of two, to the bit.
TEST(Jacobi, converges_alike_however_small_or_large_b_is) {
  const auto solve = [](double b, JacobiNorm norm) {
    const std::vector<VertexId> from{0, 1};
    const std::vector<VertexId> to{1, 0};
    JacobiSystem system;
    system.graph =
        std::make_shared<const tick::Digraph>(2, from, to, std::vector<double>{1.0, 1.0});
    system.diagonal = std::make_shared<const std::vector<double>>(2, 4.0);
    system.b = std::make_shared<const std::vector<double>>(2, b);
    const JacobiModel model = model_of(system, {.tolerance = 1e-10, .norm = norm});
    return tick::run_reference(model, model.everything(), 1000);
  };
  for (const auto norm : {JacobiNorm::max, JacobiNorm::l2}) {
    const auto one = solve(1, norm);
    ASSERT_LT(one.ticks, 1000);
    for (const int exponent : {-900, -600, 600, 1000}) {
      const auto scaled = solve(std::ldexp(1, exponent), norm);
      EXPECT_EQ(scaled.ticks, one.ticks) << exponent;
      for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(scaled.state.values[i], std::ldexp(one.state.values[i], exponent)) << exponent;
    }
    const auto tiny = solve(1e-170, norm);
    EXPECT_NEAR(tiny.state.values[0], 0.2e-170, 1e-179);
  }
}

TEST(JacobiProperty, every_policy_and_partition_gives_the_same_bits_and_the_same_last_tick) {
  const std::uint64_t n_seeds = rubato::n_seeds();
  std::size_t n_stopped = 0;
  for (std::uint64_t seed = 0; seed < n_seeds; ++seed) {
    RandomStream random(seed, 52);
    tick::testing::RunCase c = tick::testing::random_run(seed);
    const JacobiSystem system = random_system(seed);
    c.n_nodes = std::min(c.n_nodes, system.graph->n_vertices());
    c.ticks = 30;
    const JacobiOptions options{
        .tolerance = random.between(0, 1) != 0 ? 1e-3 : 0,
        .norm = random.between(0, 1) != 0 ? JacobiNorm::l2 : JacobiNorm::max,
        .test_interval = random.between(1, 4),
        .test_lag = random.between(0, 4)};
    const JacobiModel model =
        model_of(system, options, static_cast<std::uint64_t>(random.between(1, 100)));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + tick::testing::describe(c));
    const auto reference = tick::run_reference(model, model.everything(), c.ticks);
    (void)tick::testing::expect_equal_run<JacobiStore>(model, c, seed, reference);
    if (HasFailure()) return;
    n_stopped += reference.ticks < c.ticks ? 1 : 0;
  }
  EXPECT_GT(n_stopped, n_seeds / 5);
}

// A file in the test's own folder.
class TextFile {
 public:
  explicit TextFile(const std::string& text, const std::string& kind = "")
      : path_(::testing::TempDir() + "jacobi_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + kind) {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::remove(path_.c_str()); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Dense read_dense(const std::string& text) {
  return dense_of(read_jacobi_matrix(TextFile(text).path()));
}

TEST(JacobiFile, general_symmetric_integer_and_pattern_matrices_are_what_they_say) {
  EXPECT_EQ(read_dense("%%MatrixMarket matrix coordinate real general\n% a comment\n3 3 5\n"
                       "1 1 4\n2 2 5.5\n3 3 -6\n1 3 0.25\n3 2 1e-3\n"),
            (Dense{{4, 0, 0.25}, {0, 5.5, 0}, {0, 1e-3, -6}}));
  EXPECT_EQ(read_dense("%%MatrixMarket matrix coordinate integer symmetric\n3 3 5\n"
                       "1 1 4\n2 2 5\n3 3 6\n2 1 -1\n3 2 7\n"),
            (Dense{{4, -1, 0}, {-1, 5, 7}, {0, 7, 6}}));
  EXPECT_EQ(read_dense("%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 2\n1 2\n"),
            (Dense{{1, 1}, {0, 1}}));
  EXPECT_EQ(read_dense("%%MatrixMarket matrix coordinate real general\n2 2 6\n"
                       "1 1 1\n1 1 2\n2 2 1\n1 2 3\n1 2 4\n2 1 0\n"),
            (Dense{{3, 7}, {0, 1}}))
      << "entries of one place are added up";
  EXPECT_EQ(read_dense("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n"),
            (Dense{{2}}));
}

template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_in(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in: " << text;
}

TEST(JacobiFile, broken_matrices_are_errors_with_their_place) {
  const auto error = [](const std::string& text) {
    const TextFile file(text);
    const std::string what = error_of([&] { (void)read_jacobi_matrix(file.path()); });
    expect_in(what, {file.path()});
    return what;
  };
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  expect_in(error("1 2\n2 1\n"), {"line 1", "Matrix Market"});
  expect_in(error("%%MatrixMarket matrix array real general\n2 1\n1\n2\n"),
            {"line 1", "coordinate", "array"});
  expect_in(error("%%MatrixMarket matrix coordinate complex general\n"), {"line 1", "complex"});
  expect_in(error("%%MatrixMarket matrix coordinate real hermitian\n"), {"line 1", "hermitian"});
  expect_in(error(head + "2 3 1\n1 1 1\n"), {"line 2", "square", "2 x 3"});
  expect_in(error(head + "0 0 0\n"), {"0 x 0"});
  expect_in(error(head + "2 2 x\n"), {"line 2", "rows, columns and entries"});
  expect_in(error(head + "2 2 2\n1 1 1\n2 2 one\n"), {"line 4", "one"});
  expect_in(error(head + "2 2 2\n1 1 1\n2 3 1\n"), {"line 4", "1 to 2", "3"});
  expect_in(error(head + "2 2 3\n1 1 1\n2 2 1\n"), {"expected 3 entries", "found 2"});
  expect_in(error(head + "2 2 1\n1 1 1\n2 2 1\n"), {"line 4", "expected 1 entries"});
  expect_in(error(head + "2 2 2\n1 1 1\n1 2 1\n"), {"row 2", "diagonal", "found none"});
  expect_in(error(head + "2 2 3\n1 1 1\n2 2 0\n1 2 1\n"), {"line 4", "row 2", "found 0"});
  expect_in(error(head + "2 2 3\n1 1 1\n2 2 3\n2 2 -3\n"), {"line 5", "row 2", "found 0"});
  expect_in(error(head + "5000000000 5000000000 1\n1 1 1\n"), {"5000000000 rows"});
}

TEST(JacobiFile, a_vector_is_a_number_a_line_or_an_array) {
  const TextFile plain("# b\n1\n-2.5\n\n% more\n3e2\n");
  EXPECT_EQ(*read_jacobi_vector(plain.path(), 3), (std::vector<double>{1, -2.5, 300}));
  const TextFile array("%%MatrixMarket matrix array real general\n% b\n2 1\n4\n5\n", "_array");
  EXPECT_EQ(*read_jacobi_vector(array.path(), 2), (std::vector<double>{4, 5}));
}

TEST(JacobiFile, broken_vectors_are_errors_with_their_place) {
  const auto error = [](const std::string& text) {
    const TextFile file(text);
    const std::string what = error_of([&] { (void)read_jacobi_vector(file.path(), 2); });
    expect_in(what, {file.path()});
    return what;
  };
  expect_in(error("1\ntwo\n"), {"line 2", "a finite number", "two"});
  expect_in(error("1\nnan\n"), {"line 2", "a finite number"});
  expect_in(error("1\n2\n3\n"), {"line 3", "expected 2 numbers", "found more"});
  expect_in(error("1\n"), {"expected 2 numbers", "found 1"});
  expect_in(error("%%MatrixMarket matrix coordinate real general\n"), {"line 1", "array"});
  expect_in(error("%%MatrixMarket matrix array complex general\n"), {"line 1", "complex"});
  expect_in(error("%%MatrixMarket matrix array real general\n2 2\n"), {"line 2", "\"2 1\""});
  expect_in(error("%%MatrixMarket matrix array real general\n"), {"end of the file"});
}

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Built {
  std::unique_ptr<tick::App> app = make_jacobi_app();
  std::unique_ptr<tick::Problem> problem;
  explicit Built(const Settings& settings) {
    tick::Parameters parameters;
    app->declare(parameters);
    for (const auto& [name, text] : settings)
      parameters.set(name, text);
    problem = app->build();
  }
};

TEST(JacobiApp, rows_that_the_diagonal_does_not_dominate_are_a_warning) {
  const TextFile file(
      "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 2\n2 2 2\n3 3 2\n2 1 -1\n"
      "3 2 -1.5\n");
  const Built weak({{"input", file.path()}});
  ASSERT_EQ(weak.app->warnings().size(), 1U);
  expect_in(weak.app->warnings()[0],
            {file.path(), "1 of 3 rows", "row 2, with 2 on the diagonal and 2.5 beside it"});
  EXPECT_TRUE(Built(Settings{{"rows", "200"}}).app->warnings().empty());
  expect_in(Built(Settings{{"rows", "200"}, {"dominance", "0.9"}}).app->warnings()[0],
            {"the trial matrix", "of 200 rows"});
}
// As of the Laplacian of a ring, which is singular.
TEST(JacobiApp, rows_none_of_which_the_diagonal_dominates_strictly_are_a_warning) {
  const char* const head =
      "%%MatrixMarket matrix coordinate real symmetric\n3 3 6\n2 1 -1\n3 2 -1\n3 1 -1\n2 2 2\n3 3 "
      "2\n";
  const TextFile ring(std::string(head) + "1 1 2\n");
  const Built weak({{"input", ring.path()}});
  ASSERT_EQ(weak.app->warnings().size(), 1U);
  expect_in(weak.app->warnings()[0], {ring.path(), "in none larger"});
  const TextFile held(std::string(head) + "1 1 2.5\n");
  EXPECT_TRUE(Built({{"input", held.path()}}).app->warnings().empty());
}

TEST(JacobiApp, tells_the_same_residual_on_any_number_of_nodes) {
  const auto findings = [](std::uint32_t n_nodes, const char* policy) {
    const Built built({{"rows", "300"}, {"b", "random"}, {"tolerance", "1e-9"}});
    std::vector<Bytes> parts;
    tick::SimulationOptions options;
    options.n_nodes = n_nodes;
    options.at_end = [&](tick::NodeId, tick::NodeRun& node) {
      parts.push_back(built.app->finding(node));
    };
    const auto result = tick::simulate(*built.problem, tick::Policy::parse(policy), 2000, options);
    EXPECT_LT(result.ticks, 2000);
    io::JsonWriter json;
    built.app->findings(parts)->to_json(json);
    return json.text();
  };
  const std::string one = findings(1, "local");
  expect_in(one, {"\"residual / b\"", "\"rows\",\"value\":300"});
  EXPECT_EQ(findings(3, "k2m2"), one);
  EXPECT_EQ(findings(5, "d2"), one);
}

TEST(JacobiApp, bad_values_are_refused_by_name) {
  const auto refusal = [](const Settings& settings) {
    return error_of([&] { (void)Built(settings); });
  };
  expect_in(refusal({{"rows", "0"}}), {"rows: expected 1 to 100000000, found 0"});
  expect_in(refusal({{"degree", "-1"}}), {"degree", "-1"});
  expect_in(refusal({{"dominance", "0"}}), {"dominance", "found 0"});
  expect_in(refusal({{"tolerance", "-1"}}), {"tolerance: expected 0 or more, found -1"});
  expect_in(refusal({{"test-interval", "0"}}), {"test interval"});
  expect_in(refusal({{"b", "no/such/file"}}), {"no/such/file"});
  expect_in(refusal({{"norm", "l1"}}), {"--norm", "l2"});
  // Squares of these are no numbers, and need not be.
  const TextFile huge("1e300\n1e300\n");
  EXPECT_EQ(refusal({{"rows", "2"}, {"b", huge.path()}}), "no error");
}

// x grows without bound: the run ends with the row that is no number any more.
TEST(JacobiApp, an_iteration_that_diverges_ends_with_an_error) {
  const Built built({{"rows", "100"}, {"dominance", "0.05"}});
  tick::SimulationOptions options;
  options.n_nodes = 2;
  expect_in(error_of([&] {
              (void)tick::simulate(*built.problem, tick::Policy::parse("local"), 5000, options);
            }),
            {"vertex", "not a number"});
}

}  // namespace
}  // namespace rubato::models

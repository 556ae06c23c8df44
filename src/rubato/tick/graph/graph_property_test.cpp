// Graph models over random directed graphs: the general store and the dense one, every policy,
// partition and interleaving, each equal to the serial reference bit for bit.

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/graph/graph_store.hpp"
#include "rubato/tick/graph/testing/mixing.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/epoch_run.hpp"
#include "rubato/tick/testing/late_run.hpp"
#include "rubato/tick/testing/property.hpp"
#include "rubato/tick/testing/resumed_run.hpp"

namespace rubato::tick {
namespace {

using testing::Mixed;
using testing::Mixing;
using testing::MixingInParts;
using testing::random_model;

// The reference is of the step as a whole.
template <class U, class S>
void expect_reference(std::uint64_t first_seed) {
  std::int64_t n_replica_units = 0;
  std::int64_t n_compared = 0;
  std::int64_t n_interactions = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + n_seeds(); ++seed) {
    const testing::RunCase c = testing::random_run(seed);
    const GraphModel<U> model = random_model<U>(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + testing::describe(c) + ", " +
                 std::to_string(model.graph().n_vertices()) + " vertices, " +
                 std::to_string(model.graph().n_edges()) + " edges");
    const auto reference = run_reference(random_model(seed), model.everything(), c.ticks);
    const auto run = testing::expect_equal_run<S>(model, c, seed, reference);
    if (::testing::Test::HasFailure()) return;
    n_replica_units += run.replica_units;
    n_compared += run.compared_regions;
    n_interactions += run.interactions;
  }
  // The corners were reached: replicas were stepped, and late messages confirmed them.
  EXPECT_GT(n_replica_units, static_cast<std::int64_t>(10 * n_seeds()));
  EXPECT_GT(n_compared, static_cast<std::int64_t>(n_seeds()));
  // Stepped in part, where a core would be idle: dense arrays, and any model that says how.
  if (std::is_same_v<S, GraphStore<Mixing>> || HasInteract<GraphModel<U>>) {
    EXPECT_GT(n_interactions, static_cast<std::int64_t>(n_seeds()));
  }
}

TEST(GraphProperty, fragments_equal_the_reference_under_every_policy) {
  expect_reference<Mixing, FragmentStore<GraphModel<Mixing>>>(0);
  expect_reference<MixingInParts, FragmentStore<GraphModel<MixingInParts>>>(0);
}

TEST(GraphProperty, dense_arrays_equal_the_reference_under_every_policy) {
  expect_reference<Mixing, GraphStore<Mixing>>(5000);
}

TEST(GraphProperty, steps_in_parts_equal_the_reference_under_every_policy) {
  expect_reference<MixingInParts, GraphStore<MixingInParts>>(5000);
}

TEST(GraphProperty, runs_that_begin_with_a_saved_state_equal_the_reference) {
  using P = ProblemOf<GraphModel<Mixing>, GraphStore<Mixing>, GraphStoreOptions>;
  for (std::uint64_t seed = 8000; seed < 8000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 13);
    const testing::RunCase c = testing::random_run(random);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const P problem(random_model(seed));
    const auto& model = problem.model();
    testing::expect_equal_when_resumed(problem, c, model.stop_lag(), random,
                                       run_reference(model, model.everything(), c.ticks));
  }
}

template <class U>
void expect_reference_when_pieces_move(std::uint64_t first_seed) {
  using P = ProblemOf<GraphModel<U>, GraphStore<U>, GraphStoreOptions>;
  std::int64_t n_moved = 0;
  for (std::uint64_t seed = first_seed;
       seed < first_seed + n_seeds() && !::testing::Test::HasFailure(); ++seed) {
    RandomStream random(seed, 14);
    testing::RunCase c = testing::random_run(random);
    // As many again under the policy that is made for it.
    if (seed % 2 == 0) c.policy = testing::random_pieces(random);
    const P problem(random_model<U>(seed));
    const auto& model = problem.model();
    SharingOptions sharing;
    sharing.epoch = random.between(1, 6);
    sharing.balance = Balance::persistence;
    sharing.n_pieces = c.n_nodes + static_cast<std::uint32_t>(random.between(0, 40));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + testing::describe(c) + ", " +
                 std::to_string(model.graph().n_vertices()) + " vertices");
    const auto reference = run_reference(random_model(seed), model.everything(), c.ticks);
    n_moved += testing::expect_equal_epochs(problem, c, sharing, seed, reference).n_pieces;
  }
  EXPECT_GT(n_moved, static_cast<std::int64_t>(n_seeds()));
}

TEST(GraphProperty, runs_whose_pieces_move_equal_the_reference) {
  expect_reference_when_pieces_move<Mixing>(10'000);
  expect_reference_when_pieces_move<MixingInParts>(11'000);
}

// Policy auto, mostly with choices at random.
TEST(GraphProperty, runs_whose_policy_changes_at_epochs_equal_the_reference) {
  using P = ProblemOf<GraphModel<Mixing>, GraphStore<Mixing>, GraphStoreOptions>;
  std::int64_t n_changes = 0;
  for (std::uint64_t seed = 14'000; seed < 14'000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 16);
    const P problem(random_model(seed));
    n_changes += testing::expect_equal_auto(problem, random, seed);
  }
  EXPECT_GT(n_changes, static_cast<std::int64_t>(n_seeds()));
}

TEST(GraphProperty, general_stores_of_pieces_equal_the_reference) {
  using P = ProblemOf<GraphModel<Mixing>, FragmentStore<GraphModel<Mixing>>>;
  for (std::uint64_t seed = 12'000; seed < 12'000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 15);
    const testing::RunCase c = testing::random_run(random);
    const P problem(random_model(seed));
    const auto& model = problem.model();
    SharingOptions sharing;
    sharing.epoch = random.between(1, 6);
    sharing.balance = Balance::persistence;
    sharing.n_pieces = c.n_nodes + static_cast<std::uint32_t>(random.between(0, 40));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + testing::describe(c));
    (void)testing::expect_equal_epochs(problem, c, sharing, seed,
                                       run_reference(model, model.everything(), c.ticks));
  }
}

// Every vertex lies in one piece, none of which is empty; more are wanted than there are vertices.
TEST(GraphProperty, pieces_are_disjoint_cover_all_and_join_to_what_they_are) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const GraphModel<Mixing> model = random_model(seed);
    const auto n = static_cast<std::uint32_t>(1 + seed % 150);
    const auto pieces = model.pieces(n);
    EXPECT_EQ(pieces.size(), std::min(n, model.graph().n_vertices()));
    std::vector<int> n_of(model.graph().n_vertices(), 0);
    for (const VertexQuery& piece : pieces) {
      EXPECT_FALSE(piece.list().empty());
      EXPECT_TRUE(std::ranges::is_sorted(piece.list()));
      for (const VertexId v : piece.list())
        ++n_of[v];
    }
    EXPECT_EQ(std::ranges::count(n_of, 1), static_cast<std::ptrdiff_t>(n_of.size()));
    // A stretch of them, as a node has it: R_D is remembered, and the same each time.
    const auto stretch = std::span(pieces).first((pieces.size() + 1) / 2);
    const VertexQuery joined = model.join(stretch);
    std::vector<VertexId> expected;
    for (const VertexQuery& piece : stretch)
      expected.insert(expected.end(), piece.list().begin(), piece.list().end());
    std::ranges::sort(expected);
    EXPECT_TRUE(std::ranges::equal(joined.list(), expected));
    const VertexQuery reads = VertexQuery(expected).read_dependencies(model.graph());
    for (int i = 0; i < 2; ++i)
      EXPECT_TRUE(std::ranges::equal(joined.read_dependencies(model.graph()).list(), reads.list()));
    const Digraph other(model.graph().n_vertices(), {}, {});
    EXPECT_TRUE(std::ranges::equal(joined.read_dependencies(other).list(), expected));
  }
}

TEST(GraphProperty, the_index_of_regions_finds_exactly_those_that_a_list_meets) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    const GraphModel<Mixing> model = random_model(seed);
    std::vector<RegionQuery<VertexQuery>> regions;
    for (const VertexQuery& piece : model.pieces(20)) {
      regions.push_back({{piece}, {}});
      regions.push_back({{model.read_dependencies(piece)}, {}});  // regions may overlap
    }
    regions.push_back({{model.everything()}, {}});
    const detail::RegionIndex<VertexQuery> index{
        std::span<const RegionQuery<VertexQuery>>(regions)};
    for (const auto& region : regions) {
      auto near = index.near(region.includes.front());
      std::ranges::sort(near);
      std::vector<RegionId> expected;
      for (RegionId i = 0; i < regions.size(); ++i)
        if (!model.disjoint(region.includes.front(), regions[i].includes.front()))
          expected.push_back(i);
      ASSERT_EQ(near, expected) << seed;
    }
  }
}

TEST(GraphProperty, late_networks_do_not_show_in_the_state) {
  using P = ProblemOf<GraphModel<Mixing>, GraphStore<Mixing>, GraphStoreOptions>;
  testing::LateCounts counts;
  for (std::uint64_t seed = 9000; seed < 9000 + n_seeds() && !HasFailure(); ++seed) {
    const testing::RunCase c = testing::random_run(seed);
    const P problem(random_model(seed));
    const auto& model = problem.model();
    testing::expect_equal_when_late(problem, c, seed,
                                    run_reference(model, model.everything(), c.ticks), counts);
  }
  counts.expect_all_in(n_seeds());
}

// Stepping only what a query selects, in the context of its R_D, is stepping it in full
// (Definition 1); so is what R_X selects, in the context of the query.
void expect_definition_1(const GraphModel<Mixing>& model, const VertexQuery& q,
                         const VertexValues<Mixed>& whole, const VertexValues<Mixed>& stepped) {
  const auto context = model.select(whole, model.read_dependencies(q));
  const auto to_step = model.select(whole, q);
  EXPECT_TRUE(model.step(to_step, context, 0) == model.select(stepped, q));
  const auto inner = model.read_exclusive(q);
  EXPECT_TRUE(model.step(model.select(whole, inner), to_step, 0) == model.select(stepped, inner));
  EXPECT_TRUE(model.difference(model.select(whole, inner), to_step).ids.empty());
}

TEST(GraphProperty, queries_read_no_more_than_their_dependencies) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const GraphModel<Mixing> model = random_model(seed);
    const auto whole = model.init(model.everything());
    const auto stepped = model.step(whole, whole, 0);
    for (VertexQuery q : model.part(static_cast<std::uint32_t>(1 + seed % 7))) {
      for (int level = 0; level < 4; ++level) {
        expect_definition_1(model, q, whole, stepped);
        q = seed % 2 == 0 ? model.read_dependencies(q) : model.read_exclusive(q);
      }
    }
  }
}

// Levels of two cuts, lists, everything and nothing.
std::vector<VertexQuery> many_queries(const GraphModel<Mixing>& model, std::uint32_t n_parts) {
  std::vector<VertexQuery> queries{model.everything(), VertexQuery(std::vector<VertexId>{})};
  for (const VertexQuery& part : model.part(3))
    queries.push_back(model.read_dependencies(part));
  for (const VertexQuery& part : model.part(n_parts)) {
    for (int level = -2; level <= 2; ++level) {
      queries.emplace_back(part);
      for (int i = 0; i < level; ++i)
        queries.back() = model.read_dependencies(queries.back());
      for (int i = 0; i > level; --i)
        queries.back() = model.read_exclusive(queries.back());
    }
    queries.emplace_back(queries.back().vertices(model.graph()));
  }
  return queries;
}

bool meets(const Membership& in_a, std::span<const VertexId> of_b) {
  return std::ranges::any_of(of_b, [&](VertexId v) { return in_a.contains(v); });
}

TEST(GraphProperty, disjoint_is_true_exactly_if_no_vertex_is_common) {
  std::size_t n_disjoint = 0;
  std::size_t n_pairs = 0;
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    const GraphModel<Mixing> model = random_model(seed);
    const auto queries = many_queries(model, static_cast<std::uint32_t>(2 + seed % 5));
    for (const VertexQuery& a : queries) {
      const Membership in_a(a);
      for (const VertexQuery& b : queries) {
        const bool common = meets(in_a, b.vertices(model.graph()));
        ASSERT_EQ(model.disjoint(a, b), !common) << seed;
        n_disjoint += common ? 0 : 1;
        ++n_pairs;
      }
    }
  }
  EXPECT_GT(n_disjoint, n_pairs / 20);
  EXPECT_LT(n_disjoint, n_pairs * 19 / 20);
}

}  // namespace
}  // namespace rubato::tick

#include "rubato/models/pagerank.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/property.hpp"

namespace rubato::models {
namespace {

using tick::Digraph;
using Ids = std::vector<VertexId>;

struct Edges {
  VertexId n = 0;
  Ids from;
  Ids to;
};

Edges random_edges(std::uint64_t seed) {
  RandomStream random(seed, 21);
  Edges edges;
  edges.n = static_cast<VertexId>(random.between(1, 80));
  for (std::int64_t i = random.between(0, std::int64_t{4} * edges.n); i > 0; --i) {
    // Some vertices are dangling, some are never pointed at.
    edges.from.push_back(static_cast<VertexId>(random.between(0, edges.n * 2 / 3)) % edges.n);
    edges.to.push_back(static_cast<VertexId>(random.between(0, edges.n - 1)));
  }
  return edges;
}

PageRankModel model_of(const Edges& edges, PageRankOptions options,
                       std::uint64_t tile_work = 1 << 16) {
  PageRankGraph input;
  input.graph = std::make_shared<const Digraph>(edges.n, edges.from, edges.to);
  return {input.graph, PageRank(input, options), {tile_work}};
}

std::vector<RankedVertex> ranking_of(const PageRankModel& model, const PageRankModel::State& state,
                                     std::size_t n_best) {
  Ranking ranking(n_best);
  for (std::size_t i = 0; i < state.ids.size(); ++i) {
    ranking.add(state.ids[i], model.user().rank(state.ids[i], state.values[i]));
  }
  return ranking.best();
}

// The textbook's way, independent of ours: pushes along edges and spreads the mass of dangling
// vertices over all in each round.
std::vector<double> power_iteration(const Edges& edges, double damping, int rounds) {
  std::vector<double> degree(edges.n, 0);
  for (const VertexId v : edges.from)
    ++degree[v];
  const double n = static_cast<double>(edges.n);
  std::vector<double> rank(edges.n, 1 / n);
  for (int round = 0; round < rounds; ++round) {
    double dangling = 0;
    for (VertexId v = 0; v < edges.n; ++v)
      dangling += degree[v] == 0 ? rank[v] : 0;
    std::vector<double> next(edges.n, (1 - damping + damping * dangling) / n);
    for (std::size_t i = 0; i < edges.from.size(); ++i) {
      next[edges.to[i]] += damping * rank[edges.from[i]] / degree[edges.from[i]];
    }
    rank = next;
  }
  return rank;
}

TEST(PageRank, final_normalisation_gives_the_ranks_of_the_textbook) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Edges edges = random_edges(seed);
    const double damping = 0.5 + 0.4 * RandomStream(seed, 22).unit();
    const PageRankModel model = model_of(edges, {.damping = damping});
    const auto run = tick::run_reference(model, model.everything(), 400);
    const std::vector<double> expected = power_iteration(edges, damping, 400);
    double sum = 0;
    for (const RankedVertex& each : ranking_of(model, run.state, edges.n)) {
      EXPECT_NEAR(each.rank, expected[each.vertex], 1e-12) << "seed " << seed;
      sum += each.rank;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

// Vertex 3 dangles, and so does 4, whose only edge weighs nothing.
TEST(PageRank, a_rank_is_shared_out_by_the_weights_of_the_edges) {
  const Ids from{0, 0, 1, 1, 2, 2, 4};
  const Ids to{1, 2, 0, 3, 0, 4, 0};
  const std::vector<double> weights{3, 1, 2, 0.5, 1, 7, 0};
  const std::vector<double> sums{4, 2.5, 8, 0, 0};
  const double damping = 0.8;
  std::vector<double> expected(5, 0.2);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> next(5, (1 - damping + damping * (expected[3] + expected[4])) / 5);
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (sums[from[i]] > 0)
        next[to[i]] += damping * expected[from[i]] * weights[i] / sums[from[i]];
    }
    expected = next;
  }
  PageRankGraph input;
  input.graph = std::make_shared<const Digraph>(5, from, to, weights);
  const PageRankModel model(input.graph, PageRank(input, {.damping = damping, .weighted = true}),
                            {1});
  const auto run = tick::run_reference(model, model.everything(), 300);
  for (const RankedVertex& each : ranking_of(model, run.state, 5))
    EXPECT_NEAR(each.rank, expected[each.vertex], 1e-12) << each.vertex;
}

TEST(PageRank, equal_weights_change_no_bit_of_a_rank) {
  const Edges edges = random_edges(11);
  const std::vector<double> twos(edges.from.size(), 2);
  PageRankGraph weighted;
  weighted.graph = std::make_shared<const Digraph>(edges.n, edges.from, edges.to, twos);
  PageRankGraph plain;
  plain.graph = std::make_shared<const Digraph>(edges.n, edges.from, edges.to);
  const auto ranks = [&](const PageRankGraph& input) {
    const PageRankModel model(input.graph, PageRank(input, {.weighted = true}), {1});
    return ranking_of(model, tick::run_reference(model, model.everything(), 40).state, edges.n);
  };
  EXPECT_EQ(ranks(weighted), ranks(plain));
}

TEST(PageRank, the_run_ends_once_ranks_change_less_than_the_tolerance) {
  const Edges edges = random_edges(7);
  for (const auto norm : {PageRankOptions::Norm::l1, PageRankOptions::Norm::max}) {
    const PageRankOptions options{
        .tolerance = 1e-6, .norm = norm, .test_interval = 3, .test_lag = 4};
    const PageRankModel model = model_of(edges, options);
    const auto run = tick::run_reference(model, model.everything(), 1000);
    ASSERT_LT(run.ticks, 1000);
    ASSERT_EQ((run.ticks - 4) % 3, 0);
    const auto change_at = [&](Tick t) {
      const PageRankModel endless = model_of(edges, {});
      const auto before = tick::run_reference(endless, endless.everything(), t - 1).state;
      const auto after = endless.step(before, before, t - 1);
      double l1 = 0;
      double most = 0;
      for (VertexId v = 0; v < edges.n; ++v) {
        const double change = std::abs(model.user().rank(v, after.values[v]) -
                                       model.user().rank(v, before.values[v]));
        l1 += change;
        most = std::max(most, change);
      }
      return norm == PageRankOptions::Norm::l1 ? l1 : most;
    };
    EXPECT_LT(change_at(run.ticks - 4), 1e-6);
    EXPECT_GE(change_at(run.ticks - 7), 1e-6);
  }
}

TEST(PagerankProperty, every_policy_and_partition_gives_the_same_bits_and_the_same_last_tick) {
  const std::uint64_t n_seeds = rubato::n_seeds();
  std::size_t n_stopped = 0;
  for (std::uint64_t seed = 0; seed < n_seeds; ++seed) {
    RandomStream random(seed, 23);
    tick::testing::RunCase c = tick::testing::random_run(seed);
    Edges edges = random_edges(seed);
    c.n_nodes = std::min(c.n_nodes, edges.n);
    c.ticks = 40;
    const PageRankOptions options{
        .damping = 0.6,
        .tolerance = random.between(0, 1) != 0 ? 1e-4 : 0,
        .norm = random.between(0, 1) != 0 ? PageRankOptions::Norm::l1 : PageRankOptions::Norm::max,
        .test_interval = random.between(1, 4),
        .test_lag = random.between(0, 4)};
    const PageRankModel model =
        model_of(edges, options, static_cast<std::uint64_t>(random.between(1, 100)));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + tick::testing::describe(c));
    const auto reference = tick::run_reference(model, model.everything(), c.ticks);
    (void)tick::testing::expect_equal_run<PageRankStore>(model, c, seed, reference);
    if (HasFailure()) return;
    n_stopped += reference.ticks < c.ticks ? 1 : 0;
  }
  EXPECT_GT(n_stopped, n_seeds / 5);
}

TEST(Ranking, parts_merge_to_the_same_bits_in_any_order) {
  RandomStream random(5);
  std::vector<RankedVertex> all;
  for (VertexId v = 0; v < 3000; ++v)
    all.push_back({v, random.unit() < 0.3 ? 0.5 : random.unit()});
  Ranking whole(10);
  std::vector<Ranking> parts(4, Ranking(10));
  for (const RankedVertex& each : all) {
    whole.add(each.vertex, each.rank);
    parts[hash_words(each.vertex) % 4].add(each.vertex, each.rank);
  }
  Ranking merged(10);
  for (const std::size_t i : {2U, 0U, 3U, 1U}) {
    Writer writer;
    parts[i].write(writer);
    Reader reader(writer.view());
    merged.merge(Ranking::read(reader));
    EXPECT_TRUE(reader.at_end());
  }
  EXPECT_TRUE(merged.best() == whole.best());
  EXPECT_EQ(whole.best().size(), 10U);
  double mass = 0;
  for (const RankedVertex& each : all)
    mass += each.rank;
  EXPECT_NEAR(whole.best()[0].rank, std::ranges::max(all, {}, &RankedVertex::rank).rank / mass,
              1e-9);
}

class PageRankFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ =
        std::filesystem::temp_directory_path() /
        ("rubato_pagerank_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
         "_" + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::filesystem::path path_;
};

TEST_F(PageRankFile, packages_are_ranked_by_what_depends_on_them) {
  write(
      "editor\tDepends\tlibtext\neditor\tDepends\tlibtext\neditor\tSuggests\tmanual\n"
      "viewer\tDepends\tlibtext\nlibtext\tDepends\tlibc\nshell\tDepends\tlibc\n");
  io::EdgeListOptions options;
  options.labels = io::Labels::text;
  options.target_column = 3;
  options.filter = {{2, {"Depends"}}};
  const PageRankGraph input = read_pagerank_graph(path_, options, tick::Duplicates::merge);
  EXPECT_EQ(input.graph->n_edges(), 4U);
  const PageRankModel model(input.graph, PageRank(input, {.tolerance = 1e-10}));
  const auto run = tick::run_reference(model, model.everything(), 1000);
  const auto best = ranking_of(model, run.state, 2);
  EXPECT_EQ(input.name(best[0].vertex), "libc");
  EXPECT_EQ(input.name(best[1].vertex), "libtext");
  EXPECT_EQ(input.find("shell"), 3U);
  EXPECT_THROW((void)input.find("shel"), Error);
}

TEST_F(PageRankFile, a_word_among_the_ids_names_file_and_line) {
  write("0 1\n1 two\n");
  try {
    (void)read_pagerank_graph(path_, {}, tick::Duplicates::keep);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(path_.string()), std::string::npos) << what;
    EXPECT_NE(what.find("line 2"), std::string::npos) << what;
  }
}

TEST(PageRankOptions, what_is_out_of_range_is_refused_by_name) {
  const auto refusal = [](PageRankOptions options) {
    try {
      options.validate();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_NE(refusal({.damping = 1}).find("damping: expected 0 or more and less than 1, found 1"),
            std::string::npos);
  EXPECT_NE(refusal({.damping = std::nan("")}).find("damping"), std::string::npos);
  EXPECT_NE(refusal({.tolerance = -1}).find("tolerance"), std::string::npos);
  EXPECT_NE(refusal({.test_interval = 0}).find("test interval"), std::string::npos);
}

TEST(PageRankGraph, trial_graphs_without_far_edges_have_near_ones_alone) {
  const auto farthest = [](std::uint32_t far) {
    const PageRankGraph trial = make_pagerank_graph(2000, 4, 1, far);
    VertexId most = 0;
    for (VertexId v = 0; v < 2000; ++v) {
      for (const VertexId u : trial.graph->in(v))
        most = std::max(most, u - v);
    }
    return most;
  };
  EXPECT_LE(farthest(0), 64U);
  EXPECT_GT(farthest(2), 1000U);
}

TEST(PageRankGraph, trial_graphs_are_connected_and_repeatable) {
  const PageRankGraph a = make_pagerank_graph(500, 4, 1);
  const PageRankGraph b = make_pagerank_graph(500, 4, 1);
  EXPECT_EQ(a.graph->n_edges(), 4U * 499);
  for (VertexId v = 0; v < 500; ++v) {
    ASSERT_TRUE(std::ranges::equal(a.graph->in(v), b.graph->in(v)));
    for (const VertexId u : a.graph->in(v))
      ASSERT_LT(v, u);
  }
}

}  // namespace
}  // namespace rubato::models

// The step of a graph model in parts: of the edges that have come, those that came before their turn are
// kept, and no others.

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/tick/graph/testing/mixing.hpp"

namespace rubato::tick {
namespace {

using testing::Mixed;
using testing::Mixing;
using testing::MixingInParts;
using Model = GraphModel<MixingInParts>;
using Contributions = Model::Contributions;
using Ids = std::vector<VertexId>;

constexpr VertexId kVertices = 9;
constexpr Tick kTick = 4;

// Into 0 from all others, from 4 twice; into 1 from 3 and 6. The order of edges is in the bits.
std::shared_ptr<const Digraph> two_stars() {
  return std::make_shared<const Digraph>(kVertices, Ids{1, 2, 3, 4, 4, 5, 6, 7, 8, 3, 6},
                                         Ids{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1});
}

class GraphParts : public ::testing::Test {
 protected:
  [[nodiscard]] Model::State of(const Ids& vertices) const {
    Model::State state;
    for (const VertexId v : vertices)
      state.add(v, model_.user().init(v));
    return state;
  }
  void come(const Ids& sources) { model_.interact(in_, to_step_, of(sources), kTick); }
  // What is kept of edges into 0, by their place among these.
  [[nodiscard]] std::vector<std::size_t> kept() const {
    std::vector<std::size_t> places;
    for (const auto& [place, value] : in_.kept) {
      if (place.first == 0) places.push_back(place.second);
    }
    return places;
  }
  void expect_the_whole_step() const {
    const GraphModel<Mixing> whole(two_stars(), Mixing(3));
    EXPECT_TRUE(model_.finish(to_step_, in_, kTick) ==
                whole.step(to_step_, whole.init(whole.everything()), kTick));
  }

  const Model model_{two_stars(), MixingInParts(3)};
  const Model::State to_step_ = of({0, 1});
  Contributions in_;
};

TEST_F(GraphParts, of_edges_that_come_in_order_nothing_is_kept) {
  std::size_t n_bytes = 0;
  for (const Ids& sources : {Ids{1}, Ids{2, 3}, Ids{4}, Ids{5, 6}, Ids{7, 8}}) {
    come(sources);
    EXPECT_TRUE(in_.kept.empty()) << sources.front();
    // Nor does what has come take more room the more it is.
    if (n_bytes == 0) n_bytes = Model::contribution_bytes(in_);
    EXPECT_EQ(Model::contribution_bytes(in_), n_bytes) << sources.front();
  }
  EXPECT_EQ(in_.n_taken, (std::vector<std::size_t>{9, 2}));
  expect_the_whole_step();
}

TEST_F(GraphParts, of_edges_that_come_backwards_all_are_kept_until_the_first_one) {
  come({8});
  EXPECT_EQ(kept(), (std::vector<std::size_t>{8}));
  const std::size_t n_bytes = Model::contribution_bytes(in_);
  come({7});
  EXPECT_GT(Model::contribution_bytes(in_), n_bytes);
  for (const VertexId source : {6, 5, 4, 3, 2})
    come({source});
  EXPECT_EQ(kept(), (std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(in_.n_taken.front(), 0U);
  // Of 1 all sources are there: it waits for no edge of another vertex.
  EXPECT_EQ(in_.n_taken.back(), 2U);
  EXPECT_EQ(in_.kept.size(), 8U);
  come({1});
  EXPECT_TRUE(in_.kept.empty());
  EXPECT_EQ(in_.n_taken.front(), 9U);
  expect_the_whole_step();
}

TEST_F(GraphParts, what_is_missing_holds_up_what_comes_after_it_and_no_more) {
  come({1, 2, 6, 8});
  EXPECT_EQ(kept(), (std::vector<std::size_t>{6, 8}));
  EXPECT_EQ(in_.n_taken, (std::vector<std::size_t>{2, 0}));
  EXPECT_EQ(in_.kept.count({1, 1}), 1U);
  // 3 is the turn of both; 4 has two edges.
  come({3, 4});
  EXPECT_EQ(kept(), (std::vector<std::size_t>{6, 8}));
  EXPECT_EQ(in_.n_taken, (std::vector<std::size_t>{5, 2}));
  come({5});
  EXPECT_EQ(kept(), (std::vector<std::size_t>{8}));
  // Its source is there, too, in what comes last.
  come({7, 8});
  EXPECT_TRUE(in_.kept.empty());
  expect_the_whole_step();
}

TEST_F(GraphParts, what_has_been_taken_and_comes_again_is_not_kept) {
  come({1, 2, 3});
  come({1, 2, 3});
  EXPECT_TRUE(in_.kept.empty());
  EXPECT_EQ(in_.n_taken.front(), 3U);
  come({4, 5, 6, 7, 8});
  expect_the_whole_step();
}

}  // namespace
}  // namespace rubato::tick

#include "rubato/core/figures.hpp"

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"

namespace rubato::core {
namespace {

NodeFigures sample(NodeId node, Nanos idle) {
  NodeFigures figures;
  figures.node = node;
  figures.host = "cn-17";
  figures.wall = 100;
  CoreFigures core;
  core.wall = 100;
  core.add_busy(2, 30);
  core.add_busy(0, 10);
  core.sending = 5;
  core.idle = idle;
  figures.cores = {core, core};
  figures.n_sent = 7;
  return figures;
}

TEST(Figures, OwnIsWhatIsLeftOfTheWall) {
  const auto figures = sample(0, 50);
  EXPECT_EQ(figures.cores[0].own(), 5);
  EXPECT_EQ(figures.total().own(), 10);
  EXPECT_EQ(figures.total().busy, (std::vector<Nanos>{20, 0, 60}));
  EXPECT_EQ(figures.total().n_works, 4U);
}

TEST(Figures, OfSeveralRunsAddUpByCore) {
  NodeFigures sum;
  sum.add(sample(3, 40));
  EXPECT_EQ(sum, sample(3, 40));
  NodeFigures later = sample(3, 20);
  later.cores[1].add_busy(4, 15);
  sum.add(later);
  EXPECT_EQ(sum.wall, 200);
  EXPECT_EQ(sum.n_sent, 14U);
  EXPECT_EQ(sum.cores[0].busy, (std::vector<Nanos>{20, 0, 60}));
  EXPECT_EQ(sum.cores[1].busy, (std::vector<Nanos>{20, 0, 60, 0, 15}));
  EXPECT_EQ(sum.cores[1].idle, 60);
  EXPECT_EQ(sum.total().own(), 200 * 2 - 175 - 20 - 120);
}

TEST(Figures, TravelAsBytes) {
  Writer out;
  put(out, sample(3, 40));
  const Bytes bytes = out.take();
  Reader in(bytes);
  EXPECT_EQ(get_node_figures(in), sample(3, 40));
  EXPECT_TRUE(in.at_end());
  Reader cut(ByteView(bytes).first(bytes.size() - 3));
  EXPECT_THROW((void)get_node_figures(cut), Error);
}

}  // namespace
}  // namespace rubato::core

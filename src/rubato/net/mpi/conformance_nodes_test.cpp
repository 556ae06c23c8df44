// The contract of Fabric on real processes, with the plans of ../conformance_test.cpp. Tests follow
// one another without a barrier: a fast node is already in the next one, and nothing may mix.

#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

#include "rubato/net/mpi.hpp"
#include "rubato/net/testing/nodes_main.hpp"
#include "rubato/net/testing/player.hpp"

namespace rubato::net {
namespace {

using testing::job_fabric;
using testing::Plan;
using testing::play;

// One player for all tests: it keeps what is early.
testing::Player& player() {
  static testing::Player p(job_fabric());
  return p;
}

TEST(MpiConformance, TheJobIsAsLargeAsTheLauncherSaid) {
  const Launch launch = detect_launch();
  EXPECT_TRUE(launch.by_launcher);
  EXPECT_EQ(job_fabric().n_nodes(), launch.n_processes);
  EXPECT_LT(job_fabric().node(), job_fabric().n_nodes());
}

TEST(MpiConformance, TheMpiThatWasJoinedHasItsNameAndVersion) {
  const std::string name = detect_launch().candidates.front() == Mpi::mpich ? "MPICH" : "Open MPI";
  EXPECT_EQ(joined_mpi().rfind(name, 0), 0U) << joined_mpi();
  EXPECT_NE(joined_mpi().find('.'), std::string::npos) << joined_mpi();
}

TEST(MpiConformance, DeliversRandomMessagesInOrder) {
  const std::uint32_t n = job_fabric().n_nodes();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    ASSERT_EQ(play(player(), job_fabric(), testing::random_plan(seed, n, 400, 300'000)), "")
        << "seed " << seed;
  }
}

TEST(MpiConformance, DeliversManySmallMessages) {
  const std::uint32_t n = job_fabric().n_nodes();
  ASSERT_EQ(play(player(), job_fabric(), testing::random_plan(10, n, 20'000, 64)), "");
}

TEST(MpiConformance, DeliversEverySizeFromAllToAll) {
  const std::uint32_t n = job_fabric().n_nodes();
  const std::vector<std::size_t> sizes = {
      0, 1, 7, 8, 0, 4095, 65'536, 270'335, 270'336, 270'337, 0, 540'672, 540'673, 0, 1};
  ASSERT_EQ(play(player(), job_fabric(), testing::all_to_all_plan(11, n, sizes)), "");
}

TEST(MpiConformance, DeliversLargeMessagesBetweenEmptyOnes) {
  const std::uint32_t n = job_fabric().n_nodes();
  const Plan ring{
      12, n,
      [n](NodeId from) {
        const NodeId to = (from + 1) % n;
        return std::vector<testing::PlannedMessage>{{to, 0}, {to, 20'000'000}, {to, 0}, {to, 5}};
      },
      0};
  ASSERT_EQ(play(player(), job_fabric(), ring), "");
}

TEST(MpiConformance, PushesBackAtItsBound) {
  // 75 MB to a node that does not poll: the fabric may take 64 MiB.
  const std::uint32_t n = job_fabric().n_nodes();
  const auto plan = testing::flood_plan(13, n, 300, 250'000, 500);
  ASSERT_EQ(play(player(), job_fabric(), plan), "");
  if (job_fabric().node() == 0) {
    EXPECT_LE(player().bytes_at_refusal(), std::size_t{64} << 20);
  }
}

TEST(MpiConformance, SmallMessagesThatNobodyTakesAreBoundedToo) {
  const std::uint32_t n = job_fabric().n_nodes();
  const auto plan = testing::flood_plan(14, n, 70'000, 1000, 500);
  ASSERT_EQ(play(player(), job_fabric(), plan), "");
  if (job_fabric().node() == 0) {
    EXPECT_LE(player().bytes_at_refusal(), std::size_t{64} << 20);
  }
}

TEST(MpiConformance, KnowsTheHostsOfThoseThatSentSomething) {
  const std::uint32_t n = job_fabric().n_nodes();
  ASSERT_EQ(play(player(), job_fabric(), testing::all_to_all_plan(15, n, {8})), "");
  for (NodeId node = 0; node < n; ++node) {
    EXPECT_NE(job_fabric().host(node), "");
    EXPECT_NE(job_fabric().host(node), "?");
  }
}

// Run alone, by an entry that expects exit code 5: the last node aborts, the others would wait
// forever.
TEST(MpiAbort, DISABLED_EndsAllNodesWithTheCode) {
  Fabric& fabric = job_fabric();
  if (fabric.node() + 1 == fabric.n_nodes()) fabric.abort(5, "on purpose");
  for (Arrival arrival; !fabric.poll(arrival);)
    nap(kMillisecond);
}

// The last: what nobody reads must not keep the job from ending (MPICH hung in its own end then).
TEST(MpiLeave, AJobEndsThoughMessagesAreUnread) {
  Fabric& fabric = job_fabric();
  for (NodeId to = 0; to < fabric.n_nodes(); ++to) {
    for (const std::size_t size : {0, 100, 3'000'000, 60'000, 5}) {
      Bytes bytes(size);
      EXPECT_TRUE(fabric.try_send(to, bytes));
    }
  }
}

}  // namespace
}  // namespace rubato::net

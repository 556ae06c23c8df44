#include "rubato/core/team.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/core/post_office_test.hpp"

namespace rubato::core {
namespace {

// The teams of all nodes of a job, joined by a post office.
struct Job {
  Job(std::uint32_t n_nodes, std::uint32_t n_cores, std::uint64_t seed) : office(n_nodes, seed) {
    for (NodeId node = 0; node < n_nodes; ++node) {
      nodes.push_back(std::make_unique<Teams>(JobShape{node, n_nodes, n_cores}));
      office.receive(node, [this, node](Port& port, NodeId from, const Bytes& bytes) {
        nodes[node]->on_message(port, from, bytes);
      });
    }
  }
  // Calls f(port, team, rank) for each core of the job.
  template <class F>
  void each_core(F f) {
    for (NodeId node = 0; node < nodes.size(); ++node) {
      Team& team = nodes[node]->job();
      for (std::uint32_t i = 0; i < team.n_local(); ++i) {
        f(office.port(node), team, team.first_local_rank() + i);
      }
    }
  }

  testing::PostOffice office;
  std::vector<std::unique_ptr<Teams>> nodes;
};

Bytes text(const std::string& s) {
  Writer out;
  out.append(s.data(), s.size());
  return out.take();
}
std::string text(const Bytes& b) {
  return {reinterpret_cast<const char*>(b.data()), b.size()};  // NOLINT: bytes to characters
}
void concatenate(Bytes& into, ByteView later) {
  into.insert(into.end(), later.begin(), later.end());
}

double value_of(std::uint64_t rank) {
  return 1.0 / (3.0 + static_cast<double>(rank * rank));
}

// The sum that the fixed tree stands for, written as a plain recursion.
double tree_sum(std::uint64_t low, std::uint64_t width, std::uint64_t n) {
  if (width == 1) return value_of(low);
  const double left = tree_sum(low, width / 2, n);
  return low + width / 2 < n ? left + tree_sum(low + width / 2, width / 2, n) : left;
}

TEST(Team, AllreduceHasTheSameBitsForAnyNumberOfNodesAndOrderOfArrival) {
  const std::uint64_t n = 24;
  const double expected = tree_sum(0, 32, n);
  for (const std::uint32_t n_nodes : {1U, 2U, 3U, 6U, 8U, 24U}) {
    for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
      Job job(n_nodes, 24 / n_nodes, seed);
      std::uint64_t n_done = 0;
      job.each_core([&](Port& port, Team& team, std::uint64_t rank) {
        team.async_allreduce<double>(port, rank, value_of(rank), std::plus<>{},
                                     [&](Port&, const double& sum) {
                                       ++n_done;
                                       EXPECT_EQ(sum, expected) << n_nodes << " nodes, " << seed;
                                     });
      });
      job.office.deliver_all();
      EXPECT_EQ(n_done, n);
      EXPECT_EQ(job.office.n_sent(), 2U * (n_nodes - 1));
    }
  }
}

TEST(Team, NobodyLeavesABarrierBeforeTheLastHasCome) {
  for (std::uint64_t seed = 0; seed < n_seeds(50); ++seed) {
    Job job(5, 3, seed);
    int n_left = 0;
    int n_called = 0;
    job.each_core([&](Port& port, Team& team, std::uint64_t rank) {
      EXPECT_EQ(n_left, 0);
      ++n_called;
      team.async_barrier(port, rank, [&](Port&, const Bytes&) {
        EXPECT_EQ(n_called, 15) << "seed " << seed;
        ++n_left;
      });
      if (n_called < 15) job.office.deliver_all();
    });
    job.office.deliver_all();
    EXPECT_EQ(n_left, 15);
  }
}

// What comes for a node behind its end is lost.
TEST(Team, WhoIsDoneMayLeave) {
  using Begin = std::function<void(Port&, Team&, std::uint64_t rank, std::uint64_t root, Done)>;
  const std::vector<std::pair<std::string, Begin>> kinds = {
      {"barrier", [](Port& port, Team& team, std::uint64_t rank, std::uint64_t /*root*/,
                     const Done& done) { team.async_barrier(port, rank, done); }},
      {"broadcast",
       [](Port& port, Team& team, std::uint64_t rank, std::uint64_t root, const Done& done) {
         team.async_broadcast(port, rank, root, text("word"), done);
       }},
      {"reduce",
       [](Port& port, Team& team, std::uint64_t rank, std::uint64_t root, const Done& done) {
         team.async_reduce(port, rank, root, text("x"), concatenate, done);
       }},
      {"allreduce",
       [](Port& port, Team& team, std::uint64_t rank, std::uint64_t /*root*/, const Done& done) {
         team.async_allreduce(port, rank, text("x"), concatenate, done);
       }},
      {"gather",
       [](Port& port, Team& team, std::uint64_t rank, std::uint64_t root, const Done& done) {
         team.async_gather(port, rank, root, text("x"),
                           [done](Port& p, const std::vector<Bytes>&) { done(p, {}); });
       }}};
  for (std::uint64_t seed = 0; seed < n_seeds(50); ++seed) {
    for (const auto& [name, begin] : kinds) {
      const std::uint32_t n_nodes = 1 + static_cast<std::uint32_t>(seed % 17);
      SCOPED_TRACE(name + ", " + std::to_string(n_nodes) + " nodes, seed " + std::to_string(seed));
      Job job(n_nodes, 1, seed);
      std::vector<bool> has_left(n_nodes, false);
      for (NodeId node = 0; node < n_nodes; ++node) {
        job.office.receive(node, [&, node](Port& port, NodeId from, const Bytes& bytes) {
          if (!has_left[node]) job.nodes[node]->on_message(port, from, bytes);
        });
      }
      job.each_core([&](Port& port, Team& team, std::uint64_t rank) {
        begin(port, team, rank, seed / 3 % n_nodes,
              [&has_left, rank](Port&, const Bytes&) { has_left[rank] = true; });
        if (seed % 2 == 0) job.office.deliver_one();
      });
      job.office.deliver_all();
      EXPECT_EQ(has_left, std::vector<bool>(n_nodes, true));
    }
  }
}

TEST(Team, ManyCollectivesInFlightKeepTheirOrderAndTheirRoots) {
  for (std::uint64_t seed = 0; seed < n_seeds(50); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::uint32_t n_nodes = 1 + static_cast<std::uint32_t>(seed % 7);
    Job job(n_nodes, 2, seed);
    const std::uint64_t n = 2 * n_nodes;
    std::string all;
    for (std::uint64_t r = 0; r < n; ++r)
      all += static_cast<char>('a' + r);
    std::vector<int> n_done(n, 0);
    job.each_core([&](Port& port, Team& team, std::uint64_t rank) {
      const std::string mine(1, static_cast<char>('a' + rank));
      for (std::uint64_t i = 0; i < 10; ++i) {
        const std::uint64_t root = (i * 5 + seed) % n;
        const std::string word = "word " + std::to_string(i);
        team.async_broadcast(port, rank, root, rank == root ? text(word) : Bytes{},
                             [&, rank, word](Port&, const Bytes& got) {
                               EXPECT_EQ(text(got), word);
                               ++n_done[rank];
                             });
        team.async_reduce(port, rank, root, text(mine), concatenate,
                          [&, rank, root](Port&, const Bytes& got) {
                            EXPECT_EQ(text(got), rank == root ? all : "");
                            ++n_done[rank];
                          });
        team.async_gather(port, rank, root, text(mine),
                          [&, rank, root](Port&, const std::vector<Bytes>& parts) {
                            ASSERT_EQ(parts.size(), rank == root ? n : 0);
                            for (std::uint64_t r = 0; r < parts.size(); ++r) {
                              EXPECT_EQ(text(parts[r]), all.substr(r, 1));
                            }
                            ++n_done[rank];
                          });
        job.office.deliver_one();
      }
    });
    job.office.deliver_all();
    EXPECT_EQ(n_done, std::vector<int>(n, 30));
  }
}

TEST(Team, SplitTeamsWorkAtTheSameTimeAndHoldNoEntryForEachMember) {
  Job job(9, 4, 1);
  int n_done = 0;
  for (NodeId node = 0; node < 9; ++node) {
    Team& whole = job.nodes[node]->job();
    // Core 0 of each node, and the others.
    const auto parts = whole.split([](std::uint64_t rank) { return rank % 4 == 0 ? 7U : 8U; });
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts.at(7)->size(), 9U);
    EXPECT_EQ(parts.at(7)->cores().runs().size(), 1U);
    EXPECT_EQ(parts.at(8)->size(), 27U);
    for (const auto& [colour, team] : parts) {
      for (std::uint32_t i = 0; i < team->n_local(); ++i) {
        team->async_allreduce<std::uint64_t>(
            job.office.port(node), team->first_local_rank() + i, 1, std::plus<>{},
            [&, n = team->size()](Port&, const std::uint64_t& sum) {
              EXPECT_EQ(sum, n);
              ++n_done;
            });
      }
    }
    // A neighbour's messages may come before this node has split.
    if (node % 2 == 0) job.office.deliver_all();
  }
  job.office.deliver_all();
  EXPECT_EQ(n_done, 36);
}

TEST(Team, CallsThatDisagreeAreNamed) {
  Job job(2, 1, 0);
  job.nodes[0]->job().async_barrier(job.office.port(0), 0, [](Port&, const Bytes&) {});
  job.nodes[1]->job().async_allreduce<int>(job.office.port(1), 1, 1, std::plus<>{},
                                           [](Port&, const int&) {});
  try {
    job.office.deliver_all();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("node 1 calls allreduce (root 0), expected barrier"),
              std::string::npos)
        << error.what();
  }
}

TEST(Team, AFailureReachesEveryNodeOnce) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    Job job(11, 1, seed);
    std::vector<std::string> failures;
    for (auto& node : job.nodes) {
      node->job().set_on_failure([&](Port&, const Error& e) {
        EXPECT_EQ(e.code(), ExitCode::node_lost);
        failures.emplace_back(e.what());
      });
    }
    job.each_core([&](Port& port, Team& team, std::uint64_t rank) {
      team.async_barrier(port, rank, [](Port&, const Bytes&) { FAIL() << "failed team went on"; });
      if (rank == 4) team.async_fail(port, Error("node 4 was lost", ExitCode::node_lost));
    });
    job.office.deliver_all();
    EXPECT_EQ(failures, std::vector<std::string>(11, "node 4 was lost")) << "seed " << seed;
  }
}

// Barriers of core `rank`, the only one of its node.
void begin_barriers(Port& port, Team& team, std::uint64_t rank, std::size_t n,
                    std::size_t& n_done) {
  for (std::size_t i = 0; i < n; ++i)
    team.async_barrier(port, rank, [&n_done](Port&, const Bytes&) { ++n_done; });
}

// Two nodes, of which one may be one bound ahead of the other.
TEST(Team, AsManyCollectivesMayBeOpenAsItsBoundHasAndThoseOfNodesAheadAsWell) {
  Job job(2, 1, 0);
  std::size_t n_done = 0;
  for (int round = 0; round < 2; ++round) {
    begin_barriers(job.office.port(1), job.nodes[1]->job(), 1, kOpenCollectivesMax, n_done);
    job.office.deliver_all();
  }
  EXPECT_EQ(n_done, 0U);
  for (int round = 0; round < 2; ++round) {
    begin_barriers(job.office.port(0), job.nodes[0]->job(), 0, kOpenCollectivesMax, n_done);
    job.office.deliver_all();
  }
  EXPECT_EQ(n_done, 4 * kOpenCollectivesMax);
}

// A node splits off so many teams, and has as many barriers open in each as may be: one message to
// node 0 for each of those of node 1.
void begin_in_parts(Job& job, NodeId node, std::size_t n_parts, std::size_t& n_done) {
  std::vector<Team*> parts;
  for (std::size_t part = 0; part < n_parts; ++part)
    parts.push_back(job.nodes[node]->job().split([](std::uint64_t) { return 0U; }).at(0));
  for (Team* part : parts)
    begin_barriers(job.office.port(node), *part, node, kOpenCollectivesMax, n_done);
}

constexpr std::size_t kEarlyMost = 4'096;

TEST(Team, MessagesForPartsThatAreNotSplitOffYetAreKeptUpToTheirBound) {
  Job job(2, 1, 0);
  std::size_t n_done = 0;
  begin_in_parts(job, 1, kEarlyMost / kOpenCollectivesMax, n_done);
  EXPECT_EQ(job.office.n_sent(), kEarlyMost);
  job.office.deliver_all();
  EXPECT_EQ(n_done, 0U);
  begin_in_parts(job, 0, kEarlyMost / kOpenCollectivesMax, n_done);
  job.office.deliver_all();
  EXPECT_EQ(n_done, 2 * kEarlyMost);
}

#if !defined(__SANITIZE_THREAD__)
TEST(TeamDeathTest, OneCollectiveMoreThanMayBeOpenIsTold) {
  EXPECT_DEATH(
      {
        Job job(2, 1, 0);
        std::size_t n_done = 0;
        begin_barriers(job.office.port(1), job.nodes[1]->job(), 1, 2 * kOpenCollectivesMax + 1,
                       n_done);
      },
      "open_.size\\(\\) <= 2 \\* kOpenCollectivesMax.*129.*job");
}

TEST(TeamDeathTest, OneEarlyMessageMoreThanIsKeptIsTold) {
  EXPECT_DEATH(
      {
        Job job(2, 1, 0);
        std::size_t n_done = 0;
        begin_in_parts(job, 1, kEarlyMost / kOpenCollectivesMax, n_done);
        job.office.deliver_all();
        begin_in_parts(job, 1, 1, n_done);
        job.office.deliver_one();
      },
      "early_.size\\(\\) < kEarlyMessagesMax.*4096");
}
#endif

TEST(Team, TenThousandNodesTakeLittleMemoryEach) {
  const Teams teams(JobShape{9'999, 10'000, 64});
  // One run of cores, one of nodes, one counter for each core of this node.
  auto& team = const_cast<Teams&>(teams).job();
  EXPECT_EQ(team.cores().runs().size() + team.nodes().runs().size(), 2U);
  EXPECT_EQ(team.nodes().size(), 10'000U);
  EXPECT_EQ(team.n_local(), 64U);
  EXPECT_EQ(team.first_local_rank(), 9'999U * 64U);
}

}  // namespace
}  // namespace rubato::core

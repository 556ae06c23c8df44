// No node holds the global state: the peak memory of each of four processes is its share of what
// one process takes for all, with files written. Memory is counted, not time.

#include <algorithm>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

constexpr std::size_t kNodes = 4;
// A fourth, and room for what lies around a part.
constexpr double kShareMost = 0.4;
// While tuples move to another cut a node has what goes and what comes.
constexpr double kShareMostOfMoves = 0.5;
// Of the peak under policy bulk, or comtick, that under pieces, or asytick-plb.
constexpr double kPiecesMost = 1.3;

class PeakMemory : public ::testing::TestWithParam<std::string> {
 protected:
  ~PeakMemory() override { std::filesystem::remove_all(folder_); }

  // Of the node that held most. `figure` is one of the report of a run.
  [[nodiscard]] double peak_bytes(std::size_t n_nodes, const std::vector<std::string>& model,
                                  const char* figure = "peak_bytes") const {
    std::vector<std::string> words;
    if (n_nodes > 1) {
      words = {"launch", "-n", std::to_string(n_nodes), "--mpi", GetParam(), "--", RUBATO_PROGRAM};
    }
    words.emplace_back("run");
    words.insert(words.end(), model.begin(), model.end());
    words.insert(words.end(), {"--cores", "1", "--output", folder_, "--json"});
    const Answer answer = call(words);
    EXPECT_EQ(answer.code, 0) << answer.err;
    if (answer.code != 0) return 0;
    double most = 0;
    const auto json = nlohmann::json::parse(answer.out);
    for (const auto& node : json.at("nodes"))
      most = std::max(most, node.at(figure).get<double>());
    return most;
  }

  // `small` is what a node takes that has no state to speak of: code, libraries, buffers.
  void expect_share(const std::vector<std::string>& small, const std::vector<std::string>& large,
                    double most = kShareMost) {
    const double alone = peak_bytes(1, large) - peak_bytes(1, small);
    const double share = peak_bytes(kNodes, large) - peak_bytes(kNodes, small);
    RecordProperty("alone_bytes", std::to_string(alone));
    RecordProperty("share_bytes", std::to_string(share));
    // Else the state is too small to be told from its surroundings.
    EXPECT_GT(alone, 40e6);
    EXPECT_GT(share, 0);
    EXPECT_LT(share, most * alone);
  }

  // Policy pieces, of a job, is held against bulk: regions are at ticks that are further apart.
  void expect_pieces_like_bulk(const std::vector<std::string>& small,
                               const std::vector<std::string>& large) {
    expect_like("bulk", "pieces(2)", small, large, 1);
  }
  // The medians of so many runs each.
  void expect_like(const char* whole, const char* piecewise, const std::vector<std::string>& small,
                   const std::vector<std::string>& large, int n_runs) {
    const auto under = [&](const char* policy) {
      const auto with_policy = [&](std::vector<std::string> words) {
        words.insert(words.end(), {"--policy", policy});
        return words;
      };
      const double surroundings = peak_bytes(kNodes, with_policy(small));
      std::vector<double> runs;
      for (int run = 0; run < n_runs; ++run)
        runs.push_back(peak_bytes(kNodes, with_policy(large)) - surroundings);
      std::ranges::sort(runs);
      return runs[runs.size() / 2];
    };
    const double bulk = under(whole);
    const double pieces = under(piecewise);
    RecordProperty("bulk_bytes", std::to_string(bulk));
    RecordProperty("pieces_bytes", std::to_string(pieces));
    EXPECT_GT(bulk, 5e6);
    EXPECT_LT(pieces, kPiecesMost * bulk) << pieces / bulk;
  }

  const std::string folder_ = scratch("memory-" + GetParam());
};

TEST_P(PeakMemory, of_a_node_of_heat_is_its_share_of_the_state) {
  const auto heat = [](const std::string& side) {
    return std::vector<std::string>{"heat",    "--width", side,       "--height", side,
                                    "--ticks", "1",       "--format", "png,vtk"};
  };
  expect_share(heat("16"), heat("3000"));
}

TEST_P(PeakMemory, of_a_node_of_heat_with_replicas_is_its_share_of_the_state) {
  const auto heat = [](const std::string& side) {
    return std::vector<std::string>{"heat", "--width",  side,     "--height", side,     "--ticks",
                                    "4",    "--policy", "k3m3d2", "--format", "png,vtk"};
  };
  expect_share(heat("16"), heat("3000"));
}

TEST_P(PeakMemory, of_a_node_of_fish_is_its_share_of_the_school) {
  const auto fish = [](const std::string& n) {
    return std::vector<std::string>{"fish",     "--fish", n,          "--ticks", "2",
                                    "--policy", "k2m2d1", "--format", "csv"};
  };
  expect_share(fish("100"), fish("300000"));
}

TEST_P(PeakMemory, of_a_node_of_fish_that_move_at_epochs_is_its_share_of_the_school) {
  const auto fish = [](const std::string& n) {
    return std::vector<std::string>{"fish", "--fish",   n,        "--ticks",  "3",  "--epoch",
                                    "1",    "--policy", "k2m2d1", "--format", "csv"};
  };
  expect_share(fish("100"), fish("150000"), kShareMostOfMoves);
}

TEST_P(PeakMemory, of_a_node_of_traffic_is_its_share_of_the_streets) {
  const auto traffic = [](const std::string& n) {
    return std::vector<std::string>{"traffic", "--columns", n,       "--rows",   n,    "--ticks",
                                    "1",       "--policy",  "local", "--format", "csv"};
  };
  expect_share(traffic("8"), traffic("160"));
}

// The structure of the graph is whole on each node, and METIS works on it there; values are not.
TEST_P(PeakMemory, of_the_ranks_of_a_node_is_its_share_of_them) {
  const std::vector<std::string> pagerank{"pagerank", "--vertices", "40000", "--degree",
                                          "2",        "--ticks",    "1"};
  const double alone = peak_bytes(1, pagerank, "state_bytes");
  const double share = peak_bytes(kNodes, pagerank, "state_bytes");
  EXPECT_GT(alone, 1e6);
  EXPECT_GT(share, 0);
  EXPECT_LT(share, kShareMost * alone);
}

TEST_P(PeakMemory, of_a_node_of_heat_under_pieces_is_that_under_bulk) {
  const auto heat = [](const std::string& side) {
    return std::vector<std::string>{"heat",    "--width", side,       "--height", side,
                                    "--ticks", "4",       "--format", "png,vtk"};
  };
  expect_pieces_like_bulk(heat("16"), heat("3000"));
}

TEST_P(PeakMemory, of_a_node_of_fish_under_pieces_is_that_under_bulk) {
  const auto fish = [](const std::string& n) {
    return std::vector<std::string>{"fish", "--fish", n, "--ticks", "4", "--format", "csv"};
  };
  expect_pieces_like_bulk(fish("100"), fish("150000"));
}

TEST_P(PeakMemory, of_a_node_of_nbody_under_pieces_is_that_under_bulk) {
  const auto nbody = [](const std::string& n) {
    return std::vector<std::string>{"nbody", "--bodies", n, "--ticks", "4", "--format", "csv"};
  };
  expect_pieces_like_bulk(nbody("100"), nbody("150000"));
}

// With the graph, which each node has whole.
TEST_P(PeakMemory, of_a_node_of_pagerank_under_pieces_is_that_under_bulk) {
  const auto pagerank = [](const std::string& n) {
    return std::vector<std::string>{"pagerank", "--vertices",  n,  "--ticks",
                                    "4",        "--tolerance", "0"};
  };
  expect_pieces_like_bulk(pagerank("100"), pagerank("30000"));
}

// Pieces that move, messages of them that wait for others, and what lies in inboxes are in it as well. What
// pieces cost is measured, on cores that others use too: now and then a node holds more of them than it should.
std::vector<std::string> of_moving_pieces(std::vector<std::string> words) {
  words.insert(words.end(), {"--ticks", "24", "--epoch", "8", "--pieces", "64"});
  return words;
}

TEST_P(PeakMemory, of_a_node_of_nbody_under_asytick_plb_is_that_under_comtick) {
  const auto bodies = [](const std::string& n) {
    return of_moving_pieces({"nbody", "--clusters", "2", "--bodies", n, "--format", "csv"});
  };
  expect_like("comtick", "asytick-plb", bodies("1000"), bodies("60000"), 3);
}

TEST_P(PeakMemory, of_a_node_of_fish_under_asytick_plb_is_that_under_comtick) {
  const auto fish = [](const std::string& n) {
    return of_moving_pieces({"fish", "--fish", n, "--format", "csv"});
  };
  expect_like("comtick", "asytick-plb", fish("1000"), fish("150000"), 3);
}

TEST_P(PeakMemory, of_a_node_of_heat_under_asytick_plb_is_that_under_comtick) {
  const auto heat = [](const std::string& side) {
    return of_moving_pieces({"heat", "--width", side, "--height", side, "--format", "png,vtk"});
  };
  expect_like("comtick", "asytick-plb", heat("32"), heat("2000"), 3);
}

// What a node holds is the same under each of them, and the figures are those of its processes: the
// last one alone, which is quicker to start.
std::vector<std::string> one_mpi() {
  std::vector<std::string> all = installed_mpis();
  if (all.size() > 1) all.erase(all.begin(), all.end() - 1);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Mpi, PeakMemory, ::testing::ValuesIn(one_mpi()),
                         [](const auto& mpi) { return mpi.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PeakMemory);

}  // namespace
}  // namespace rubato::tools

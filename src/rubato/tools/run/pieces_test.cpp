// `rubato run` of models that are cut into pieces: the systems of [AsyTick 5], pieces that move, and
// what is told of skew.

#include <algorithm>
#include <optional>
#include <sstream>

#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

std::string checksum_of(const std::vector<std::string>& words) {
  return json_of(words).at("checksum");
}

TEST(RunPieces, PiecesOfGraphsMoveAndKeepTheirBits) {
  const std::vector<std::string> pagerank{"run", "pagerank", "--vertices", "2000", "--ticks", "24"};
  const std::vector<std::string> jacobi{"run", "jacobi", "--rows", "900", "--ticks", "24"};
  for (const auto* each : {&pagerank, &jacobi}) {
    const auto& model = *each;
    SCOPED_TRACE(model[1]);
    const std::string one = checksum_of(with(model, {"--policy", "local", "--cores", "1"}));
    const auto pieces = [&](const char* policy, const std::vector<std::string>& more) {
      return with(with(model, {"--policy", policy, "--pieces", "64", "--profile", "ec2-large"}),
                  more);
    };
    for (const char* system : {"comtick", "asytick-plb", "k2m1d1"}) {
      const auto json =
          json_of(pieces(system, {"--simulate", "4", "--epoch", "5", "--balance", "persistence"}));
      EXPECT_EQ(json.at("checksum"), one) << system;
      // The rows of a plate cost alike, the pages of a web do not.
      if (&model == &pagerank) {
        EXPECT_GT(json.at("pieces_moved"), 0) << system;
      }
      EXPECT_EQ(json.at("skew").at("ticks"), 24) << system;
    }
    EXPECT_EQ(checksum_of(pieces("asytick-plb", {"--simulate", "7", "--epoch", "3"})), one);
  }
  const Answer few = call({"run", "pagerank", "--vertices", "50", "--ticks", "2", "--policy",
                           "asytick", "--pieces", "3", "--simulate", "4"});
  EXPECT_EQ(few.code, 2);
  EXPECT_NE(few.err.find("pieces: expected at least one a node, found 3 in all"), std::string::npos)
      << few.err;
}

// One node is slow, so that pieces move; under a policy with replicas as under those of pieces.
TEST(RunPieces, PiecesOfGridsAndGeneralModelsMoveAndKeepTheirBits) {
  const std::vector<std::string> heat{"run",     "heat", "--width",       "60",   "--height", "50",
                                      "--ticks", "24",   "--ns-per-cell", "2000", "--edge",   "3"};
  const std::vector<std::string> traffic{"run",    "traffic", "--columns", "9",
                                         "--rows", "7",       "--ticks",   "24"};
  for (const auto& model : {heat, traffic}) {
    SCOPED_TRACE(model[1]);
    const std::string one = checksum_of(with(model, {"--cores", "1"}));
    const auto pieces = [&](const char* policy, const std::vector<std::string>& more) {
      return with(with(model, {"--policy", policy, "--pieces", "60", "--profile", "ec2-large",
                               "--slowdown", "4@1"}),
                  more);
    };
    for (const char* still : {"oritick", "asytick"})
      EXPECT_EQ(checksum_of(pieces(still, {"--simulate", "4"})), one) << still;
    for (const char* system : {"comtick", "asytick-plb", "k2m1d1"}) {
      const auto json =
          json_of(pieces(system, {"--simulate", "4", "--epoch", "5", "--balance", "persistence"}));
      EXPECT_EQ(json.at("checksum"), one) << system;
      EXPECT_GT(json.at("pieces_moved"), 0) << system;
      EXPECT_EQ(json.at("skew").at("ticks"), 24) << system;
    }
    EXPECT_EQ(checksum_of(pieces("asytick-plb", {"--simulate", "7", "--epoch", "3"})), one);
    EXPECT_EQ(checksum_of(
                  pieces("auto", {"--simulate", "3", "--epoch", "5", "--balance", "persistence"})),
              one);
  }
}

// Bodies of clusters cost more than others; one node has a core less time for them.
TEST(RunPieces, StepsAreLentAndKeepTheirBits) {
  const std::vector<std::string> nbody{
      "run",  "nbody",   "--bodies", "4000",      "--clusters", "2",        "--ns-per-pair",
      "2000", "--ticks", "24",       "--profile", "ec2-large",  "--policy", "asytick-lend"};
  const std::string one =
      checksum_of({"run", "nbody", "--bodies", "4000", "--clusters", "2", "--ticks", "24"});
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--balance", "none"}, {"--epoch", "5"}}) {
    const std::vector<std::string> run =
        with(with(nbody, {"--simulate", "4", "--slowdown", "4@1", "--pieces", "64"}), more);
    const auto json = json_of(run);
    EXPECT_EQ(json.at("checksum"), one);
    EXPECT_EQ(json.at("system"),
              more[0] == "--balance" ? "asytick-lend, balance none" : "asytick-lend");
    std::int64_t n_lent = 0;
    for (const auto& node : json.at("nodes"))
      n_lent += node.at("steps_lent").get<std::int64_t>();
    EXPECT_GT(n_lent, 0) << json;
    const Answer text = call(run);
    EXPECT_NE(text.err.find("lent: " + std::to_string(n_lent) + " of "), std::string::npos)
        << text.err;
  }
  const Answer heat = call({"run", "heat", "--ticks", "4", "--policy", "asytick-lend"});
  EXPECT_EQ(heat.code, 2);
  EXPECT_NE(heat.err.find("the steps of this model cannot be run by other nodes"),
            std::string::npos)
      << heat.err;
}

// In virtual time, and where all nodes are as fast, so that nothing is to be gained.
TEST(RunPieces, NobodyStopsForEpochs) {
  const std::vector<std::string> fish{"run",       "fish",      "--fish",   "2000",       "--ticks",
                                      "300",       "--seed",    "3",        "--simulate", "4",
                                      "--profile", "ec2-large", "--policy", "asytick-plb"};
  const auto rate = [&](const char* epoch) {
    return json_of(with(fish, {"--epoch", epoch})).at("ticks_per_second").get<double>();
  };
  const double without = rate("0");
  EXPECT_GT(rate("50"), 0.95 * without);
  EXPECT_GT(rate("25"), 0.95 * without);
}

// One node is slow, so that there is something to move.
TEST(RunPieces, BalanceNoneMovesNothing) {
  const std::vector<std::string> fish{"run",     "fish",       "--fish",     "600",      "--ticks",
                                      "24",      "--simulate", "3",          "--pieces", "32",
                                      "--epoch", "5",          "--slowdown", "4@1"};
  const std::string one = checksum_of({"run", "fish", "--fish", "600", "--ticks", "24"});
  for (const char* system : {"comtick", "asytick-plb"}) {
    const auto balanced = json_of(with(fish, {"--policy", system}));
    EXPECT_GT(balanced.at("pieces_moved"), 0) << system;
    const auto still = json_of(with(fish, {"--policy", system, "--balance", "none"}));
    EXPECT_EQ(still.at("epochs"), 0) << system;
    EXPECT_EQ(still.at("pieces_moved"), 0) << system;
    EXPECT_EQ(still.at("bytes_moved"), 0) << system;
    EXPECT_EQ(still.at("balance"), "none") << system;
    EXPECT_EQ(still.at("system"), std::string(system) + ", balance none");
    EXPECT_EQ(still.at("checksum"), one) << system;
  }
  // Policy auto has epochs for other things.
  const auto tuned = json_of(with(fish, {"--policy", "auto", "--balance", "none"}));
  EXPECT_EQ(tuned.at("pieces_moved"), 0);
  EXPECT_EQ(tuned.at("bytes_moved"), 0);
  EXPECT_EQ(tuned.at("checksum"), one);
}

TEST(RunPieces, BalanceRepartitionCutsAnewAtEpochsWithTheSameBits) {
  const std::vector<std::string> fish{"run",     "fish", "--fish",     "600",
                                      "--ticks", "24",   "--simulate", "3",
                                      "--epoch", "5",    "--balance",  "repartition"};
  const std::string one = checksum_of({"run", "fish", "--fish", "600", "--ticks", "24"});
  const std::vector<std::vector<std::string>> systems{{},
                                                      {"--policy", "k2m1d1", "--pieces", "32"},
                                                      {"--policy", "comtick"},
                                                      {"--policy", "asytick"}};
  for (const auto& system : systems) {
    const auto json = json_of(with(fish, system));
    EXPECT_EQ(json.at("balance"), "repartition") << json;
    EXPECT_EQ(json.at("epochs"), 4) << json;  // at ticks 5, 10, 15 and 20
    EXPECT_GT(json.at("bytes_moved"), 0) << json;
    // A cut into parts, one a node: no piece goes from one to another.
    EXPECT_EQ(json.at("pieces_moved"), 0) << json;
    EXPECT_EQ(json.at("checksum"), one) << json;
  }
  // Without the word for how often: as of all that balances.
  const auto usual = json_of({"run", "fish", "--fish", "200", "--ticks", "60", "--simulate", "3",
                              "--balance", "repartition"});
  EXPECT_EQ(usual.at("epoch"), 50);
  EXPECT_EQ(usual.at("epochs"), 1);
}

TEST(RunPieces, BalanceRepartitionOfAModelThatCannotBeCutAgainIsAUsageError) {
  for (const char* model : {"pagerank", "jacobi", "traffic"}) {
    for (const char* policy : {"local", "asytick-plb"}) {
      const Answer answer = call({"run", model, "--ticks", "24", "--simulate", "3", "--epoch", "5",
                                  "--policy", policy, "--balance", "repartition"});
      EXPECT_EQ(answer.code, 2) << model << " " << answer.out;
      EXPECT_NE(answer.err.find("balance repartition: this model cannot be cut again while it "
                                "runs; expected persistence, which moves pieces, or none"),
                std::string::npos)
          << answer.err;
    }
  }
}

// A row of the table of the run along its ticks: means of two ticks here, six of them.
void expect_row_by_tick(const std::string& err, const std::string& name,
                        const std::vector<double>& by_tick) {
  const std::size_t at = err.find("skew:   " + name);
  ASSERT_NE(at, std::string::npos) << err;
  std::istringstream row(
      err.substr(at + 8 + name.size(), err.find('\n', at) - at - 8 - name.size()));
  for (std::size_t i = 0; i < by_tick.size(); i += 2) {
    double shown = -1;
    row >> shown;
    EXPECT_NEAR(shown, (by_tick[i] + by_tick[i + 1]) / 2, 0.00501) << name << " from tick " << i;
  }
  std::string rest;
  EXPECT_FALSE(row >> rest) << rest;
}

TEST(RunPieces, TellsHowPiecesLayOnNodes) {
  const std::vector<std::string> pieces{"run",      "nbody", "--bodies",   "500",
                                        "--ticks",  "12",    "--policy",   "asytick",
                                        "--pieces", "16",    "--simulate", "3"};
  const auto json = json_of(pieces);
  const auto& skew = json.at("skew");
  EXPECT_EQ(skew.at("begin"), 0);
  EXPECT_EQ(skew.at("ticks"), 12);
  EXPECT_EQ(skew.at("stride"), 1);
  for (const char* kind : {"computation", "communication"}) {
    const auto& of = skew.at(kind);
    const std::vector<double> by_tick = of.at("by_tick");
    ASSERT_EQ(by_tick.size(), 12U) << kind;
    EXPECT_EQ(of.at("worst"), by_tick.at(of.at("worst_tick"))) << kind;
    // Bodies do not lie evenly, and no node of three has more than all.
    for (const double lambda : by_tick) {
      EXPECT_GE(lambda, 0) << kind;
      EXPECT_LE(lambda, 2.000001) << kind;
    }
    EXPECT_GT(of.at("worst"), 0) << kind;
    EXPECT_GE(of.at("mean"), *std::ranges::min_element(by_tick)) << kind;
    EXPECT_LE(of.at("mean"), *std::ranges::max_element(by_tick)) << kind;
  }
  EXPECT_EQ(skew.at("completion").size(), 5U);
  const double even = skew.at("even_s");
  const double barriers = skew.at("barriers_s");
  const double span = skew.at("span_s");
  EXPECT_TRUE(0 < even && even < barriers && even < span) << skew;
  EXPECT_DOUBLE_EQ(skew.at("absorbed"), (barriers - span) / (barriers - even));
  EXPECT_LE(skew.at("computation").at("worst_tick"), 6);
  const Answer answer = call(pieces);
  for (const char* words : {"skew: of stepping, lambda_L ", "; of messages, lambda_C ",
                            " of stepping ran ahead of inputs that were missing\n",
                            " s with a barrier at each tick; the run took ", ": skew absorbed ",
                            " of the steps of the 5 ticks after it were too\n"})
    EXPECT_NE(answer.err.find(words), std::string::npos) << words << " in " << answer.err;
  expect_row_by_tick(answer.err, "lambda_L", skew.at("computation").at("by_tick"));
  expect_row_by_tick(answer.err, "lambda_C", skew.at("communication").at("by_tick"));
}

// Of a network whose messages are late now and then, the node that waits for one has more of them to bear.
TEST(RunPieces, CommunicationIsLateWhereTheNetworkIs) {
  const auto lambda_of = [](const char* profile) {
    const auto json = json_of({"run", "fish", "--fish", "2000", "--ticks", "60", "--simulate", "4",
                               "--policy", "asytick", "--profile", profile});
    return json.at("skew").at("communication").at("mean").get<double>();
  };
  const double with_spikes = lambda_of("const, base=200, spike-prob=0.02");
  EXPECT_GT(with_spikes, 0.5);
  EXPECT_GT(with_spikes, 2 * lambda_of("const, base=200"));
}

TEST(RunPieces, TellsNoSkewWhereThereIsNone) {
  const std::vector<std::string> nbody{"run", "nbody", "--bodies", "200", "--ticks", "5"};
  // Without pieces; and on one node, which is as even as it can be.
  EXPECT_FALSE(json_of(with(nbody, {"--simulate", "3"})).contains("skew"));
  const std::vector<std::string> alone = with(nbody, {"--policy", "asytick", "--cores", "1"});
  EXPECT_FALSE(json_of(alone).contains("skew"));
  EXPECT_EQ(call(alone).err.find("skew"), std::string::npos);
}

// Bodies in clusters: a piece has more than what a node's share is.
TEST(RunPieces, ThatNobodyHasCountedBecomeSmallerWhereOneHoldsANodeUp) {
  const std::vector<std::string> run{"run",        "nbody",     "--bodies",  "8000",
                                     "--clusters", "2",         "--ticks",   "120",
                                     "--simulate", "8",         "--epoch",   "20",
                                     "--policy",   "pieces(8)", "--balance", "persistence"};
  const auto chosen = json_of(run);
  const std::uint32_t first = chosen.at("pieces");
  EXPECT_GE(chosen.at("pieces_at_end"), 2 * first);
  const auto given = json_of(with(run, {"--pieces", std::to_string(first)}));
  EXPECT_EQ(given.at("pieces"), first);
  EXPECT_EQ(given.at("pieces_at_end"), first);
  EXPECT_EQ(given.at("checksum"), chosen.at("checksum"));
  EXPECT_GT(chosen.at("ticks_per_second").get<double>(),
            1.2 * given.at("ticks_per_second").get<double>());
  const std::string words =
      "pieces: " + std::to_string(first) + ", " +
      std::to_string(chosen.at("pieces_at_end").get<std::uint32_t>()) +
      " at the end, chosen for 8 cores in all, the size of the model and what "
      "pieces cost; --pieces says another number\n";
  const Answer text = call(run);
  EXPECT_NE(text.err.find(words), std::string::npos) << text.err;
  // Where all cost alike they stay.
  const auto even = json_of({"run", "fish", "--fish", "4000", "--ticks", "120", "--simulate", "4",
                             "--epoch", "20", "--policy", "pieces(8)", "--balance", "persistence"});
  EXPECT_EQ(even.at("pieces_at_end"), even.at("pieces"));
}

// What is compared steps the same pieces, though some of them would gain by others.
TEST(RunPieces, OfTheSystemsAreAndStayAsMany) {
  std::optional<std::uint32_t> n_pieces;
  for (const char* system : {"oritick", "comtick", "asytick", "asytick-plb", "asytick-lend"}) {
    const auto run = json_of({"run", "nbody", "--bodies", "8000", "--clusters", "2", "--ticks",
                              "60", "--simulate", "8", "--epoch", "20", "--policy", system});
    const std::uint32_t n = run.at("pieces");
    EXPECT_EQ(n, n_pieces.value_or(n)) << system;
    EXPECT_EQ(run.at("pieces_at_end"), n) << system;
    n_pieces = n;
  }
}

// Of more pieces than a small school has room for, none has a fish that sees no other piece, and the
// asynchronous part is nothing.
TEST(RunPieces, ThatNobodyHasCountedAreWideEnough) {
  const std::vector<std::string> fish{"run", "fish",       "--fish", "4000",      "--ticks",
                                      "30",  "--simulate", "4",      "--profile", "ec2-large"};
  const auto chosen = json_of(with(fish, {"--policy", "asytick"}));
  EXPECT_GE(chosen.at("skew").at("asynchronous_share"), 0.4);
  EXPECT_GE(chosen.at("pieces"), 8);
  EXPECT_LE(chosen.at("pieces"), 64);
  EXPECT_GE(chosen.at("ticks_per_second"),
            json_of(with(fish, {"--policy", "local"})).at("ticks_per_second"));
  const Answer told = call(with(fish, {"--policy", "asytick"}));
  const std::string line =
      "pieces: " + chosen.at("pieces").dump() + ", chosen for 4 cores in all and the size";
  EXPECT_NE(told.err.find(line), std::string::npos) << told.err;
  const Answer said = call(with(fish, {"--policy", "asytick", "--pieces", "64"}));
  EXPECT_NE(said.err.find("pieces: 64\n"), std::string::npos) << said.err;
  const Answer many = call(with(fish, {"--policy", "asytick", "--pieces", "1000000"}));
  EXPECT_NE(many.err.find(" in place of 1000000: this model has no room for more\n"),
            std::string::npos)
      << many.err;
}

TEST(RunPieces, SaysThatARunIsShorterThanAnEpoch) {
  const std::vector<std::string> fish{"run",     "fish", "--fish",     "600",
                                      "--ticks", "30",   "--simulate", "3"};
  const Answer brief = call(with(fish, {"--policy", "asytick-plb"}));
  EXPECT_NE(
      brief.err.find("epochs: none, so nothing was balanced: the first is at tick 50, and the "
                     "run ended at tick 30; --epoch says how many ticks apart they are, here "
                     "50\n"),
      std::string::npos)
      << brief.err;
  const Answer still = call(with(fish, {"--policy", "asytick", "--epoch", "10"}));
  EXPECT_NE(still.err.find("epochs: none, since balance is none\n"), std::string::npos)
      << still.err;
  const Answer help = call({"run", "fish", "--help"});
  EXPECT_NE(help.out.find("Default: 50 of comtick"), std::string::npos) << help.out;
}

TEST(RunPieces, TellsTheSystemThatWasAskedFor) {
  const std::vector<std::string> fish{"run",     "fish", "--fish",     "600",
                                      "--ticks", "9",    "--simulate", "3"};
  const auto plb = json_of(with(fish, {"--policy", "asytick-plb", "--pieces", "16"}));
  EXPECT_EQ(plb.at("system"), "asytick-plb");
  EXPECT_EQ(plb.at("policy"), "pieces(8)");
  EXPECT_EQ(plb.at("pieces"), 16);
  EXPECT_EQ(plb.at("balance"), "persistence");
  EXPECT_EQ(plb.at("epoch"), 50);
  const auto local = json_of(fish);
  EXPECT_EQ(local.at("system"), "");
  EXPECT_EQ(local.at("pieces"), 0);
  EXPECT_EQ(local.at("balance"), "none");
  const Answer comtick = call(with(fish, {"--policy", "comtick"}));
  EXPECT_TRUE(comtick.out.starts_with("fish comtick (bulk): 9 ticks")) << comtick.out;
}

}  // namespace
}  // namespace rubato::tools

// The contract of Fabric on every fabric that needs no launcher; mpi/conformance_nodes_test.cpp
// holds the MPI fabrics against the same plans.

#include <memory>

#include <gtest/gtest.h>

#include "rubato/net/delay.hpp"
#include "rubato/net/local.hpp"
#include "rubato/net/sim.hpp"
#include "rubato/net/testing/player.hpp"

namespace rubato::net {
namespace {

using testing::Plan;
using testing::Player;

constexpr std::size_t kLarge = 20'000'000;
const std::vector<std::size_t> kSizes = {0, 1, 7, 8, 0, 4095, 65'536, 270'335, 270'336, 270'337, 0};

// All nodes of a simulated network in turns; returns the first fault.
std::string play_simulated(SimNetwork& net, const Plan& plan, std::size_t* bytes_at_refusal) {
  std::vector<std::unique_ptr<Player>> players;
  for (NodeId n = 0; n < net.n_nodes(); ++n) {
    players.push_back(std::make_unique<Player>(net.fabric(n)));
    players.back()->begin(plan);
  }
  std::uint64_t n_idle_rounds = 0;
  while (true) {
    bool done = true;
    for (const auto& player : players) {
      done &= player->step();
      if (!player->fault().empty()) return player->fault();
    }
    if (bytes_at_refusal != nullptr) *bytes_at_refusal = players[0]->bytes_at_refusal();
    if (done) break;
    n_idle_rounds = net.step() ? 0 : n_idle_rounds + 1;
    if (n_idle_rounds > plan.n_deaf_steps + 10'000) return "nothing happens any more";
  }
  net.run();
  for (NodeId n = 0; n < net.n_nodes(); ++n) {
    if (!net.fabric(n).drained()) return "not drained";
  }
  return "";
}

SimOptions sim_options(std::uint32_t n_nodes, const std::string& profile, std::uint64_t seed) {
  SimOptions options;
  options.n_nodes = n_nodes;
  options.profile = parse_profile(profile);
  options.seed = seed;
  return options;
}

TEST(Conformance, SimDeliversRandomMessagesInOrder) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 7);
    auto options = sim_options(n_nodes, seed % 2 == 0 ? "ec2-small,rate=1000" : "none", seed);
    options.pair_bytes_max = 10'000;
    options.shuffle_ties = seed % 3 == 0;
    SimNetwork net(options);
    EXPECT_EQ(play_simulated(net, testing::random_plan(seed, n_nodes, 200, 5000), nullptr), "")
        << "seed " << seed;
  }
}

TEST(Conformance, SimDeliversEverySizeFromAllToAll) {
  SimNetwork net(sim_options(3, "ec2-large", 1));
  EXPECT_EQ(play_simulated(net, testing::all_to_all_plan(1, 3, kSizes), nullptr), "");
  SimNetwork large(sim_options(2, "const,rate=1000", 1));
  EXPECT_EQ(play_simulated(large, testing::all_to_all_plan(2, 2, {kLarge, 0}), nullptr), "");
}

TEST(Conformance, SimPushesBackAtItsBound) {
  auto options = sim_options(2, "const", 1);
  options.pair_bytes_max = 1 << 20;
  SimNetwork net(options);
  std::size_t at_refusal = 0;
  EXPECT_EQ(play_simulated(net, testing::flood_plan(1, 2, 64, 100'000, 100), &at_refusal), "");
  EXPECT_LE(at_refusal, std::size_t{1} << 20);
}

TEST(Conformance, LocalDeliversEverythingToItself) {
  LocalFabric fabric(1 << 20);
  Player player(fabric);
  EXPECT_EQ(testing::play(player, fabric, testing::random_plan(1, 1, 2000, 5000)), "");
  EXPECT_EQ(testing::play(player, fabric, testing::all_to_all_plan(2, 1, kSizes)), "");
  EXPECT_EQ(testing::play(player, fabric, testing::all_to_all_plan(3, 1, {kLarge, 0})), "");
}

TEST(Conformance, LocalPushesBackAtItsBound) {
  LocalFabric fabric(1 << 20);
  Player player(fabric);
  EXPECT_EQ(testing::play(player, fabric, testing::flood_plan(1, 1, 64, 100'000, 10)), "");
  EXPECT_LE(player.bytes_at_refusal(), std::size_t{1} << 20);
}

TEST(Conformance, DelayDeliversEverythingInRealTime) {
  DelayOptions options;
  options.profile = parse_profile("ec2-large,rate=10000,stall=0:0:5:1");
  DelayFabric fabric(std::make_unique<LocalFabric>(1 << 20), options);
  Player player(fabric);
  EXPECT_EQ(testing::play(player, fabric, testing::random_plan(1, 1, 500, 5000)), "");
  EXPECT_EQ(testing::play(player, fabric, testing::all_to_all_plan(2, 1, kSizes)), "");
  EXPECT_EQ(testing::play(player, fabric, testing::all_to_all_plan(3, 1, {kLarge, 0})), "");
}

TEST(Conformance, DelayPushesBackAtTheBoundOfItsInnerFabric) {
  DelayOptions options;
  options.profile = parse_profile("const");
  DelayFabric fabric(std::make_unique<LocalFabric>(1 << 20), options);
  Player player(fabric);
  EXPECT_EQ(testing::play(player, fabric, testing::flood_plan(1, 1, 64, 100'000, 10)), "");
  EXPECT_LE(player.bytes_at_refusal(), std::size_t{1} << 20);
}

// A fabric with a fault of its own, to show that the players see it.
class Faulty final : public Fabric {
 public:
  enum class Kind { loses, reorders, corrupts };
  explicit Faulty(Kind kind) : kind_(kind) {}
  [[nodiscard]] NodeId node() const noexcept override { return 0; }
  [[nodiscard]] std::uint32_t n_nodes() const noexcept override { return 1; }
  [[nodiscard]] bool try_send(NodeId, Bytes& bytes) noexcept override {
    if (++n_ == 50) {
      if (kind_ == Kind::corrupts) bytes.back() ^= std::byte{1};
      if (kind_ == Kind::loses) return true;
      if (kind_ == Kind::reorders) return late_ = std::exchange(bytes, {}), true;
    }
    const bool taken = inner_.try_send(0, bytes);
    if (n_ > 50 && !late_.empty()) (void)inner_.try_send(0, late_);
    return taken;
  }
  [[nodiscard]] bool poll(Arrival& arrival) noexcept override { return inner_.poll(arrival); }
  [[nodiscard]] bool drained() const noexcept override { return true; }
  [[nodiscard]] std::string host(NodeId) const override { return "faulty"; }
  [[noreturn]] void abort(int code, const std::string& message) noexcept override {
    inner_.abort(code, message);
  }

 private:
  Kind kind_;
  int n_ = 0;
  Bytes late_;
  LocalFabric inner_;
};

TEST(Conformance, ThePlayersSeeLossReorderingAndCorruption) {
  for (const auto kind : {Faulty::Kind::loses, Faulty::Kind::reorders, Faulty::Kind::corrupts}) {
    Faulty fabric(kind);
    Player player(fabric);
    EXPECT_NE(testing::play(player, fabric, testing::flood_plan(1, 1, 100, 24, 0), kSecond), "");
  }
}

}  // namespace
}  // namespace rubato::net

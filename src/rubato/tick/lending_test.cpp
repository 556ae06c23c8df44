// Steps that are lent (dataflow_lending.cpp): the protocol message by message, and what it gains.

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/tick/points/points_model.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tick/testing/order_watch.hpp"

namespace rubato::tick {
namespace {

using detail::MessageHeader;
using detail::MessageType;

// The steps of region 1 are long.
class LendingBook final : public testing::BookStore {
 public:
  using BookStore::BookStore;

  [[nodiscard]] bool lends() const override { return true; }
  [[nodiscard]] bool interacts() const override { return false; }
  bool step_or_lend(RegionId region, Tick t, std::uint32_t core, Nanos least,
                    Writer& out) override {
    constexpr Nanos kLong = 500;
    if (region != 1 || kLong < least) {
      step(region, t, core);
      return false;
    }
    out.put(std::uint64_t{region});
    return true;
  }
  Nanos step_lent(ByteView lent, std::uint32_t /*core*/, Writer& out) override {
    out.put(Reader(lent).get<std::uint64_t>() + 1);
    return 7;
  }
  void take_back(RegionId region, Tick t, ByteView result, std::uint32_t core) override {
    EXPECT_EQ(Reader(result).get<std::uint64_t>(), std::uint64_t{region} + 1);
    step(region, t, core);
  }
};

// What is sent to the other node; the clock stands but for what a test adds.
class Sent final : public core::Port {
 public:
  void send(core::NodeId to, Bytes bytes) override {
    EXPECT_EQ(to, 1U);
    messages.push_back(std::move(bytes));
  }
  void wake_at(Nanos) override {}
  [[nodiscard]] Nanos now() const noexcept override { return time; }

  Nanos time = 0;
  std::vector<Bytes> messages;
};

MessageHeader header_of(const Bytes& bytes) {
  MessageHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

// Pieces 0 to 2 are read by the other node, 0 reads what it has; 3 lies inside.
class Lending : public ::testing::Test {
 protected:
  Lending() { flow_.start(port_); }

  static Dataflow::Options options() {
    Dataflow::Options options{.ticks = 100};
    options.lending = {true, Nanos{100}};
    return options;
  }

  // Runs the next work, which takes `took`: its name and what it has sent.
  std::string run(Nanos took = 200) {
    core::Work work;
    if (!flow_.next_work(0, work)) return "";
    flow_.run(work, 0);
    cost_ = flow_.cost(work);
    name_ = flow_.work_name(work);
    static const std::vector<std::string> kKinds{"step", "",         "pack", "unpack",    "",
                                                 "",     "run lent", "back", "offer help"};
    std::string text = kKinds.at(work.kind);
    if (work.kind != offer_help && work.kind != pack_round && work.kind != unpack_round)
      text += " " + std::to_string(work.index) + "@" + std::to_string(work.tick);
    const std::size_t n_sent = port_.messages.size();
    port_.time += took;
    work.took = took;
    flow_.on_finished(port_, work);
    for (std::size_t i = n_sent; i < port_.messages.size(); ++i)
      text += ", sends " + name_of(header_of(port_.messages[i]).type);
    return text;
  }
  static std::string name_of(MessageType type) {
    switch (type) {
      case MessageType::offer:
        return "offer";
      case MessageType::declined:
        return "declined";
      case MessageType::lent:
        return "lent";
      case MessageType::returned:
        return "returned";
      case MessageType::all_back:
        return "all back";
      case MessageType::pieces:
        return "pieces";
      default:
        return "another";
    }
  }
  void receive(MessageType type, Tick t, std::uint32_t detail = 0) {
    Writer out;
    out.put(MessageHeader{type, detail, t});
    flow_.on_message(port_, 1, out.take());
  }
  void receive_piece(Tick t) {
    Writer out;
    out.put(MessageHeader{MessageType::pieces, 1, t});
    out.put(std::uint64_t{0});
    out.put(t);
    out.put(std::uint64_t{0});
    flow_.on_message(port_, 1, out.take());
  }
  // What the other node makes of the last message, which has lent it a step.
  Bytes result() const {
    Bytes bytes = port_.messages.back();
    MessageHeader header = header_of(bytes);
    header.type = MessageType::returned;
    std::memcpy(bytes.data(), &header, sizeof header);
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + bytes.size() - sizeof value, sizeof value);
    ++value;
    std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
    const Nanos took = 350;
    std::memcpy(bytes.data() + sizeof header + sizeof(Nanos), &took, sizeof took);
    return bytes;
  }

  Plan plan_ =
      testing::plan_beside_one(Policy::parse("pieces(6)"), {{0, 4}, {1}, {2}, {3}}, {0, 1, 2});
  LendingBook store_{plan_};
  Dataflow flow_{plan_, store_, options()};
  Sent port_;
  Nanos cost_ = 0;    // of the last work
  std::string name_;  // its name for people
};

TEST_F(Lending, without_an_offer_everything_is_stepped_here) {
  std::vector<std::string> all;
  for (std::string next = run(); !next.empty() && all.size() < 5; next = run())
    all.push_back(next);
  EXPECT_EQ(all, (std::vector<std::string>{"step 0@0", "step 1@0", "step 2@0", "pack, sends pieces",
                                           "step 3@0"}));
}

TEST_F(Lending, a_long_step_is_lent_to_who_has_offered_and_its_version_comes_back) {
  EXPECT_EQ(run(100'000), "step 0@0");
  receive(MessageType::offer, 1);
  EXPECT_EQ(run(), "step 1@0, sends lent");
  EXPECT_EQ(cost_, 1);  // of a copy: nothing was stepped
  EXPECT_FALSE(store_.has(1, 1));
  EXPECT_EQ(header_of(port_.messages.back()).tick, 1);
  EXPECT_EQ(flow_.figures().steps_lent, 1);
  const Bytes back = result();
  // The offer is used up.
  EXPECT_EQ(run(), "step 2@0");
  EXPECT_EQ(run(), "step 3@0");
  flow_.on_message(port_, 1, back);
  EXPECT_TRUE(flow_.more_work());
  EXPECT_EQ(run(), "back 1@0");
  EXPECT_EQ(name_, "taking back region 1 from tick 0");
  EXPECT_TRUE(store_.has(1, 1));
  EXPECT_EQ(flow_.own_tick(), 1);
  EXPECT_EQ(run(), "pack, sends pieces");
  EXPECT_EQ(run(), "step 1@1");
}

TEST_F(Lending, a_short_step_is_not_lent_and_leaves_the_offer_for_the_next) {
  EXPECT_EQ(run(100'000), "step 0@0");
  EXPECT_EQ(run(100'000), "step 1@0");
  receive(MessageType::offer, 1);
  EXPECT_EQ(run(), "step 2@0");
  EXPECT_EQ(run(), "pack, sends pieces");
  EXPECT_EQ(run(), "step 3@0");
  EXPECT_EQ(run(), "step 1@1, sends lent");
}

TEST_F(Lending, a_node_that_has_little_to_do_lends_nothing) {
  receive(MessageType::offer, 1);
  // Nothing has taken any time yet, as far as is known.
  EXPECT_EQ(run(1), "step 0@0");
  EXPECT_EQ(run(1), "step 1@0");
}

TEST_F(Lending, a_node_with_nothing_to_do_declines_offers_and_makes_one) {
  receive_piece(1);
  receive(MessageType::offer, 1);
  std::string last;
  std::string all;
  for (std::string next = run(0); !next.empty(); next = run(0)) {
    all += next + "; ";
    last = next;
  }
  EXPECT_EQ(last, "offer help, sends declined, sends offer") << all;
  EXPECT_EQ(run(0), "");  // one offer at a time
  const auto run_tick = [&](Tick t) {
    receive_piece(t);
    std::string ran;
    for (std::string next = run(0); !next.empty(); next = run(0))
      ran = next;
    return ran;
  };
  // Not again in the same tick; of one that has had nothing to lend for long, not in the next either.
  receive(MessageType::declined, 1);
  EXPECT_EQ(run(0), "");
  EXPECT_EQ(run_tick(2), "offer help, sends offer");
  receive(MessageType::declined, 2, 1);
  EXPECT_EQ(run_tick(3).find("offer"), std::string::npos);
}

TEST_F(Lending, who_has_had_no_long_step_for_many_ticks_says_so) {
  for (const Tick t : {3, 50}) {
    while (flow_.own_tick() < t) {
      while (!run(0).empty()) {
      }
      receive_piece(flow_.own_tick());
    }
    while (!run(0).empty()) {
    }
    receive(MessageType::offer, t);
    port_.messages.clear();
    receive_piece(flow_.own_tick());
    while (!run(0).empty()) {
    }
    const auto declined = std::ranges::find_if(port_.messages, [](const Bytes& bytes) {
      return header_of(bytes).type == MessageType::declined;
    });
    ASSERT_NE(declined, port_.messages.end()) << t;
    EXPECT_EQ(header_of(*declined).detail, t == 3 ? 0U : 1U);
  }
}

TEST_F(Lending, steps_of_others_go_before_own_ones_and_those_to_earlier_ticks_first) {
  for (const Tick t : {4, 2}) {
    Writer out;
    out.put(MessageHeader{MessageType::lent, 9, t});
    out.put(Nanos{10});
    out.put(Nanos{0});
    out.put(std::uint64_t{40});
    flow_.on_message(port_, 1, out.take());
  }
  EXPECT_TRUE(flow_.more_work());
  EXPECT_EQ(run(123), "run lent 9@1, sends returned");
  EXPECT_EQ(name_, "region 9 of node 1 from tick 1");
  EXPECT_EQ(cost_, 7 + 1);
  Reader in(port_.messages.back());
  const auto header = in.get<MessageHeader>();
  EXPECT_EQ(header.tick, 2);
  EXPECT_EQ(header.detail, 9U);
  EXPECT_EQ(in.get<Nanos>(), 10);   // when it was lent
  EXPECT_EQ(in.get<Nanos>(), 123);  // how long it took here
  EXPECT_EQ(in.get<std::uint64_t>(), 41U);
  EXPECT_EQ(run(), "run lent 9@3, sends returned");
  EXPECT_EQ(run(), "step 0@0");
}

TEST_F(Lending, who_may_be_asked_for_help_stays_until_nothing_is_lent_any_more) {
  std::string all;
  for (Tick t = 1; t <= 100; ++t) {
    for (std::string next = run(0); !next.empty(); next = run(0))
      all += next + "; ";
    if (t < 100) receive_piece(t);
  }
  EXPECT_EQ(flow_.own_tick(), 100) << all;
  EXPECT_NE(all.find("sends all back"), std::string::npos) << all;
  EXPECT_FALSE(flow_.drained());
  EXPECT_NE(flow_.waiting_for().find("waits for node 1, which may still have steps run by others"),
            std::string::npos)
      << flow_.waiting_for();
  receive(MessageType::all_back, 100);
  EXPECT_TRUE(flow_.drained());
  EXPECT_TRUE(flow_.finished());
}

using Bugs = points::testing::Swarm<double, 2>;
using BugProblem = ProblemOf<PointsModel<Bugs>, PointsStore<Bugs>, PointsCosts>;

struct Runs {
  RunResult without;
  RunResult with;
  std::int64_t n_lent = 0;
  std::int64_t n_units = 0;
};

// Three quarters of the bugs in a corner, which is one node's; nothing is balanced.
struct Crowd {
  double cost_of_pair = 0;
  const char* profile = "ec2-large";
  std::uint32_t n_cores = 1;
  Tick ticks = 40;
  std::uint64_t seed = 1;  // of the network
  std::uint32_t n_bugs = 1000;
  std::uint32_t n_pieces = 144;
};

Runs crowded_runs(const Crowd& crowd) {
  points::testing::SwarmOptions world;
  world.high = {40, 40, 0};
  world.n_bugs = crowd.n_bugs;
  world.death_in = world.birth_in = 0;
  world.crowd = true;
  PointsCosts costs;
  costs.pair = crowd.cost_of_pair;
  const BugProblem problem{PointsModel(Bugs(world)), costs};
  SimulationOptions options;
  options.n_nodes = 4;
  options.n_cores = crowd.n_cores;
  options.profile = net::parse_profile(crowd.profile);
  options.seed = crowd.seed;
  System system = System::parse("asytick");
  options.sharing = system.sharing;
  options.sharing.n_pieces = crowd.n_pieces;
  Runs runs;
  runs.without = simulate(problem, system.policy, crowd.ticks, options);
  options.sharing.lending.on = true;
  runs.with = simulate(problem, system.policy, crowd.ticks, options);
  for (const NodeResult& node : runs.with.nodes) {
    runs.n_lent += node.work.steps_lent;
    runs.n_units += node.work.own_units;
  }
  EXPECT_EQ(runs.with.checksum, runs.without.checksum);
  return runs;
}

TEST(LendingPays, where_one_node_has_most_of_the_work) {
  for (const char* profile : {"none", "ec2-large"}) {
    for (const std::uint32_t n_cores : {1U, 2U}) {
      SCOPED_TRACE(std::string(profile) + ", " + std::to_string(n_cores) + " cores");
      const Runs runs = crowded_runs({20'000, profile, n_cores});
      EXPECT_GT(runs.n_lent, 100);
      EXPECT_LT(static_cast<double>(runs.with.wall), 0.75 * static_cast<double>(runs.without.wall));
    }
  }
}

// A step takes less than its way would. For the first ticks nobody knows that, and each message may be
// late: so the time is that of several networks.
TEST(LendingPays, and_nothing_is_lent_where_steps_are_short) {
  double with = 0;
  double without = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Runs runs = crowded_runs(
        {.cost_of_pair = 40, .ticks = 200, .seed = seed, .n_bugs = 200, .n_pieces = 36});
    EXPECT_LT(runs.n_lent, runs.n_units / 100);
    with += static_cast<double>(runs.with.wall);
    without += static_cast<double>(runs.without.wall);
  }
  EXPECT_LT(with / without, 1.05);
}

}  // namespace
}  // namespace rubato::tick

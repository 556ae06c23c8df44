// The engine against the print: the literal Algorithms 1, 2 and 3 of [Ticks 5] and the dataflow
// send the same messages, reach the same state, and step the same regions when the same rounds have
// come.

#include "rubato/tick/testing/literal_algorithms.hpp"

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/shuffle_driver.hpp"
#include "rubato/tick/testing/swarm_model.hpp"

namespace rubato::tick {
namespace {

using testing::AgentBox;
using testing::LiteralMessage;
using testing::LiteralProcess;
using testing::SwarmModel;

using MessageKey = std::tuple<std::uint32_t, std::uint32_t, Tick>;  // from, to, tick
using Messages = std::map<MessageKey, Bytes>;

struct Case {
  SwarmModel::Options world;
  Policy policy;
  std::uint32_t n_nodes = 1;
  Tick ticks = 10;
};

// The policies that the print has: local, schedule(d) and replicate(k, m), each every third seed.
Case random_case(std::uint64_t seed) {
  RandomStream random(seed, 2);
  Case c;
  c.world.seed = seed;
  c.world.width = static_cast<std::int32_t>(random.between(8, 60));
  c.world.height = static_cast<std::int32_t>(random.between(8, 60));
  c.world.visibility = static_cast<std::int32_t>(random.between(0, 4));
  c.world.reachability = static_cast<std::int32_t>(random.between(0, 3));
  c.world.n_agents = static_cast<std::uint32_t>(random.between(10, 60));
  if (seed % 3 == 1) c.policy.depth = static_cast<int>(random.between(1, 5));
  if (seed % 3 == 2) {
    c.policy.replica_layers = static_cast<int>(random.between(1, 5));
    c.policy.period = static_cast<int>(random.between(1, c.policy.replica_layers + 1));
  }
  c.n_nodes = static_cast<std::uint32_t>(random.between(1, 6));
  c.ticks = random.between(1, 14);
  return c;
}

std::string describe(const Case& c, std::uint64_t seed) {
  return "seed " + std::to_string(seed) + ": " + c.policy.to_string() + ", " +
         std::to_string(c.n_nodes) + " nodes, V " + std::to_string(c.world.visibility) + ", R " +
         std::to_string(c.world.reachability) + ", " + std::to_string(c.ticks) + " ticks";
}

Bytes bytes_of(const SwarmModel& model, const SwarmModel::State& state) {
  Writer writer;
  model.write(writer, state);
  return writer.take();
}

// Passes everything on and keeps what is sent, and which units are stepped.
class Recorder final : public core::Engine, public Store {
 public:
  Recorder(const SwarmModel& model, const std::vector<AgentBox>& parts, std::uint32_t node,
           const Case& c)
      : typed(build_plan(model, std::span<const AgentBox>(parts), node, c.policy)),
        fragments(model, typed),
        flow(typed.plan, *this, {c.ticks}),
        node_(node) {}

  void start(core::Port& port) override {
    Wire wire(*this, port);
    flow.start(wire);
  }
  void on_message(core::Port& port, NodeId from, Bytes bytes) override {
    Wire wire(*this, port);
    flow.on_message(wire, from, std::move(bytes));
  }
  void on_finished(core::Port& port, const core::Work& work) override {
    Wire wire(*this, port);
    flow.on_finished(wire, work);
  }
  [[nodiscard]] bool next_work(std::uint32_t core, core::Work& work) override {
    return flow.next_work(core, work);
  }
  void run(const core::Work& work, std::uint32_t core) override { flow.run(work, core); }
  [[nodiscard]] Nanos cost(const core::Work& work) const override { return flow.cost(work); }
  [[nodiscard]] bool finished() const override { return flow.finished(); }
  [[nodiscard]] std::string waiting_for() const override { return flow.waiting_for(); }

  void step(RegionId region, Tick t, std::uint32_t core) override {
    stepped.emplace(region, t);
    fragments.step(region, t, core);
  }
  void pack(std::uint32_t to, Tick t, Writer& out) override { fragments.pack(to, t, out); }
  void unpack(std::uint32_t from, Tick t, ByteView payload,
              std::span<const std::uint8_t> fresh) override {
    fragments.unpack(from, t, payload, fresh);
  }
  void pack_piece(std::uint32_t to, std::uint32_t i, Tick t, Writer& out) override {
    fragments.pack_piece(to, i, t, out);
  }
  void unpack_piece(std::uint32_t from, std::uint32_t i, Tick t, ByteView payload) override {
    fragments.unpack_piece(from, i, t, payload);
  }
  void release(Tick floor) override { fragments.release(floor); }
  Bytes measure(RegionId region, Tick t) override { return fragments.measure(region, t); }
  void combine(Bytes& into, ByteView from) override { fragments.combine(into, from); }
  bool stop(ByteView combined, Tick t) override { return fragments.stop(combined, t); }
  [[nodiscard]] Tick stop_interval() const override { return fragments.stop_interval(); }
  [[nodiscard]] Tick stop_lag() const override { return fragments.stop_lag(); }
  [[nodiscard]] Nanos step_cost(RegionId region, Tick t) const override {
    return fragments.step_cost(region, t);
  }
  [[nodiscard]] Nanos copy_cost(std::size_t n_bytes) const override {
    return fragments.copy_cost(n_bytes);
  }
  [[nodiscard]] std::size_t bytes() const override { return fragments.bytes(); }

  TypedPlan<AgentBox> typed;
  FragmentStore<SwarmModel> fragments;
  Dataflow flow;
  Messages sent;  // rounds only
  std::set<std::pair<RegionId, Tick>> stepped;

 private:
  struct Wire final : core::Port {
    Wire(Recorder& r, core::Port& p) : recorder(r), port(p) {}
    void send(NodeId to, Bytes bytes) override {
      detail::MessageHeader header;
      std::memcpy(&header, bytes.data(), sizeof header);
      if (header.type == detail::MessageType::round) {
        const bool fresh = recorder.sent
                               .emplace(MessageKey{recorder.node_, to, header.tick},
                                        Bytes(bytes.begin() + sizeof header, bytes.end()))
                               .second;
        EXPECT_TRUE(fresh) << "round " << header.tick << " was sent twice to " << to;
      }
      port.send(to, std::move(bytes));
    }
    void wake_at(Nanos when) override { port.wake_at(when); }
    [[nodiscard]] Nanos now() const noexcept override { return port.now(); }
    Recorder& recorder;
    core::Port& port;
  };
  std::uint32_t node_;
};

Messages messages_of(const SwarmModel& model, const std::vector<LiteralMessage<SwarmModel>>& list) {
  Messages messages;
  for (const auto& m : list)
    messages[{m.from, m.to, m.tick}] = bytes_of(model, m.tuples);
  return messages;
}

TEST(LiteralAlgorithms, print_and_engine_send_the_same_messages_and_reach_the_reference) {
  std::size_t n_messages = 0;
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    const Case c = random_case(seed);
    SCOPED_TRACE(describe(c, seed));
    const SwarmModel model(c.world);
    const std::vector<AgentBox> parts = model.part(c.n_nodes);
    const auto reference = run_reference(model, model.everything(), c.ticks);

    const auto literal = testing::run_literal(model, parts, c.policy, c.ticks, seed);
    EXPECT_TRUE(literal.state == reference.state);

    std::vector<std::unique_ptr<Recorder>> nodes;
    std::vector<core::Engine*> engines;
    for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
      nodes.push_back(std::make_unique<Recorder>(model, parts, node, c));
      engines.push_back(nodes.back().get());
    }
    testing::ShuffleDriver(engines, 1 + static_cast<std::uint32_t>(seed % 2), seed).run();
    SwarmModel::State state;
    Messages sent;
    for (const auto& node : nodes) {
      model.merge(state, node->fragments.own_state(c.ticks));
      sent.merge(node->sent);
    }
    EXPECT_TRUE(state == reference.state);
    EXPECT_TRUE(sent == messages_of(model, literal.messages))
        << sent.size() << " messages, the print has " << literal.messages.size();
    n_messages += sent.size();
    if (HasFailure()) return;
  }
  EXPECT_GT(n_messages, 20 * n_seeds());
}

// One node alone, fed with rounds from a recorded run.
class Fed {
 public:
  Fed(const SwarmModel& model, const std::vector<AgentBox>& parts, std::uint32_t node,
      const Case& c)
      : model_(model),
        c_(c),
        engine(model, parts, node, c),
        literal(model, parts, node, c.policy, c.ticks),
        turns_(literal.start()) {}

  // Lets both do whatever they can with these rounds.
  void run(const std::vector<LiteralMessage<SwarmModel>>& rounds) {
    Silent port;
    engine.start(port);
    for (const auto& round : rounds) {
      received.emplace(round.from, round.tick);
      literal.deliver(round);
      Writer writer;
      writer.put(detail::MessageHeader{detail::MessageType::round, 0, round.tick});
      model_.write(writer, round.tuples);
      engine.on_message(port, round.from, writer.take());
    }
    core::Work work;
    while (engine.next_work(0, work)) {
      engine.run(work, 0);
      engine.on_finished(port, work);
    }
    run_until_blocked(literal, turns_);
  }

  // What the engine stepped, by layers.
  [[nodiscard]] std::set<std::pair<int, Tick>> engine_units() const {
    std::set<std::pair<int, Tick>> units;
    for (const auto& [region, t] : engine.stepped) {
      const int layer = engine.typed.plan.regions[region].layer;
      if (counts(layer, t)) units.emplace(layer, t);
    }
    return units;
  }
  [[nodiscard]] std::set<std::pair<int, Tick>> literal_units() const {
    std::set<std::pair<int, Tick>> units;
    for (const auto& unit : literal.stepped()) {
      if (counts(unit.first, unit.second)) units.insert(unit);
    }
    return units;
  }

  // True if the engine did not need to step the replica: its fragment came by message, or nobody
  // that the print steps reads it.
  [[nodiscard]] bool needless(RegionId region, Tick t) const {
    const Plan& plan = engine.typed.plan;
    const Region& r = plan.regions[region];
    if (received.contains({plan.neighbours[r.neighbour].node, t + 1})) return true;
    for (const RegionId reader : plan.readers[region]) {
      const Region& a = plan.regions[reader];
      if (reader == region || !literal.stepped().contains({a.layer, t + 1})) continue;
      if (engine.stepped.contains({reader, t + 1}) || a.own() || !needless(reader, t + 1)) {
        return false;
      }
    }
    return true;
  }

  const SwarmModel& model_;
  const Case& c_;
  Recorder engine;
  LiteralProcess<SwarmModel> literal;
  std::set<std::pair<std::uint32_t, Tick>> received;

 private:
  struct Silent final : core::Port {
    void send(NodeId, Bytes) override {}
    void wake_at(Nanos) override {}
    [[nodiscard]] Nanos now() const noexcept override { return 0; }
  };
  // Not layers that cannot hold a tuple; nor replicas that no own unit of the run depends on: the
  // print emulates receipts at the last tick, to have there what came from neighbours; the union
  // of all nodes' outputs has it anyway.
  [[nodiscard]] bool counts(int layer, Tick t) const {
    return !empty_layer(layer) && (layer <= 0 || t + layer < c_.ticks);
  }
  [[nodiscard]] bool empty_layer(int layer) const {
    for (RegionId region = 0; region < engine.typed.plan.regions.size(); ++region) {
      if (engine.typed.plan.regions[region].layer != layer) continue;
      if (!engine.typed.regions[region].includes.front().empty()) return false;
    }
    return true;
  }

  testing::Turns turns_;
};

enum class Which { none, all };

void expect_equal_units(Which which) {
  std::size_t n_units = 0;
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    const Case c = random_case(seed);
    SCOPED_TRACE(describe(c, seed));
    const SwarmModel model(c.world);
    const std::vector<AgentBox> parts = model.part(c.n_nodes);
    const auto recorded = testing::run_literal(model, parts, c.policy, c.ticks, seed);
    for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
      Fed fed(model, parts, node, c);
      std::vector<LiteralMessage<SwarmModel>> rounds;
      for (const auto& message : recorded.messages) {
        if (which == Which::all && message.to == node) rounds.push_back(message);
      }
      fed.run(rounds);
      EXPECT_EQ(fed.engine_units(), fed.literal_units()) << "node " << node;
      n_units += fed.literal_units().size();
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(n_units, 3 * n_seeds());
}

TEST(LiteralAlgorithms, without_messages_print_and_engine_step_exactly_the_same) {
  expect_equal_units(Which::none);
}

TEST(LiteralAlgorithms, with_all_messages_print_and_engine_step_exactly_the_same) {
  expect_equal_units(Which::all);
}

TEST(LiteralAlgorithms, what_the_print_can_step_the_engine_can_step_too) {
  std::size_t n_more = 0;
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    const Case c = random_case(seed);
    SCOPED_TRACE(describe(c, seed));
    const SwarmModel model(c.world);
    const std::vector<AgentBox> parts = model.part(c.n_nodes);
    const auto recorded = testing::run_literal(model, parts, c.policy, c.ticks, seed);
    RandomStream random(seed, 4);
    for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
      Fed fed(model, parts, node, c);
      // The first few rounds of each neighbour.
      std::map<std::uint32_t, Tick> last;
      for (const std::uint32_t from : fed.literal.senders())
        last[from] = random.between(0, c.ticks);
      std::vector<LiteralMessage<SwarmModel>> rounds;
      for (const auto& message : recorded.messages) {
        if (message.to == node && message.tick <= last[message.from]) rounds.push_back(message);
      }
      fed.run(rounds);
      const auto by_engine = fed.engine_units();
      const auto by_print = fed.literal_units();
      for (RegionId region = 0; region < fed.engine.typed.plan.regions.size(); ++region) {
        const Region& r = fed.engine.typed.plan.regions[region];
        for (Tick t = 0; t < c.ticks; ++t) {
          if (!by_print.contains({r.layer, t}) || fed.engine.stepped.contains({region, t})) {
            continue;
          }
          EXPECT_TRUE(!r.own() && fed.needless(region, t))
              << "node " << node << ", region " << region << " of layer " << r.layer << ", tick "
              << t;
        }
      }
      for (const auto& unit : by_engine)
        n_more += unit.first <= 0 && !by_print.contains(unit) ? 1 : 0;
    }
    if (HasFailure()) return;
  }
  // The engine waits for each region's own inputs only, so now and then it gets further.
  EXPECT_GT(n_more, 0U);
}

}  // namespace
}  // namespace rubato::tick

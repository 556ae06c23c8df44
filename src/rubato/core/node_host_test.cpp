#include "rubato/core/node_host.hpp"

#include <atomic>
#include <set>

#include <gtest/gtest.h>
#include <signal.h>

#include "rubato/core/placement.hpp"
#include "rubato/core/thread_fabric_test.hpp"
#include "rubato/core/toy_engines_test.hpp"
#include "rubato/net/local.hpp"

namespace rubato::core {
namespace {

using testing::AllToAllEngine;
using testing::GraphEngine;
using testing::RingEngine;
using testing::ThreadHub;

NodeHostOptions shared_process(std::uint32_t n_cores) {
  NodeHostOptions options;
  options.n_cores = n_cores;
  options.owns_process = false;
  return options;
}

// Runs make(node) on every node; what each node's run threw, or "".
template <class Make>
std::vector<std::string> errors_of(std::uint32_t n_nodes, const NodeHostOptions& options,
                                   Make make) {
  ThreadHub hub(n_nodes);
  std::vector<std::string> errors(n_nodes);
  hub.run([&](NodeId node) {
    auto engine = make(node);
    try {
      NodeHost host(hub.fabric(node), options);
      host.run(*engine);
    } catch (const Error& error) {
      errors[node] = std::to_string(static_cast<int>(error.code())) + " " + error.what();
    }
  });
  return errors;
}

TEST(NodeHost, ARingRunsOnSeveralNodesAndCores) {
  for (std::uint32_t n_nodes = 1; n_nodes <= 4; ++n_nodes) {
    ThreadHub hub(n_nodes);
    std::vector<NodeFigures> figures(n_nodes);
    std::uint64_t token = 0;
    hub.run([&](NodeId node) {
      NodeHost host(hub.fabric(node), shared_process(2));
      RingEngine engine(node, n_nodes, 20);
      figures[node] = host.run(engine);
      if (node == n_nodes - 1) token = engine.token();
    });
    EXPECT_EQ(token, RingEngine::expected(n_nodes, 20));
    for (NodeId node = 0; node < n_nodes; ++node) {
      const NodeFigures& f = figures[node];
      EXPECT_EQ(f.total().n_works, 20U);
      EXPECT_EQ(f.n_sent, node + 1 == n_nodes ? 19U : 20U);
      EXPECT_EQ(f.n_received, node == 0 ? 19U : 20U);
      ASSERT_EQ(f.cores.size(), 2U);
      for (const auto& core : f.cores) {
        EXPECT_GE(core.own(), 0);
        EXPECT_GT(core.wall, 0);
      }
    }
  }
}

TEST(NodeHost, EveryMessageArrivesOnceAndInOrder) {
  for (std::uint32_t n_nodes = 1; n_nodes <= 5; n_nodes += 2) {
    // Room for few messages, so that the fabric refuses most.
    ThreadHub hub(n_nodes, 3);
    std::atomic<int> n_right{0};
    hub.run([&](NodeId node) {
      NodeHost host(hub.fabric(node), shared_process(3));
      AllToAllEngine engine(node, n_nodes, 200);
      host.run(engine);
      if (engine.sum() == AllToAllEngine::expected(node, n_nodes, 200) &&
          engine.n_wrong_order() == 0) {
        ++n_right;
      }
    });
    EXPECT_EQ(n_right, static_cast<int>(n_nodes));
  }
}

TEST(NodeHost, AGraphOfTasksHasTheSameValuesAsOneAfterTheOther) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const GraphEngine::Shape shape{seed, 1 + static_cast<std::uint32_t>(seed % 4), 30, 16};
    const auto expected = GraphEngine::expected(shape);
    ThreadHub hub(shape.n_nodes);
    std::atomic<std::size_t> n_right{0};
    hub.run([&](NodeId node) {
      NodeHost host(hub.fabric(node), shared_process(1 + static_cast<std::uint32_t>(seed % 3)));
      GraphEngine engine(node, shape);
      host.run(engine);
      for (const auto& [task, value] : engine.values()) {
        if (value == expected[task]) ++n_right;
      }
    });
    EXPECT_EQ(n_right, expected.size());
  }
}

TEST(NodeHost, ManyRunsFollowEachOtherOnOneHost) {
  ThreadHub hub(3);
  std::atomic<int> n_right{0};
  hub.run([&](NodeId node) {
    NodeHost host(hub.fabric(node), shared_process(2));
    for (std::uint32_t run = 1; run <= 30; ++run) {
      AllToAllEngine engine(node, 3, run % 7);
      host.run(engine);
      if (engine.sum() == AllToAllEngine::expected(node, 3, run % 7)) ++n_right;
    }
  });
  EXPECT_EQ(n_right, 90);
}

TEST(NodeHost, ALocalFabricAndAPinnedCoreWork) {
  net::LocalFabric fabric;
  const auto n = static_cast<std::uint32_t>(allowed_processors().size());
  NodeHost host(fabric, {.n_cores = n});
  EXPECT_EQ(host.processors().size(), n);
  EXPECT_EQ(host.place(), "");
  RingEngine engine(0, 1, 50);
  const NodeFigures figures = host.run(engine);
  EXPECT_EQ(engine.token(), RingEngine::expected(1, 50));
  EXPECT_EQ(figures.n_received, 49U);
}

TEST(NodeHost, AnErrorInWorkEndsAllNodesWithOneMessageAndCode) {
  std::vector<std::string> told(4);
  ThreadHub hub(4);
  hub.run([&](NodeId node) {
    RingEngine engine(node, 4, 5);
    engine.throws = node == 2;
    NodeHost host(hub.fabric(node), shared_process(2));
    EXPECT_THROW(host.run(engine), Error);
    told[node] = engine.failure();
  });
  EXPECT_EQ(told, std::vector<std::string>(4, "node 2 (thread-2): the token broke"));
}

// What all have agreed on comes to node 3 by node 2, and later than that node 1 has failed.
TEST(NodeHost, AnErrorEndsNodesThatHaveNotBegunToRun) {
  std::vector<std::string> told(4);
  ThreadHub hub(4);
  hub.run([&](NodeId node) {
    RingEngine engine(node, 4, 1);
    engine.throws = node == 1;
    NodeHost host(hub.fabric(node), shared_process(1));
    try {
      host.agree([&] {
        if (node == 3) hub.hold_back(2, node, 2000);
      });
      host.run(engine);
    } catch (const Error& error) {
      told[node] = error.what();
    }
  });
  EXPECT_EQ(told, std::vector<std::string>(4, "node 1 (thread-1): the token broke"));
}

TEST(NodeHost, ADeadlockEndsAllNodesAndNamesWhoWaitsForWhat) {
  const auto errors = errors_of(3, shared_process(2), [](NodeId node) {
    return std::make_unique<RingEngine>(node, 3, node == 1 ? 6 : 4);
  });
  for (const auto& error : errors) {
    EXPECT_EQ(error,
              "1 deadlock: all cores are idle, no message is on its way, and 1 of 3 nodes wait:\n"
              "  node 1 (thread-1) waits for the token of round 2");
  }
}

// Work that sleeps; and one node's last piece of work throws.
class SleepEngine final : public Engine {
 public:
  SleepEngine(Nanos time, int n_works) : time_(time), n_left_(n_works), n_to_take_(n_works) {}
  void start(Port& /*port*/) override {}
  void on_message(Port& /*port*/, NodeId /*from*/, Bytes /*bytes*/) override { ++n_messages; }
  void on_finished(Port& /*port*/, const Work& /*work*/) override { --n_left_; }
  bool next_work(std::uint32_t core, Work& work) override {
    if (n_to_take_ == 0) return false;
    --n_to_take_;
    work = {0, core, 0};
    return true;
  }
  void run(const Work& /*work*/, std::uint32_t /*core*/) override { nap(time_); }
  [[nodiscard]] Nanos cost(const Work& /*work*/) const override { return time_; }
  [[nodiscard]] bool finished() const override { return n_left_ == 0; }
  [[nodiscard]] std::string waiting_for() const override { return ""; }
  [[nodiscard]] std::string work_name(const Work& /*work*/) const override { return "a nap"; }

  int n_messages = 0;

 private:
  Nanos time_;
  int n_left_;
  int n_to_take_;
};

TEST(NodeHost, LongWorkIsReportedAsBusyAndNotAsADeadlock) {
  net::LocalFabric fabric;
  std::vector<std::string> lines;
  NodeHostOptions options = shared_process(1);
  options.busy_after = 100 * kMillisecond;
  options.suspect_after = 10 * kMillisecond;
  options.report = [&](const std::string& line) { lines.push_back(line); };
  NodeHost host(fabric, options);
  SleepEngine engine(500 * kMillisecond, 1);
  const NodeFigures figures = host.run(engine);
  ASSERT_GE(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("core 0 is busy with a nap for 0."), 0U) << lines[0];
  EXPECT_GE(figures.total().busy_total(), 500 * kMillisecond);
}

// On node 1 something goes on beside its cores until that was told, or for 5 s.
class ThreadEngine final : public Engine {
 public:
  explicit ThreadEngine(NodeId node) : is_told(node != 1) {}
  void start(Port& port) override {
    since_ = port.now();
    on_time(port);
  }
  void on_message(Port& /*port*/, NodeId /*from*/, Bytes /*bytes*/) override {}
  void on_finished(Port& /*port*/, const Work& /*work*/) override {}
  void on_time(Port& port) override {
    if (port.now() - since_ > 5 * kSecond) is_told = true;
    port.wake_at(port.now() + kMillisecond);
  }
  bool next_work(std::uint32_t /*core*/, Work& /*work*/) override { return false; }
  void run(const Work& /*work*/, std::uint32_t /*core*/) override {}
  [[nodiscard]] Nanos cost(const Work& /*work*/) const override { return 0; }
  [[nodiscard]] bool finished() const override { return is_told; }
  [[nodiscard]] std::string waiting_for() const override { return "a read"; }
  [[nodiscard]] std::vector<WorkBeside> work_beside(Nanos begun_by) const override {
    if (is_told || since_ > begun_by) return {};
    return {{"a read", since_}};
  }

  std::atomic<bool> is_told;

 private:
  Nanos since_ = 0;
};

TEST(NodeHost, LongWorkBesideTheCoresIsReportedWithItsNode) {
  ThreadHub hub(2);
  std::vector<std::string> lines[2];
  hub.run([&](NodeId node) {
    ThreadEngine engine(node);
    NodeHostOptions options = shared_process(1);
    options.busy_after = 100 * kMillisecond;
    options.suspect_after = 10 * kMillisecond;
    options.report = [&](const std::string& line) {
      lines[node].push_back(line);
      engine.is_told = true;
    };
    NodeHost host(hub.fabric(node), options);
    host.run(engine);
  });
  EXPECT_TRUE(lines[0].empty());
  ASSERT_GE(lines[1].size(), 1U);
  EXPECT_EQ(lines[1][0].find("node 1, a read has run for 0."), 0U) << lines[1][0];
}

// Node 1 works long on its only core, while node 0 sends to it and waits for its answers, which its
// service thread must see to.
class EchoEngine final : public Engine {
 public:
  explicit EchoEngine(NodeId node) : node_(node) {}
  void start(Port& port) override {
    if (node_ == 0) port.send(1, testing::word(0));
  }
  void on_message(Port& port, NodeId from, Bytes bytes) override {
    const auto n = Reader(bytes).get<std::uint64_t>() + 1;
    n_seen = n;
    if (n < kEchoes) port.send(from, testing::word(n));
    if (asleep) ++n_while_asleep;
  }
  void on_finished(Port& /*port*/, const Work& /*work*/) override {
    asleep = false;
    done_ = true;
  }
  bool next_work(std::uint32_t /*core*/, Work& work) override {
    if (taken_ || node_ == 0) return false;
    taken_ = asleep = true;
    work = {};
    return true;
  }
  void run(const Work& /*work*/, std::uint32_t /*core*/) override { nap(kSecond); }
  [[nodiscard]] Nanos cost(const Work& /*work*/) const override { return 0; }
  [[nodiscard]] bool finished() const override { return node_ == 0 || done_; }
  [[nodiscard]] std::string waiting_for() const override { return ""; }

  static constexpr std::uint64_t kEchoes = 40;
  std::uint64_t n_seen = 0;
  int n_while_asleep = 0;
  bool asleep = false;

 private:
  NodeId node_;
  bool taken_ = false;
  bool done_ = false;
};

TEST(NodeHost, LongWorkDoesNotStopTheNetwork) {
  ThreadHub hub(2);
  std::atomic<int> n_while_asleep{0};
  std::atomic<std::uint64_t> n_seen{0};
  hub.run([&](NodeId node) {
    NodeHost host(hub.fabric(node), shared_process(1));
    EchoEngine engine(node);
    host.run(engine);
    if (node == 1) n_while_asleep = engine.n_while_asleep;
    n_seen = std::max(n_seen.load(), engine.n_seen);
  });
  EXPECT_EQ(n_seen, EchoEngine::kEchoes);
  // Node 1 sees every other message; on a busy machine a late start of its work costs it the first
  // ones.
  EXPECT_GE(n_while_asleep, 5);
}

TEST(NodeHost, ASignalEndsTheRunInTimeWithItsCode) {
  for (const auto& [number, code] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}}) {
    net::LocalFabric fabric;
    NodeHost host(fabric, {.n_cores = 2, .pinning = Pinning::off});
    SleepEngine engine(10 * kMillisecond, 10'000);
    std::thread killer([n = number] {
      nap(100 * kMillisecond);
      kill(getpid(), n);
    });
    try {
      host.run(engine);
      ADD_FAILURE() << "the run went on";
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.code()), code);
    }
    killer.join();
  }
}

TEST(NodeHost, CollectivesBetweenRunsGatherBroadcastAndAgree) {
  ThreadHub hub(3);
  std::atomic<int> n_right{0};
  hub.run([&](NodeId node) {
    NodeHost host(hub.fabric(node), shared_process(1));
    for (int round = 0; round < 5; ++round) {
      const auto parts = host.gather(testing::word(node * 10));
      ASSERT_EQ(parts.size(), node == 0 ? 3U : 0U);
      for (std::uint64_t i = 0; i < parts.size(); ++i)
        EXPECT_EQ(parts[i], testing::word(i * 10));
      EXPECT_EQ(host.broadcast(testing::word(node + 5)), testing::word(5));
      host.agree([] {});
      try {
        host.agree([&] {
          if (node > 0)
            throw Error("node " + std::to_string(node) + " cannot read", ExitCode::usage);
        });
      } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "node 1 cannot read");
        EXPECT_EQ(error.code(), ExitCode::usage);
        ++n_right;
      }
    }
  });
  EXPECT_EQ(n_right, 15);
}

TEST(NodeHost, NodesThatDifferAreNamedBeforeTheRunBegins) {
  ThreadHub hub(3);
  std::vector<std::string> errors(3);
  hub.run([&](NodeId node) {
    try {
      const NodeHost host(hub.fabric(node), shared_process(node == 2 ? 2 : 1));
    } catch (const Error& error) {
      errors[node] = error.what();
    }
  });
  for (const auto& error : errors) {
    EXPECT_EQ(
        error.find(
            "nodes 0 (thread-0) and 2 (thread-2) are of different numbers of cores (1 and 2)"),
        0U)
        << error;
  }
}

}  // namespace
}  // namespace rubato::core

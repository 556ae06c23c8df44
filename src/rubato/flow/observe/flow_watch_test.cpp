// What is seen of flows: on virtual nodes against what is known of them, and on real cores.

#include <thread>

#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/observe/flow_figures.hpp"
#include "rubato/flow/observe/node_watch.hpp"
#include "rubato/flow/program/detail/testing.hpp"
#include "rubato/flow/program/program_task.hpp"

namespace rubato::flow {
namespace {

// Shows each node's watch what the simulator sees of that node.
class WatchedNodes final : public core::Observer {
 public:
  WatchedNodes(std::uint32_t n_nodes, observe::Trace* trace) {
    for (std::uint32_t node = 0; node < n_nodes; ++node)
      watches_.push_back(std::make_unique<NodeWatch>(trace));
  }
  void attach(core::MessageEngine& engine, const core::JobShape& shape) {
    watches_[shape.node]->attach(engine, shape);
  }
  void on_work(net::NodeId node, std::uint32_t core, const core::Work& work, Nanos begin,
               Nanos end) noexcept override {
    watches_[node]->observer().on_work(node, core, work, begin, end);
  }
  void on_sent(net::NodeId node, net::NodeId peer, std::size_t n_bytes,
               Nanos when) noexcept override {
    watches_[node]->observer().on_sent(node, peer, n_bytes, when);
  }
  void on_taken(net::NodeId node, net::NodeId peer, std::size_t n_bytes,
                Nanos when) noexcept override {
    watches_[node]->observer().on_taken(node, peer, n_bytes, when);
  }
  [[nodiscard]] std::vector<Bytes> parts() const {
    std::vector<Bytes> parts;
    for (const auto& watch : watches_)
      parts.push_back(watch->pack());
    return parts;
  }

 private:
  std::vector<std::unique_ptr<NodeWatch>> watches_;
};

struct Seen {
  FlowResult result;
  FlowFigures figures;
  global::SimulatedRun run;
};

template <class F>
Seen watch_flow(std::uint64_t seed, const F& main, const core::MessageOptions& messages,
                observe::Trace* trace = nullptr) {
  Seen seen;
  const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 5);
  WatchedNodes nodes(n_nodes, trace);
  seen.run = global::simulate(
      [&] { seen.result = run(main); },
      {.n_nodes = n_nodes,
       .n_cores = static_cast<std::uint32_t>(1 + seed / 5 % 3),
       .seed = seed,
       .shuffle = true,
       .extra_delay_max = 5'000,
       .observer = &nodes,
       .on_engine = [&](core::MessageEngine& engine,
                        const core::JobShape& shape) { nodes.attach(engine, shape); },
       .program = {messages, global::kTestBytesACore}});
  seen.figures = FlowFigures::of(nodes.parts());
  return seen;
}

const NameTotals* totals_of(const FlowFigures& figures, const std::string& name) {
  for (const NameTotals& totals : figures.names) {
    if (totals.of.name == name) return &totals;
  }
  return nullptr;
}

constexpr std::int64_t kTasks = 60;
constexpr Nanos kUnit = 3 * kMicrosecond;

// Task i charges its core with i units of time; every tenth fails, and one task needs such a one.
void tasks_of_known_length() {
  for (std::int64_t i = 0; i < kTasks; ++i) {
    auto value = async(
        [](std::int64_t n) {
          CoreContext::here().charge(n * kUnit);
          if (n % 10 == 9) throw Error("no luck with " + std::to_string(n));
          return n;
        },
        {.name = "draw"})(i);
    if (i == 19) async([](std::int64_t n) { return n; }, {.name = "never"})(value);
  }
}

TEST(FlowWatch, CountsAndTimesTasksByNameOnAnyNumberOfNodes) {
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const Seen seen = watch_flow(
        seed, [] { tasks_of_known_length(); }, global::windows_of(seed));
    const TaskCounts& counts = seen.figures.counts;
    ASSERT_EQ(counts.begun, counts.ended) << "seed " << seed;
    ASSERT_EQ(counts.waiting(), 0U) << "seed " << seed;
    ASSERT_EQ(counts.made, counts.begun + counts.gone) << "seed " << seed;
    ASSERT_EQ(counts.ended, seen.result.counters.n_run) << "seed " << seed;
    ASSERT_EQ(counts.failed, static_cast<std::uint64_t>(kTasks / 10)) << "seed " << seed;
    const NameTotals* drawn = totals_of(seen.figures, "draw");
    ASSERT_NE(drawn, nullptr) << "seed " << seed;
    ASSERT_EQ(drawn->n, static_cast<std::uint64_t>(kTasks)) << "seed " << seed;
    ASSERT_EQ(drawn->n_failed, static_cast<std::uint64_t>(kTasks / 10)) << "seed " << seed;
    ASSERT_GE(drawn->total, kUnit * (kTasks * (kTasks - 1) / 2)) << "seed " << seed;
    ASSERT_EQ(totals_of(seen.figures, "never"), nullptr) << "seed " << seed;
  }
}

TEST(FlowWatch, KeepsTheSlowestTasksOfAllNodesAndWhatTheyWereCalledWith) {
  // With room for all messages: a task's time has what it waited for room in it.
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const FlowFigures figures = watch_flow(seed, [] { tasks_of_known_length(); }, {}).figures;
    ASSERT_EQ(figures.slowest.size(), kSlowestKept) << "seed " << seed;
    for (std::size_t i = 0; i < kSlowestKept; ++i) {
      const SlowTask& task = figures.slowest[i];
      const std::int64_t n = kTasks - 1 - static_cast<std::int64_t>(i);
      ASSERT_EQ(task.words, std::to_string(n)) << "seed " << seed;
      ASSERT_GE(task.time, n * kUnit) << "seed " << seed;
      ASSERT_LT(task.time, (n + 1) * kUnit) << "seed " << seed;
      ASSERT_EQ(task.has_failed, n % 10 == 9) << "seed " << seed;
      ASSERT_NE(task.of.place.find("flow_watch_test.cpp:"), std::string::npos);
    }
  }
}

TEST(FlowWatch, UseOfACoreOverTimeIsItsBusyTime) {
  for (std::uint64_t seed = 0; seed < n_seeds(15); ++seed) {
    const Seen seen = watch_flow(
        seed, [] { tasks_of_known_length(); }, global::windows_of(seed));
    Nanos used = 0;
    for (const CoreUseFigures& core : seen.figures.cores) {
      used += core.own.total();
      for (std::size_t bin = 0; bin < observe::UseOverTime::kBins; ++bin)
        ASSERT_LE(core.own.in_bin(bin), core.own.width()) << "seed " << seed;
    }
    Nanos busy = 0;
    for (const core::NodeFigures& node : seen.run.nodes)
      busy += node.total().busy_total();
    ASSERT_EQ(used, busy) << "seed " << seed;
  }
}

TEST(FlowWatch, LoopsAndContainersLeaveNothingUncounted) {
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const Seen seen = watch_flow(
        seed,
        [] {
          auto [squares, insert] = make_container<std::int64_t>();
          async_for(0, 500, [](std::int64_t i, const Inserter<std::int64_t>& out) {
            out.insert(i, i * i);
          })(std::move(insert));
          async_each(squares, [](std::int64_t /*key*/, std::int64_t /*value*/) {})();
          static_cast<void>(async([](std::int64_t n) {
                              return async([](std::int64_t m) { return m; })(n);
                            })(squares.size())
                                .get());
        },
        global::windows_of(seed));
    const TaskCounts& counts = seen.figures.counts;
    ASSERT_EQ(counts.made, counts.begun + counts.gone) << "seed " << seed;
    ASSERT_EQ(counts.ended, seen.result.counters.n_run) << "seed " << seed;
  }
}

// Programs: their own time, words and failures; each is one task however often it was put off.
TEST(FlowWatch, TimesProgramsAndNativeWorkByThemselves) {
  const program_testing::TempFolder folder;
  FlowResult result;
  NodeWatch watch(nullptr);
  net::LocalFabric fabric;
  core::NodeHostOptions options;
  options.n_cores = 2;
  options.owns_process = false;
  options.observer = &watch.observer();
  core::NodeHost host(fabric, options);
  global::Program program(host.shape(), {{}, global::kTestBytesACore});
  watch.attach(program.engine(), host.shape());
  program.set_main([&] {
    result = run([&] {
      for (int i = 0; i < 40; ++i)
        static_cast<void>(async_program()("sh", "-c", i == 7 ? "exit 3" : "sleep 0.02", "word", i));
      static_cast<void>(async([](double x) { return x; }, {.name = "beside", .native = true})(2.5));
    });
  });
  host.run(program.engine());
  const FlowFigures figures = FlowFigures::of({watch.pack()});
  const NameTotals* shells = totals_of(figures, "sh");
  ASSERT_NE(shells, nullptr);
  EXPECT_EQ(shells->n, 40U);
  EXPECT_EQ(shells->n_failed, 1U);
  EXPECT_EQ(shells->of.kind, "program");
  // Not the wait for their turn, too: there are more of them than may run at once.
  EXPECT_GE(shells->total, 39 * 20 * kMillisecond);
  EXPECT_EQ(figures.counts.failed, 1U);
  EXPECT_EQ(figures.counts.ended, 41U);
  EXPECT_EQ(figures.counts.made, 41U);
  EXPECT_EQ(result.counters.n_run, 41U);
  EXPECT_EQ(figures.slowest.front().words.find("sh -c sleep 0.02 word "), 0U)
      << figures.slowest.front().words;
  const NameTotals* native = totals_of(figures, "beside");
  ASSERT_NE(native, nullptr);
  Nanos beside = 0;
  for (const CoreUseFigures& core : figures.cores)
    beside += core.beside.total();
  EXPECT_EQ(beside, shells->total + native->total);
}

// One thread beside the cores: of five tasks that want it one runs, and those that are on a core.
TEST(FlowWatch, TasksThatWaitForAThreadDoNotRun) {
  constexpr std::uint64_t kNative = 5;
  NodeWatch watch(nullptr);
  net::LocalFabric fabric;
  core::NodeHostOptions options;
  options.n_cores = 2;
  options.owns_process = false;
  core::NodeHost host(fabric, options);
  global::ProgramOptions how{{}, global::kTestBytesACore};
  how.messages.n_native_threads = 1;
  global::Program program(host.shape(), how);
  watch.attach(program.engine(), host.shape(), WatchDepth::counts);
  std::vector<TaskCounts> looks;
  // By the first, when all have begun and none has ended; by each that comes after it.
  const auto look = [&] {
    TaskCounts now = watch.counts();
    while (now.asked < kNative) {
      std::this_thread::yield();
      now = watch.counts();
    }
    looks.push_back(now);
  };
  FlowResult result;
  program.set_main([&] {
    result = run([&] {
      for (std::uint64_t i = 0; i < kNative; ++i)
        async([&look] { look(); }, {.native = true})();
    });
  });
  host.run(program.engine());
  ASSERT_EQ(result.text(), "");
  ASSERT_EQ(looks.size(), kNative);
  EXPECT_EQ(looks[0].running(), 1U);
  EXPECT_EQ(looks[0].waiting(), kNative - 1);
  for (std::uint64_t i = 0; i < kNative; ++i) {
    EXPECT_EQ(looks[i].for_thread(), kNative - 1 - i);
    EXPECT_GE(looks[i].running(), 1U);  // and one that is on its way back to its core
    EXPECT_EQ(looks[i].waiting() + looks[i].running() + looks[i].ended, kNative);
  }
  EXPECT_EQ(watch.counts().running(), 0U);
  EXPECT_EQ(watch.counts().waiting(), 0U);
  EXPECT_EQ(watch.counts().ended, kNative);
}

TEST(FlowWatch, ATraceShowsTasksByName) {
  const program_testing::TempFolder folder;
  for (std::uint64_t seed = 0; seed < n_seeds(5); ++seed) {
    observe::Trace trace;
    const Seen seen = watch_flow(
        seed,
        [] {
          tasks_of_known_length();
          // Beside its core, so that it has a line of its own.
          static_cast<void>(async([] { return 1; }, {.name = "beside", .native = true})());
        },
        {}, &trace);
    const std::string path = folder / "flow.trace";
    observe::Trace::write(path, {trace.pack()},
                          {"test", seen.run.nodes, {{"turn", "", "", false}}});
    const std::string text = program_testing::content_of(path);
    const auto n_of = [&](const std::string& part) {
      std::size_t n = 0;
      for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++n;
      return n;
    };
    EXPECT_EQ(n_of(R"("ph":"X","cat":"task","name":"draw")"), static_cast<std::size_t>(kTasks))
        << "seed " << seed;
    EXPECT_EQ(n_of(R"("ph":"b","cat":"task","name":"beside")"), 1U) << "seed " << seed;
    EXPECT_EQ(n_of(R"("ph":"e","cat":"task","name":"beside")"), 1U) << "seed " << seed;
    EXPECT_NE(text.find("\"failed\":true"), std::string::npos) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::flow

#include "rubato/flow/observe/progress_engine.hpp"

#include "rubato/core/sim_host.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/observe/node_watch.hpp"
#include "rubato/net/sim.hpp"

namespace rubato::flow {
namespace {

struct Progressed {
  FlowResult result;
  TaskCounts of_all;              // as node 0 was told
  TaskCounts counted;             // by the nodes themselves
  std::vector<TaskCounts> looks;  // by main, meanwhile
  std::string error;
};

// `main` is given a look at what node 0 knows.
template <class F>
Progressed run_with_progress(std::uint64_t seed, std::uint32_t n_nodes, const F& main) {
  net::SimOptions network_options;
  network_options.n_nodes = n_nodes;
  network_options.seed = seed;
  network_options.profile = net::parse_profile("ec2-large");
  network_options.shuffle_ties = true;
  net::SimNetwork network(network_options);
  Progressed all;
  global::ProgramOptions options{{}, global::kTestBytesACore};
  options.messages.n_native_threads = 0;
  options.messages.clock = nullptr;
  std::vector<std::unique_ptr<NodeWatch>> watches;
  std::vector<std::unique_ptr<global::Program>> programs;
  std::vector<std::unique_ptr<ProgressEngine>> progress;
  std::vector<core::Engine*> engines;
  for (net::NodeId node = 0; node < n_nodes; ++node) {
    const core::JobShape shape{node, n_nodes, 2};
    watches.push_back(std::make_unique<NodeWatch>(nullptr));
    programs.push_back(std::make_unique<global::Program>(shape, options));
    watches.back()->attach(programs.back()->engine(), shape, WatchDepth::counts);
    programs.back()->set_main([&] {
      const auto look = [&] { all.looks.push_back(progress.front()->counts()); };
      all.result = run([&] { main(look); });
    });
    progress.push_back(std::make_unique<ProgressEngine>(
        programs.back()->engine(), shape,
        [watch = watches.back().get()] { return watch->counts(); }));
    engines.push_back(progress.back().get());
  }
  core::SimHost host(network, {.n_cores = 2, .shuffle = true, .seed = seed});
  try {
    host.run(engines);
  } catch (const Error& error) {
    all.error = error.what();
  }
  all.of_all = progress.front()->counts();
  for (const auto& watch : watches)
    all.counted.add(watch->counts());
  return all;
}

// Half a second of virtual time on some core, again and again.
Future<void> long_tasks(int n) {
  auto [done, writer] = make_container<std::int64_t>();
  async_for(0, n,
            [](std::int64_t i, const Inserter<std::int64_t>& out) {
              CoreContext::here().charge(300 * kMillisecond);
              out.insert(i, i);
            },
            {.grain = 1})(std::move(writer));
  return async([](std::int64_t) {})(done.size());
}

TEST(ProgressEngine, NodeZeroIsToldOfAllNodes) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 5);
    const Progressed all = run_with_progress(seed, n_nodes, [](const auto& look) {
      for (int i = 0; i < 4; ++i) {
        long_tasks(40).get();
        look();
      }
    });
    ASSERT_EQ(all.error, "") << "seed " << seed;
    ASSERT_EQ(all.result.text(), "") << "seed " << seed;
    ASSERT_EQ(all.counted.ended, all.result.counters.n_run) << "seed " << seed;
    std::uint64_t before = 0;
    for (const TaskCounts& look : all.looks) {
      EXPECT_GE(look.ended, before) << "seed " << seed;
      EXPECT_LE(look.ended, all.counted.ended) << "seed " << seed;
      before = look.ended;
    }
    // Of all that ended before, all but what others did within the last interval.
    const std::uint64_t n_late = std::uint64_t{n_nodes} * 2 * 4;
    EXPECT_GE(all.looks.back().ended + n_late, all.counted.ended) << "seed " << seed;
    EXPECT_GE(all.of_all.ended + n_late, all.counted.ended) << "seed " << seed;
  }
}

TEST(ProgressEngine, ADeadlockIsFoundAsWithoutIt) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Progressed all = run_with_progress(seed, 3, [](const auto& /*look*/) {
      long_tasks(10).get();
      auto [future, promise] = make_datum<std::int64_t>();
      static_cast<void>(future.get());
    });
    EXPECT_NE(all.error.find("deadlock"), std::string::npos) << all.error;
  }
}

TEST(ProgressText, SaysWhatIsLeftOnlyWhenTheNumberOfTasksStays) {
  ProgressText text;
  TaskCounts counts;
  counts.made = 100;
  counts.begun = 10;
  counts.ended = 8;
  counts.failed = 1;
  const ProgressText::Line first = text.look(kSecond, counts);
  EXPECT_LT(first.part, 0);
  EXPECT_EQ(first.text, "2 running, 90 waiting, 7 done, 1 failed, 8.0 tasks/s");
  counts.made = 200;
  EXPECT_LT(text.look(4 * kSecond, counts).part, 0);
  counts.begun = counts.ended = 50;
  EXPECT_LT(text.look(5 * kSecond, counts).part, 0);
  const ProgressText::Line known = text.look(7 * kSecond, counts);
  EXPECT_DOUBLE_EQ(known.part, 0.25);
  EXPECT_EQ(known.left, 21 * kSecond);
}

TEST(ProgressText, TasksThatWaitForAThreadDoNotRun) {
  ProgressText text;
  TaskCounts counts;
  counts.made = 10;
  counts.begun = 7;
  counts.ended = 1;
  counts.asked = 6;
  counts.served = 3;
  EXPECT_EQ(text.look(kSecond, counts).text, "3 running, 6 waiting, 1 done, 0 failed, 1.0 tasks/s");
}

TEST(ProgressText, TheRateIsThatOfTheLastSeconds) {
  ProgressText text;
  TaskCounts counts;
  counts.made = 10'000;
  ProgressText::Line line;
  for (int second = 1; second <= 60; ++second) {
    counts.begun = counts.ended = second < 10 ? second * 1'000U : 9'000U + second;
    line = text.look(second * kSecond, counts);
  }
  EXPECT_EQ(line.text, "0 running, 940 waiting, 9060 done, 0 failed, 1.0 tasks/s");
  EXPECT_EQ(line.left, 940 * kSecond);
}

}  // namespace
}  // namespace rubato::flow

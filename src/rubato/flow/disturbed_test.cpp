// Flows while nodes are lost, while messages are late, and with hardly any room for messages.

#include "rubato/flow/mixed_flow_test.hpp"

namespace rubato::flow {
namespace {

global::SimulateOptions options_of(std::uint64_t seed) {
  return {.n_nodes = static_cast<std::uint32_t>(2 + seed % 4),
          .n_cores = static_cast<std::uint32_t>(1 + seed / 4 % 2),
          .profile = seed % 3 == 0 ? "ec2-large" : "const, base=5",
          .seed = seed,
          .shuffle = true,
          .extra_delay_max = 5'000,
          .program = {seed % 2 == 0 ? global::tiny_windows() : core::MessageOptions{},
                      global::kTestBytesACore}};
}

// Whatever is under way, the run ends at once and says which node it was. There is no journal.
TEST(Disturbed, flows_end_with_the_name_of_the_node_that_was_lost) {
  constexpr int kSeeds = 240;
  int n_lost = 0;
  std::array<int, mixed::kParts> n_under_way{};
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    global::SimulateOptions options = options_of(seed);
    const mixed::Ran whole = mixed::simulate(options);
    ASSERT_NO_FATAL_FAILURE(mixed::expect_whole(whole));
    const auto when = static_cast<Nanos>(hash_words(seed, std::uint64_t{7}) %
                                         static_cast<std::uint64_t>(whole.run.wall));
    const auto node =
        static_cast<core::NodeId>(hash_words(seed, std::uint64_t{8}) % options.n_nodes);
    options.kills = {{node, when}};
    try {
      // The order of events is another one, in which the run may have ended before.
      const mixed::Ran ended = mixed::simulate(options);
      ASSERT_LE(ended.run.wall, when);
      ASSERT_NO_FATAL_FAILURE(mixed::expect_whole(ended));
    } catch (const Error& error) {
      ++n_lost;
      EXPECT_EQ(error.code(), ExitCode::node_lost) << error.what();
      const std::string text = error.what();
      EXPECT_NE(text.find("node " + std::to_string(node) + " ("), std::string::npos) << text;
      EXPECT_NE(text.find("was lost at "), std::string::npos) << text;
    }
    for (std::size_t part = 0; part < mixed::kParts; ++part) {
      const std::uint32_t n = mixed::n_run(static_cast<mixed::Part>(part));
      n_under_way[part] += n > 0 && n < mixed::kEach ? 1 : 0;
    }
  }
  EXPECT_GT(n_lost, kSeeds - 10);
  for (std::size_t part = 0; part < mixed::kParts; ++part)
    EXPECT_GT(n_under_way[part], kSeeds / 8) << mixed::kNames[part];
}

TEST(Disturbed, flows_have_the_serial_result_however_late_messages_are) {
  constexpr std::array<const char*, 6> kProfiles{
      "ec2-small",
      "distribution=lognormal, median=80, sigma=1.5",
      "distribution=pareto, median=50, alpha=1.1, cap=20000",
      "ec2-large, spike-prob=0.3, spike-lo=1000, spike-hi=20000",
      "const, base=20, stall=0:0:1:3",
      "const, base=20, host-stall=1:1:2, host-stall=2:2:1"};
  for (const char* profile : kProfiles) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(std::string(profile) + ", seed " + std::to_string(seed));
      global::SimulateOptions options = options_of(seed);
      options.profile = profile;
      ASSERT_NO_FATAL_FAILURE(mixed::expect_whole(mixed::simulate(options)));
    }
  }
}

// One record at a time to each core and to each node.
constexpr core::MessageOptions kOneMessage{
    .block_bytes = 1, .window_blocks = 1, .buffer_bytes = 1, .window_bytes = 1};

// Nothing is lost, and nothing runs twice.
TEST(Disturbed, flows_run_each_task_once_with_room_for_one_message) {
  constexpr std::array<const char*, 3> kProfiles{"const", "const, base=5", "ec2-large"};
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    global::SimulateOptions options = options_of(seed);
    options.profile = kProfiles[seed % kProfiles.size()];
    options.program.messages = kOneMessage;
    // And with stacks for main and one task more.
    if (seed % 4 == 0) options.program.messages.tasks.stacks.n_guarded_max = 2;
    ASSERT_NO_FATAL_FAILURE(
        mixed::expect_whole(mixed::simulate(options, seed % 5 < 3 ? "gpu=1" : "gpu=2/node")));
  }
}

// What takes long, for a thread beside the cores; and its result.
std::int64_t sum_of_squares(std::int64_t n) {
  std::vector<Future<std::int64_t>> squares;
  for (std::int64_t i = 0; i < n; ++i)
    squares.push_back(async([](std::int64_t x) { return x * x; }, {.native = true})(i));
  std::int64_t sum = 0;
  for (const auto& square : squares)
    sum += square.get();
  return sum;
}

// And with one such thread.
TEST(Disturbed, flows_run_each_task_once_on_real_cores_with_room_for_one_message) {
  core::MessageOptions messages = kOneMessage;
  messages.n_native_threads = 1;
  for (int round = 0; round < 3; ++round) {
    mixed::n_runs = {};
    mixed::Ran ran;
    const auto main = [&] {
      const auto sum = async([] { return sum_of_squares(60); })();
      ran.word = mixed::flow();
      EXPECT_EQ(sum.get(), 59 * 60 * 119 / 6);
    };
    net::LocalFabric fabric;
    core::NodeHostOptions options;
    options.n_cores = 2;
    options.owns_process = false;
    core::NodeHost host(fabric, options);
    global::run(host, {messages, global::kTestBytesACore}, [&] {
      ran.result = run(main, {Workers::parse({"gpu=1"}), {}});
    });
    ASSERT_NO_FATAL_FAILURE(mixed::expect_whole(ran)) << round;
  }
}

}  // namespace
}  // namespace rubato::flow

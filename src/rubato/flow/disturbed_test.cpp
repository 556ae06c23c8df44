// Flows while nodes are lost, while messages are late, and with hardly any room for messages, stacks
// or memory.

#include <optional>

#include "rubato/flow/mixed_flow_test.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"

namespace rubato::flow {
namespace {

global::SimulateOptions options_of(std::uint64_t seed) {
  return global::disturbed_options(seed, seed % 3 == 0 ? "ec2-large" : "const, base=5");
}

// Whatever is under way, the run ends at once and says which node it was. There is no journal.
TEST(Disturbed, flows_end_with_the_name_of_the_node_that_was_lost) {
  const std::uint64_t n = n_seeds(180);
  std::uint64_t n_lost = 0;
  std::array<std::uint64_t, mixed::kParts> n_under_way{};
  for (std::uint64_t seed = 0; seed < n; ++seed) {
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
      const std::uint32_t n_run = mixed::n_run(static_cast<mixed::Part>(part));
      n_under_way[part] += n_run > 0 && n_run < mixed::kEach ? 1 : 0;
    }
  }
  EXPECT_GT(n_lost, n - n / 24);
  for (std::size_t part = 0; part < mixed::kParts; ++part)
    EXPECT_GT(n_under_way[part], n / 8) << mixed::kNames[part];
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
    for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
      SCOPED_TRACE(std::string(profile) + ", seed " + std::to_string(seed));
      global::SimulateOptions options = options_of(seed);
      options.profile = profile;
      ASSERT_NO_FATAL_FAILURE(mixed::expect_whole(mixed::simulate(options)));
    }
  }
}

// Nothing is lost, and nothing runs twice.
TEST(Disturbed, flows_run_each_task_once_with_room_for_one_message) {
  constexpr std::array<const char*, 3> kProfiles{"const", "const, base=5", "ec2-large"};
  for (std::uint64_t seed = 0; seed < n_seeds(150); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    global::SimulateOptions options = options_of(seed);
    options.profile = kProfiles[seed % kProfiles.size()];
    options.program.messages = global::room_for_one_message();
    // And with stacks for main and one task more.
    if (seed % 4 == 0) options.program.messages.tasks.stacks.n_guarded_max = 2;
    ASSERT_NO_FATAL_FAILURE(
        mixed::expect_whole(mixed::simulate(options, seed % 5 < 3 ? "gpu=1" : "gpu=2/node")));
  }
}

using Words = global::GlobalArray<mixed::Word>;

// What a core has of global memory, and what a holder takes of it: three of them at a time have room.
constexpr std::uint64_t kSmallHeap = std::uint64_t{1} << 20;
constexpr std::uint64_t kHeld = kSmallHeap * 2 / 7;

// An array of that size on all cores, or none while there is no room.
std::optional<Words> try_make() {
  const std::uint64_t n_words = global::n_cores() * (kHeld / sizeof(mixed::Word));
  try {
    return Words::make(n_words);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no room for "), std::string::npos) << error.what();
    return std::nullopt;
  }
}

struct Holders {
  std::int64_t n_refused = 0;
  std::int64_t n_now = 0;
  std::int64_t n_most = 0;
};
// Of the test that runs; virtual nodes are one process and one thread.
Holders holders;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// Waits until there is room, and holds it for a while.
mixed::Word hold_and_work(std::int64_t i) {
  std::optional<Words> words = try_make();
  while (!words) {
    ++holders.n_refused;
    CoreContext::here().charge(100 * kMicrosecond);
    CoreContext::here().yield();
    words = try_make();
  }
  holders.n_most = std::max(holders.n_most, ++holders.n_now);
  const std::uint64_t last = words->size() - 1;
  EXPECT_EQ(global::read((*words)[last]), 0U);  // nothing of those before
  global::write((*words)[last], static_cast<mixed::Word>(i));
  CoreContext::here().charge(20 * kMicrosecond);
  CoreContext::here().yield();
  const mixed::Word read = global::read((*words)[last]);
  --holders.n_now;
  words->free();
  return read;
}

// Memory that is used up refuses, and is there again when others have given it back; nothing else
// suffers, however small windows are.
TEST(Disturbed, flows_go_on_while_global_memory_is_used_up) {
  constexpr std::int64_t kHolders = 12;
  std::int64_t n_refused = 0;
  const std::uint64_t n = n_seeds(24);
  for (std::uint64_t seed = 0; seed < n; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    global::SimulateOptions options = options_of(seed);
    options.program.bytes_a_core = kSmallHeap;
    if (seed % 3 == 0) options.program.messages = global::room_for_one_message();
    holders = {};
    mixed::Ran ran;
    mixed::n_runs = {};
    const auto main = [&] {
      std::vector<Future<mixed::Word>> held;
      const auto hold = [](std::int64_t i) { return hold_and_work(i); };
      for (std::int64_t i = 0; i < kHolders; ++i)
        held.push_back(async(hold)(i));
      ran.word = mixed::flow();
      for (std::int64_t i = 0; i < kHolders; ++i)
        EXPECT_EQ(held[static_cast<std::size_t>(i)].get(), static_cast<mixed::Word>(i));
    };
    ran.run = global::simulate(
        [&] {
          ran.result = run(main, {Workers::parse({"gpu=1/node"}), {}});
        },
        options);
    ASSERT_NO_FATAL_FAILURE(mixed::expect_whole(ran));
    ASSERT_LE(holders.n_most, 3);
    n_refused += holders.n_refused;
  }
  EXPECT_GT(n_refused, static_cast<std::int64_t>(n));
}

// A task that does not try again has failed with what there was no room for, and with it what needs
// it; all others have run.
TEST(Disturbed, flows_say_which_tasks_found_no_room_and_run_the_others) {
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    global::SimulateOptions options = options_of(seed);
    options.program.bytes_a_core = kSmallHeap;
    mixed::n_runs = {};
    mixed::Ran ran;
    const auto main = [&] {
      const auto take = [](std::uint64_t n_words) {
        const auto words = Words::make(global::n_cores() * n_words);
        words.free();
        return n_words;
      };
      const auto small = async(take, {.name = "take"})(kHeld / 8);
      const auto large = async(take, {.name = "take"})(kSmallHeap);
      const auto needs = async([](std::uint64_t x) { return x; })(large);
      ran.word = mixed::flow();
      EXPECT_EQ(small.get(), kHeld / 8);
      EXPECT_THROW(static_cast<void>(needs.get()), Error);
    };
    global::simulate(
        [&] {
          ran.result = run(main, {Workers::parse({"gpu=1/node"}), {}});
        },
        options);
    ASSERT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    EXPECT_NE(ran.result.text().find("task 'take' of "), std::string::npos) << ran.result.text();
    EXPECT_NE(ran.result.text().find("no room for "), std::string::npos) << ran.result.text();
    ASSERT_EQ(ran.word, mixed::serial());
    ASSERT_EQ(ran.result.n_data_held, 0U) << ran.result.leak_text();
    for (std::size_t part = 0; part < mixed::kParts; ++part)
      ASSERT_EQ(mixed::n_run(static_cast<mixed::Part>(part)), mixed::kEach);
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
  core::MessageOptions messages = global::room_for_one_message();
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

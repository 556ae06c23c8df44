// Units that tasks put and get beside a flow of all other kinds, while nodes are lost, while messages
// are late, and with room for one message.

#include "rubato/flow/mixed_flow_test.hpp"
#include "rubato/flow/pool/unit_kind.hpp"

namespace rubato::flow {
namespace {

constexpr std::int64_t kUnits = 60;

const UnitKind<std::int64_t> kParts("part");  // NOLINT(cert-err58-cpp): before main, as all actions

// Of the run that is under way; virtual nodes are one process and one thread.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::array<std::uint32_t, kUnits> n_got;

// For anybody, for a core, and for a node if it may be.
UnitOptions options_of_unit(std::int64_t i) {
  const core::JobShape& shape = CoreContext::here().shape();
  const auto priority = static_cast<std::int32_t>(i % 5);
  switch (i % 3) {
    case 0:
      return {.priority = priority};
    case 1:
      return {.priority = priority,
              .core = static_cast<CoreId>(i) % static_cast<CoreId>(shape.n_cores_total())};
    default:
      return {.priority = priority,
              .node = static_cast<NodeId>(i) % shape.n_nodes,
              .may_move = i % 2 == 0};
  }
}

// A tree: whoever gets a unit puts two more.
mixed::Word take_units() {
  mixed::Word sum = 0;
  while (const auto unit = kParts.get()) {
    CoreContext::here().charge(5 * kMicrosecond);
    CoreContext::here().yield();
    ++n_got.at(static_cast<std::size_t>(*unit));
    sum += hash_words(static_cast<mixed::Word>(*unit), std::uint64_t{1});
    for (const std::int64_t next : {2 * *unit + 1, 2 * *unit + 2}) {
      if (next < kUnits) kParts.put(next, options_of_unit(next));
    }
  }
  return sum;
}

// A task on each core gets units, so that those for a core are got, too.
mixed::Word flow() {
  std::vector<Future<mixed::Word>> sums;
  for (CoreId core = 0; core < global::n_cores(); ++core)
    sums.push_back(async([] { return take_units(); }, {.core = core})());
  kParts.put(0);
  const mixed::Word word = mixed::flow();
  mixed::Word sum = 0;
  mixed::Word expected = 0;
  for (const auto& each : sums)
    sum += each.get();
  for (std::int64_t i = 0; i < kUnits; ++i)
    expected += hash_words(static_cast<mixed::Word>(i), std::uint64_t{1});
  EXPECT_EQ(sum, expected);
  return word;
}

mixed::Ran simulate(const global::SimulateOptions& options) {
  n_got = {};
  return mixed::simulate(options, "gpu=1/node", flow);
}

void expect_units(const mixed::Ran& ran) {
  ASSERT_NO_FATAL_FAILURE(mixed::expect_whole(ran));
  for (std::size_t i = 0; i < n_got.size(); ++i)
    ASSERT_EQ(n_got[i], 1U) << i;
}

TEST(DisturbedUnits, are_got_once_however_late_messages_are) {
  constexpr std::array<const char*, 4> kProfiles{
      "distribution=pareto, median=50, alpha=1.1, cap=20000",
      "ec2-large, spike-prob=0.3, spike-lo=1000, spike-hi=20000", "const, base=20, stall=0:0:1:3",
      "const, base=20, host-stall=1:1:2, host-stall=2:2:1"};
  for (std::uint64_t seed = 0; seed < n_seeds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const char* const profile = kProfiles[seed % kProfiles.size()];
    ASSERT_NO_FATAL_FAILURE(expect_units(simulate(global::disturbed_options(seed, profile))));
  }
}

TEST(DisturbedUnits, are_got_once_with_room_for_one_message) {
  for (std::uint64_t seed = 0; seed < n_seeds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    global::SimulateOptions options =
        global::disturbed_options(seed, seed % 2 == 0 ? "const" : "ec2-large");
    options.program.messages = global::room_for_one_message();
    ASSERT_NO_FATAL_FAILURE(expect_units(simulate(options)));
  }
}

// Who waits for a unit is told, too, that a node was lost.
TEST(DisturbedUnits, end_with_the_name_of_the_node_that_was_lost) {
  const std::uint64_t n = n_seeds(60);
  std::uint64_t n_lost = 0;
  std::uint64_t n_under_way = 0;
  for (std::uint64_t seed = 0; seed < n; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    global::SimulateOptions options = global::disturbed_options(seed, "const, base=5");
    const mixed::Ran whole = simulate(options);
    ASSERT_NO_FATAL_FAILURE(expect_units(whole));
    const auto when = static_cast<Nanos>(hash_words(seed, std::uint64_t{7}) %
                                         static_cast<std::uint64_t>(whole.run.wall));
    const auto node =
        static_cast<core::NodeId>(hash_words(seed, std::uint64_t{8}) % options.n_nodes);
    options.kills = {{node, when}};
    try {
      ASSERT_NO_FATAL_FAILURE(expect_units(simulate(options)));
    } catch (const Error& error) {
      ++n_lost;
      EXPECT_EQ(error.code(), ExitCode::node_lost) << error.what();
      const std::string text = error.what();
      EXPECT_NE(text.find("node " + std::to_string(node) + " ("), std::string::npos) << text;
    }
    for (const std::uint32_t got : n_got)
      ASSERT_LE(got, 1U);
    const auto n_units = std::reduce(n_got.begin(), n_got.end());
    n_under_way += n_units > 0 && n_units < kUnits ? 1 : 0;
  }
  EXPECT_GT(n_lost, n - n / 12);
  EXPECT_GT(n_under_way, n / 12);
}

}  // namespace
}  // namespace rubato::flow

// Random scripts while messages are late, and with hardly any room for messages, stacks or data.

#include "rubato/flow/interpret/random_runs_test.hpp"
#include "rubato/global/loop.hpp"

namespace rubato::flow {
namespace {

using random_scripts::RandomScript;

TEST(DisturbedScripts, do_what_a_direct_evaluation_does_however_late_messages_are) {
  constexpr std::array<const char*, 5> kProfiles{
      "distribution=lognormal, median=80, sigma=1.5",
      "distribution=pareto, median=50, alpha=1.1, cap=20000",
      "ec2-large, spike-prob=0.3, spike-lo=1000, spike-hi=20000", "const, base=20, stall=0:0:1:3",
      "const, base=20, host-stall=1:1:2, host-stall=2:2:1"};
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const RandomScript script(seed, {.may_fail = seed % 2 == 0});
    const char* const profile = kProfiles[seed % kProfiles.size()];
    ASSERT_NO_FATAL_FAILURE(
        random_scripts::run_as_expected(seed, script, global::disturbed_options(seed, profile)));
  }
}

TEST(DisturbedScripts, do_what_a_direct_evaluation_does_with_room_for_one_message) {
  constexpr std::array<const char*, 3> kProfiles{"const", "const, base=5", "ec2-large"};
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const RandomScript script(seed, {.may_fail = seed % 2 == 0});
    global::SimulateOptions options =
        global::disturbed_options(seed, kProfiles[seed % kProfiles.size()]);
    options.program.messages = global::room_for_one_message();
    // And with stacks for main and one task more.
    if (seed % 4 < 2) options.program.messages.tasks.stacks.n_guarded_max = 2;
    ASSERT_NO_FATAL_FAILURE(random_scripts::run_as_expected(seed, script, options));
  }
}

// Loops are put aside again and again.
TEST(DisturbedScripts, do_what_a_direct_evaluation_does_with_room_for_few_data) {
  const auto bound_loops = [] {
    global::on_all_cores([] { Flow::here().throttle().set_at_data_most(4); });
  };
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const RandomScript script(seed, {.may_fail = seed % 2 == 0, .n_statements = 8});
    global::SimulateOptions options =
        global::disturbed_options(seed, seed % 3 == 0 ? "ec2-large" : "const");
    if (seed % 5 == 0) options.program.messages = global::room_for_one_message();
    ASSERT_NO_FATAL_FAILURE(random_scripts::run_as_expected(seed, script, options, bound_loops));
  }
}

}  // namespace
}  // namespace rubato::flow

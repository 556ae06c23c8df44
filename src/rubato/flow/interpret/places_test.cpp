// Where a script's tasks run that say so.

#include <map>

#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script_test.hpp"

namespace rubato::flow {
namespace {

std::map<CoreId, int> n_on_core;  // of one simulated run, which is one thread
std::int64_t note_core(std::int64_t n) {
  ++n_on_core[CoreContext::here().core()];
  return n;
}
[[maybe_unused]] const bool kLeaves = register_leaf("note_core", &note_core);

// 4 nodes of 3 cores.
std::map<CoreId, int> cores_of(std::uint64_t round, const std::string& text) {
  n_on_core.clear();
  const Ran ran = run_text(11 + 12 * round, "leaf note_core(integer n) to (integer m)\n" + text);
  EXPECT_EQ(ran.result.text(), "") << "round " << round;
  return n_on_core;
}

// One core begins them all: each core of a node gets as many as the others.
TEST(Places, of_tasks_that_belong_to_a_node_are_its_cores_in_turn) {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    const std::string m = "m" + std::to_string(i);
    text += "integer " + m + "\nwhen {} then {" + m + "} from {note_core 1} only on node " +
            (i % 2 == 0 ? "1" : "3") + "\n";
  }
  for (std::uint64_t round = 0; round < n_seeds(10); ++round) {
    const auto n = cores_of(round, text);
    ASSERT_EQ(n, (std::map<CoreId, int>{{3, 2}, {4, 2}, {5, 2}, {9, 2}, {10, 2}, {11, 2}}))
        << "round " << round;
  }
}

// However many data a body makes, and whatever core runs it.
TEST(Places, of_a_loop_of_tasks_for_a_node_are_all_its_cores) {
  for (const std::string more : {"", "integer x = i; print(x > 99)", "integer x = i y = i\n"}) {
    const std::string text =
        "for i in [1 : 120] {\ninteger m\nwhen {} then {m} from {note_core i} "
        "only on node 2\n" +
        more + "\n}\n";
    for (std::uint64_t round = 0; round < n_seeds(5); ++round) {
      const auto n = cores_of(round, text);
      ASSERT_EQ(n.size(), 3U) << "round " << round;
      for (const auto& [core, n_tasks] : n) {
        EXPECT_EQ(core / 3, 2U);
        // Each of the twelve cores that make them takes turns.
        EXPECT_GE(n_tasks, 40 - 12) << "core " << core << " in round " << round;
      }
    }
  }
}

TEST(Places, of_tasks_that_belong_to_a_core_are_that_core) {
  for (std::uint64_t round = 0; round < n_seeds(5); ++round) {
    const auto n = cores_of(round,
                            "for i in [0 : 23] {\ninteger m\n"
                            "when {} then {m} from {note_core i} only on core (i % 12)\n}\n");
    ASSERT_EQ(n.size(), 12U) << "round " << round;
    for (const auto& [core, n_tasks] : n)
      ASSERT_EQ(n_tasks, 2) << "core " << core;
  }
}

}  // namespace
}  // namespace rubato::flow

// Files that take long to read, on real cores.

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

// The one core starts both programs while the script reads what the second one writes.
TEST(SlowFiles, are_read_beside_the_cores) {
  const program_testing::TempFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string text = R"(
    app nap() to (void v) { "sleep" "0.2" }
    app say(string pipe) to (void v) { "sh" "-c" "echo from afar > $0" pipe }
    file pipe (arg("pipe"))
    string said
    said = read(pipe)
    void rested told
    when {} then {rested} from {nap}
    when {rested} then {told} from {say filename(pipe)}
    assert(said == "from afar\n", "what was written to the pipe")
    assert(size(glob(arg("pipe") ++ "*")) == 1, "the pipe alone")
  )";
  FlowResult result;
  global::run_here(1, [&] {
    result = run_script(text, "slow.tic", {{{"pipe", pipe}}, folder.path()});
  });
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(result.n_tasks(), 2U);
}

}  // namespace
}  // namespace rubato::flow

// Random scripts whose nodes are lost, again and again, and which go on with their journals on other
// numbers of nodes: in the end all is as a direct evaluation has it, and each leaf has ended well once.

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "rubato/flow/interpret/random_runs_test.hpp"
#include "rubato/flow/journal/journal.hpp"

namespace rubato::flow {
namespace {

using program_testing::TempFolder;

constexpr std::size_t kBytesACore = std::size_t{1} << 20;  // of which scripts use none

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

std::size_t n_lines(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// One script and its runs.
class Killed {
 public:
  explicit Killed(std::uint64_t seed, bool has_programs = false)
      : seed_(seed), may_fail_(seed / 2 % 2 == 1) {
    std::filesystem::create_directory(files_);
    const random_scripts::Kinds kinds{
        .may_fail = may_fail_, .folder = files_, .n_statements = 8, .has_programs = has_programs};
    text_ = random_scripts::ScriptMaker(seed, kinds).make(expected_);
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] std::size_t n_calls() const { return n_lines(expected_.calls); }
  // That have ended well so far.
  [[nodiscard]] std::size_t n_done() const { return n_lines(calls_); }

  // Without being disturbed, and as if it had not been: finds out when leaves are called.
  void measure() {
    ASSERT_NO_FATAL_FAILURE(run(0, {}));
    ASSERT_NO_FATAL_FAILURE(expect_whole());
    first_call_ = random_scripts::calls().first;
    last_call_ = random_scripts::calls().last;
    if (last_call_ == first_call_) last_call_ = wall_;  // nothing but programs
    std::filesystem::remove_all(journal_);
    std::filesystem::remove_all(files_);
    std::filesystem::create_directory(files_);
    calls_.clear();
  }

  // A run that loses a node: the first one while leaves run, later ones at any time, since most of it
  // may be done. False if it has ended before.
  bool lose_node(std::uint64_t round) {
    const std::uint32_t n_nodes = n_nodes_of(round);
    const auto node =
        static_cast<core::NodeId>(hash_words(seed_, round, std::uint64_t{8}) % n_nodes);
    const Nanos begin = round == 0 ? first_call_ : 0;
    const auto span = static_cast<std::uint64_t>(std::max(Nanos{1}, last_call_ - begin));
    const Nanos when =
        begin + static_cast<Nanos>(hash_words(seed_, round, std::uint64_t{7}) % span);
    run(round, {{node, when}});
    // What was said was said once.
    const auto said = lines_of(out_);
    const auto expected = lines_of(expected_.lines);
    EXPECT_TRUE(std::ranges::includes(expected, said)) << out_;
    return was_lost_;
  }

  // A run to the end; what all of them have done is what was to be done.
  void finish(std::uint64_t round) {
    const std::size_t n_before = n_done();
    ASSERT_NO_FATAL_FAILURE(run(round, {}));
    ASSERT_NO_FATAL_FAILURE(expect_whole());
    ASSERT_EQ(result_.journal.n_done, n_before);
    ASSERT_EQ(result_.journal.n_again, 0U);
  }

 private:
  [[nodiscard]] std::uint32_t n_nodes_of(std::uint64_t round) const {
    return static_cast<std::uint32_t>(2 + (seed_ + round) % 3);
  }

  void run(std::uint64_t round, std::vector<std::pair<core::NodeId, Nanos>> kills) {
    RunOptions how;
    how.journal.folder = journal_;
    // Of a run whose first node was lost before any had begun there is nothing.
    how.journal.resume = Journal::has_run(journal_);
    random_scripts::forget_calls();
    was_lost_ = false;
    const bool is_killed = !kills.empty();
    testing::internal::CaptureStdout();
    try {
      wall_ = global::simulate(
                  [&] {
                    result_ = run_script(text_, "test.tic", {{}, folder_.path()}, how);
                  },
                  {.n_nodes = n_nodes_of(round),
                   .n_cores = static_cast<std::uint32_t>(1 + (seed_ / 3 + round) % 2),
                   .profile = seed_ % 3 == 0 ? "ec2-large" : "const",
                   .seed = seed_ + 1'000'003 * round,
                   .shuffle = true,
                   .extra_delay_max = 5'000,
                   .kills = std::move(kills),
                   .program = {global::windows_of(seed_ + round), kBytesACore}})
                  .wall;
    } catch (const Error& error) {
      was_lost_ = is_killed && error.code() == ExitCode::node_lost;
      EXPECT_TRUE(was_lost_) << error.what();
    }
    out_ = testing::internal::GetCapturedStdout();
    const std::string log = random_scripts::log_of(files_);
    calls_ += random_scripts::calls().lines + program_testing::content_of(log);
    std::filesystem::remove(log);
  }

  void expect_whole() const {
    ASSERT_NO_FATAL_FAILURE(
        random_scripts::expect_outcome({sorted_lines(out_), result_}, calls_, expected_));
  }

  std::uint64_t seed_;
  bool may_fail_;
  TempFolder folder_;
  std::string journal_ = folder_ / "journal";
  std::string files_ = folder_ / "files";
  random_scripts::Outcome expected_;
  std::string text_;
  Nanos first_call_ = 0;
  Nanos last_call_ = 0;
  std::string calls_;  // of all runs
  // Of the last run.
  FlowResult result_;
  std::string out_;
  Nanos wall_ = 0;
  bool was_lost_ = false;
};

constexpr std::uint64_t kParts = 4;

class KilledScripts : public ::testing::TestWithParam<std::uint64_t> {};

// Whether a node was lost; and something was done before, and something was left to do.
struct KilledEnd {
  bool has_lost = false;
  bool resumes = false;
};
KilledEnd kill_and_finish(Killed& killed, std::uint64_t n_kills) {
  bool has_lost = false;
  for (std::uint64_t round = 0; round < n_kills; ++round)
    has_lost |= killed.lose_node(round);
  const bool resumes = has_lost && killed.n_done() > 0 && killed.n_done() < killed.n_calls();
  killed.finish(n_kills);
  // There is nothing left to do.
  if (!testing::Test::HasFailure()) killed.finish(n_kills + 1);
  return {has_lost, resumes};
}

TEST_P(KilledScripts, do_each_thing_once_however_often_nodes_are_lost) {
  const std::uint64_t n = n_seeds(6);
  std::uint64_t n_resumed = 0;
  std::uint64_t n_scripts = 0;
  for (std::uint64_t seed = GetParam(); n_scripts < n; seed += kParts) {
    Killed killed(seed);
    if (killed.n_calls() < 4) continue;
    ++n_scripts;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + killed.text());
    ASSERT_NO_FATAL_FAILURE(killed.measure());
    n_resumed += kill_and_finish(killed, 1 + seed / kParts % 3).resumes ? 1 : 0;
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_GT(n_resumed, n / 3);
}

INSTANTIATE_TEST_SUITE_P(Parts, KilledScripts, ::testing::Range(std::uint64_t{0}, kParts));

// Programs take their time, so these are few.
TEST(KilledPrograms, do_each_thing_once_however_often_nodes_are_lost) {
  const std::uint64_t n = n_seeds(6);
  std::uint64_t n_scripts = 0;
  std::uint64_t n_lost = 0;
  for (std::uint64_t seed = 0; n_scripts < n; ++seed) {
    Killed killed(seed, true);
    if (killed.n_calls() < 4) continue;
    ++n_scripts;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + killed.text());
    ASSERT_NO_FATAL_FAILURE(killed.measure());
    n_lost += kill_and_finish(killed, 1 + seed % 3).has_lost ? 1 : 0;
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_GT(n_lost, 0U);
}

}  // namespace
}  // namespace rubato::flow

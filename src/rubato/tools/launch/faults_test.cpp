// Nodes of a real model that are ended, lost or stalled, under each MPI that is installed.

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <signal.h>
#include <sys/wait.h>

#include "rubato/base/time.hpp"
#include "rubato/net/profile.hpp"
#include "rubato/tick/checkpoint/folder.hpp"
#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

constexpr Nanos kPatience = 20 * kSecond;

class JobFaults : public ::testing::TestWithParam<std::string> {
 protected:
  // Starts 3 nodes of heat.
  void start(const std::string& ticks) {
    start_run("heat --width 64 --height 64 --ticks " + ticks);
  }
  // Starts nodes of a run, which say their process ids first, and waits until all compute.
  void start_run(const std::string& words, const std::string& restarts = "0",
                 std::size_t n_nodes = 3) {
    output_ = scratch("job");
    std::remove(output_.c_str());  // of the job before
    child_ = fork();
    if (child_ == 0) {
      std::freopen(output_.c_str(), "w", stdout);
      dup2(STDOUT_FILENO, STDERR_FILENO);
      execute(with(with({RUBATO_PROGRAM, "launch", "-n", std::to_string(n_nodes), "--mpi",
                         GetParam(), "--restarts", restarts},
                        launch_options_),
                   {"--", "sh", "-c",
                    "echo \"pid $$ of ${OMPI_COMM_WORLD_RANK:-$PMI_RANK}.\"; " + before_run_ +
                        "exec \"$0\" run " + words + " --cores 1",
                    RUBATO_PROGRAM}));
      _exit(99);
    }
    for (const Nanos begin = steady_now();
         nodes().size() < n_nodes && steady_now() - begin < kPatience;) {
      nap(10 * kMillisecond);
    }
    ASSERT_EQ(nodes().size(), n_nodes) << output();
    nap(kSecond);
  }

  // Their process ids by rank, as far as they have said them.
  [[nodiscard]] std::map<int, pid_t> nodes() const {
    std::map<int, pid_t> found;
    const std::string text = output();
    for (std::size_t at = text.find("pid "); at != std::string::npos;
         at = text.find("pid ", at + 1)) {
      int pid = 0;
      int rank = 0;
      char dot = 0;
      if (std::sscanf(text.c_str() + at, "pid %d of %d%c", &pid, &rank, &dot) == 3)
        found[rank] = pid;
    }
    return found;
  }
  [[nodiscard]] std::string output() const {
    std::ostringstream text;
    text << std::ifstream(output_).rdbuf();
    return text.str();
  }

  // The job's exit code, and what it took from now on.
  std::pair<int, Nanos> end() {
    const Nanos begin = steady_now();
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return {exit_code_of(status), steady_now() - begin};
  }
  void expect_nobody_left() const {
    for (const auto& [rank, pid] : nodes())
      EXPECT_FALSE(kill(pid, 0) == 0 && errno != ESRCH) << "node " << rank << " is still alive";
  }
  void TearDown() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    std::remove(output_.c_str());
  }

  pid_t child_ = -1;
  std::string output_;
  std::vector<std::string> launch_options_;
  std::string before_run_;  // what the shell of a node does before it becomes the program
};

constexpr const char* kForEver = "1000000000";

TEST_P(JobFaults, signals_end_every_node_within_two_seconds) {
  for (const auto& [signal, code] : {std::pair{SIGTERM, 143}, {SIGINT, 130}}) {
    start(kForEver);
    kill(child_, signal);
    const auto [found, took] = end();
    EXPECT_EQ(found, code) << output();
    EXPECT_LT(took, 2 * kSecond);
    EXPECT_NE(output().find(signal == SIGINT ? "rubato: interrupted, ending all nodes\n"
                                             : "rubato: terminated, ending all nodes\n"),
              std::string::npos)
        << output();
    expect_nobody_left();
  }
}

TEST_P(JobFaults, a_killed_node_ends_the_job_with_exit_5_and_its_name) {
  for (const int rank : {0, 2}) {
    start(kForEver);
    kill(nodes()[rank], SIGKILL);
    const auto [code, took] = end();
    EXPECT_EQ(code, 5) << output();
    EXPECT_LT(took, 10 * kSecond);
    EXPECT_NE(output().find("rubato: node " + std::to_string(rank) + " ("), std::string::npos)
        << output();
    expect_nobody_left();
  }
}

std::size_t n_manifests(const std::string& folder) {
  std::error_code none_yet;
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none_yet))
    n += std::filesystem::exists(entry.path() / "manifest", none_yet) ? 1 : 0;
  return n;
}

std::string checksum_in(const std::string& text) {
  const std::size_t at = text.rfind("checksum ");
  return at == std::string::npos ? text : text.substr(at, sizeof "checksum " - 1 + 16);
}

// Killed twice, once each of two nodes; no hand on it. Paced, so that a fast machine is not done first.
TEST_P(JobFaults, a_job_that_lost_nodes_goes_on_from_its_checkpoints_with_the_same_bits) {
  const std::string words =
      "fish --fish 200 --policy k2m2d1 --ticks 500 --paced --ns-per-fish 100000";
  const std::string folder = scratch("restarts");
  start_run(words + " --checkpoint-every 20 --checkpoint " + folder, "3");
  for (const int rank : {1, 0}) {
    const auto before = nodes();
    for (const Nanos begin = steady_now();
         n_manifests(folder) < 2 && steady_now() - begin < kPatience;) {
      nap(10 * kMillisecond);
    }
    ASSERT_EQ(kill(before.at(rank), SIGKILL), 0) << output();
    for (const Nanos begin = steady_now();
         (nodes().size() < 3 || nodes().at(0) == before.at(0) || nodes().at(1) == before.at(1) ||
          nodes().at(2) == before.at(2)) &&
         steady_now() - begin < kPatience;) {
      nap(10 * kMillisecond);
    }
    nap(kSecond);
  }
  EXPECT_EQ(end().first, 0) << output();
  EXPECT_NE(output().find("starting the job again, 1 of 3 times"), std::string::npos) << output();
  EXPECT_NE(output().find("starting the job again, 2 of 3 times"), std::string::npos) << output();
  EXPECT_NE(output().find(", from tick "), std::string::npos) << output();
  const Answer alone = call({"run", "fish", "--fish", "200", "--ticks", "500"});
  EXPECT_EQ(checksum_in(output()), checksum_in(alone.out));
  std::filesystem::remove_all(folder);
}

// As the job starts again after a lost node: all nodes find the byte, and the same older checkpoint.
TEST_P(JobFaults, a_job_that_starts_again_passes_by_a_checkpoint_with_a_changed_byte) {
  const std::string folder = scratch("changed");
  const std::string words =
      "heat --width 64 --height 64 --checkpoint-every 20 --checkpoint " + folder;
  before_run_ = "export RUBATO_RUN_ID=20261125-120000-0a1b2c; ";
  start_run(words + " --ticks 60");
  ASSERT_EQ(end().first, 0) << output();
  const std::string part = folder + "/tick-00000060/part-00001";
  {
    std::fstream file(part, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(-8, std::ios::end);
    const int byte = file.peek();
    file.seekp(-8, std::ios::end);
    file.put(static_cast<char>(byte ^ 1));
    ASSERT_TRUE(file.good());
  }
  before_run_ += "export RUBATO_RESTARTED=1; ";
  start_run(words + " --ticks 100");
  ASSERT_EQ(end().first, 0) << output();
  EXPECT_NE(output().find(part + ": the piece at offset "), std::string::npos) << output();
  EXPECT_NE(output().find("; going on from " + folder + "/tick-00000040"), std::string::npos)
      << output();
  const Answer alone = call({"run", "heat", "--width", "64", "--height", "64", "--ticks", "100"});
  EXPECT_EQ(checksum_in(output()), checksum_in(alone.out));
  EXPECT_TRUE(std::filesystem::exists(folder + "/damaged-tick-00000060"));
  std::filesystem::remove_all(folder);
}

TEST_P(JobFaults, a_signal_to_the_launcher_saves_the_run_and_ends_it_with_75) {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    const std::string folder = scratch("saved");
    start_run(std::string("heat --width 64 --height 64 --ticks ") + kForEver + " --checkpoint " +
              folder);
    kill(child_, signal);
    EXPECT_EQ(end().first, 75) << output();
    EXPECT_EQ(n_manifests(folder), 1U) << output();
    EXPECT_NE(output().find("ended at a checkpoint, of tick "), std::string::npos) << output();
    expect_nobody_left();
    std::filesystem::remove_all(folder);
  }
}

// As if it took long to read its files.
TEST_P(JobFaults, a_signal_to_the_launcher_while_nodes_set_up_saves_the_run_when_it_has_begun) {
  const std::string folder = scratch("early");
  before_run_ = "sleep 3; ";
  start_run(std::string("heat --width 64 --height 64 --ticks ") + kForEver + " --checkpoint " +
            folder);
  kill(child_, SIGUSR1);
  EXPECT_EQ(end().first, 75) << output();
  EXPECT_EQ(n_manifests(folder), 1U) << output();
  std::filesystem::remove_all(folder);
}

// The node that is lost is one that does not come to saving anything.
TEST_P(JobFaults, a_job_that_was_told_to_end_does_not_start_again_for_a_lost_node) {
  const std::string folder = scratch("told");
  start_run(
      "heat --width 64 --height 64 --paced --ns-per-cell 5000 --ticks 1000 --checkpoint " + folder,
      "2");
  // Node 0 has it right before nodes say that they save.
  for (const Nanos begin = steady_now();
       !std::filesystem::exists(folder + "/lock") && steady_now() - begin < kPatience;) {
    nap(10 * kMillisecond);
  }
  nap(kSecond / 2);
  kill(nodes()[1], SIGSTOP);
  kill(child_, SIGTERM);
  nap(kSecond / 2);
  kill(nodes()[1], SIGKILL);
  EXPECT_EQ(end().first, 5) << output();
  EXPECT_EQ(output().find("starting the job again"), std::string::npos) << output();
  std::filesystem::remove_all(folder);
}

// A machine of names that are hosts of their own as far as launchers can see: its ssh starts what it is told
// to right here. A host with a file "dead-NAME" does not answer.
class FakeHosts {
 public:
  FakeHosts() {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/ssh") << R"(#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    -G) echo "hostname 127.0.0.1"; exit 0 ;;
    -o) shift 2 ;;
    --) shift; break ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=$1
shift
here=$(dirname "$0")
[ ! -e "$here/dead-$host" ] || exit 255
[ "$*" = true ] || echo $$ > "$here/pid-$host"
mkdir -p "$here/tmp-$host"
TMPDIR="$here/tmp-$host" exec sh -c "$*"
)";
    std::filesystem::permissions(folder_ + "/ssh", std::filesystem::perms::owner_all);
    std::ofstream(folder_ + "/hosts") << "here-a slots=1\nhere-b slots=1\n";
    setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
  }
  FakeHosts(const FakeHosts&) = delete;
  FakeHosts& operator=(const FakeHosts&) = delete;
  ~FakeHosts() {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string hostfile() const { return folder_ + "/hosts"; }
  // All that runs there ends at once, and it does not answer any more.
  void lose(const std::string& host) const {
    std::ofstream(folder_ + "/dead-" + host) << "";
    pid_t first = 0;
    std::ifstream(folder_ + "/pid-" + host) >> first;
    ASSERT_GT(first, 1);
    std::vector<pid_t> all{first};
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const pid_t child : children_of(all[i]))
        all.push_back(child);
    }
    for (const pid_t pid : all)
      kill(pid, SIGKILL);
  }

 private:
  static std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::string line;
      std::getline(std::ifstream(entry.path() / "stat"), line);
      const std::size_t behind_name = line.rfind(')');
      int its_parent = 0;
      if (behind_name != std::string::npos &&
          std::sscanf(line.c_str() + behind_name, ") %*c %d", &its_parent) == 1 &&
          its_parent == parent)
        found.push_back(std::stoi(entry.path().filename().string()));
    }
    return found;
  }

  const std::string folder_ = scratch("fake-hosts");
  const std::string path_ = std::getenv("PATH");
};

TEST_P(JobFaults, a_job_that_lost_a_host_goes_on_without_it_with_the_same_bits) {
  const FakeHosts hosts;
  const std::string folder = scratch("lost-host");
  launch_options_ = {"--hostfile", hosts.hostfile()};
  start_run(
      "fish --fish 200 --policy k2m2d1 --ticks 400 --paced --ns-per-fish 100000 "
      "--checkpoint-every 20 --checkpoint " +
          folder,
      "1", 2);
  for (const Nanos begin = steady_now();
       n_manifests(folder) < 2 && steady_now() - begin < kPatience;) {
    nap(10 * kMillisecond);
  }
  hosts.lose("here-b");
  EXPECT_EQ(end().first, 0) << output();
  EXPECT_NE(output().find("rubato: no answer from here-b; going on without, with 1 node\n"),
            std::string::npos)
      << output();
  EXPECT_NE(output().find(", from tick "), std::string::npos) << output();
  const Answer alone = call({"run", "fish", "--fish", "200", "--ticks", "400"});
  EXPECT_EQ(checksum_in(output()), checksum_in(alone.out));
  std::filesystem::remove_all(folder);
}

// A run whose work moves between nodes, or whose policy changes, while it goes on.
struct Restless {
  std::vector<std::string> model;  // with its parameters
  std::vector<std::string> moves;  // what has them move or change
};

class RestlessJobs : public JobFaults {
 protected:
  void TearDown() override {
    JobFaults::TearDown();
    std::filesystem::remove_all(folder_);
  }

  // 4 nodes of it save it each 7 ticks and go through epochs of 5. Then one of them is killed, or, with
  // another signal, the job is told to end.
  void break_off(const Restless& run, int signal) {
    std::string words;
    for (const auto& word :
         with(with(run.model, run.moves), {"--epoch", "5", "--checkpoint-every", "7",
                                           "--checkpoint", folder_, "--ticks", kForEver}))
      words += "'" + word + "' ";
    start_run(words, "0", 4);
    for (const Nanos begin = steady_now(); newest() < 21 && steady_now() - begin < kPatience;) {
      nap(10 * kMillisecond);
    }
    const bool is_killed = signal == SIGKILL;
    kill(is_killed ? nodes()[1] : child_, signal);
    EXPECT_EQ(end().first, is_killed ? 5 : 75) << output();
    expect_nobody_left();
    EXPECT_GE(newest(), 21) << output();
  }
  [[nodiscard]] tick::Tick newest() const {
    tick::Tick tick = 0;
    for (const auto& entry : tick::list_checkpoints(folder_))
      if (entry.whole) tick = entry.tick;
    return tick;
  }

  // What was saved goes on on 3 nodes and on 1, as restless as before, and ends in the bits of a run
  // alone that nobody broke off. The figures of the 3 nodes.
  [[nodiscard]] nlohmann::json expect_goes_on(const Restless& run) const {
    const std::vector<std::string> ticks{"--ticks", std::to_string(newest() + 40)};
    const std::string whole = json_of(with(with({"run"}, run.model), ticks)).at("checksum");
    const auto rest = with(with({"run", run.model.front(), "--resume", folder_, "--cores", "1"},
                                with(run.moves, {"--epoch", "5"})),
                           ticks);
    auto three =
        json_of(with({"launch", "-n", "3", "--mpi", GetParam(), "--", RUBATO_PROGRAM}, rest));
    EXPECT_EQ(three.at("checksum"), whole);
    EXPECT_EQ(json_of(rest).at("checksum"), whole);
    return three;
  }

  const std::string folder_ = scratch("restless");
};

const std::vector<std::string> kPiecesMove{"--policy", "pieces(2)", "--balance", "persistence",
                                           "--pieces", "24",        "--paced"};
// Messages are said to be late, so that there is a policy to change to.
const std::vector<std::string> kPoliciesChange{"--policy", "auto", "--profile", "median=1000",
                                               "--paced"};

TEST_P(RestlessJobs, pieces_of_points_of_a_killed_job_go_on_on_3_nodes_and_1_with_the_same_bits) {
  const Restless run{{"nbody", "--bodies", "300", "--clusters", "2", "--ns-per-pair", "1000"},
                     kPiecesMove};
  break_off(run, SIGKILL);
  // Bodies do not lie evenly.
  EXPECT_GT(expect_goes_on(run).at("pieces_moved"), 0);
}

TEST_P(RestlessJobs, pieces_of_graphs_of_a_saved_job_go_on_on_3_nodes_and_1_with_the_same_bits) {
  // The cut is even by edges; here vertices are what costs.
  const Restless run{{"pagerank", "--vertices", "600", "--tolerance", "0", "--ns-per-vertex",
                      "30000", "--ns-per-edge", "100"},
                     kPiecesMove};
  break_off(run, SIGTERM);
  EXPECT_GT(expect_goes_on(run).at("pieces_moved"), 0);
}

TEST_P(RestlessJobs, what_a_saved_job_of_policy_auto_goes_on_with_are_the_same_bits) {
  const Restless run{{"heat", "--width", "90", "--height", "80", "--ns-per-cell", "1000"},
                     kPoliciesChange};
  break_off(run, SIGTERM);
  EXPECT_FALSE(expect_goes_on(run).at("auto").empty());
}

TEST_P(RestlessJobs, what_a_killed_job_of_policy_auto_goes_on_with_are_the_same_bits) {
  const Restless run{{"fish", "--fish", "300", "--ns-per-fish", "30000"}, kPoliciesChange};
  break_off(run, SIGKILL);
  EXPECT_FALSE(expect_goes_on(run).at("auto").empty());
}

// The longest that any of the named profiles holds a message back.
Nanos longest_delay() {
  double longest_us = 0;
  for (const std::string& name : net::profile_names()) {
    const net::Profile profile = net::parse_profile(name);
    double us = profile.base_us + (profile.spike_prob > 0 ? profile.spike_hi_us : 0);
    if (profile.distribution != net::Distribution::none) us += profile.cap_us;
    for (const net::LinkStall& stall : profile.link_stalls)
      us += 1e3 * stall.for_ms;
    for (const net::HostStall& stall : profile.host_stalls)
      us += 1e3 * stall.for_ms;
    longest_us = std::max(longest_us, us);
  }
  return static_cast<Nanos>(longest_us * 1e3);
}

std::size_t n_tables(const std::string& folder) {
  std::error_code none_yet;
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none_yet))
    n += entry.path().extension() == ".csv" ? 1 : 0;
  return n;
}

// A node is lost while fish move between nodes and files of many ticks are put together.
TEST_P(JobFaults, what_a_killed_job_has_written_is_whole) {
  constexpr std::ptrdiff_t kFish = 500;
  const std::string folder = scratch("killed");
  for (const int rank : {0, 1, 2}) {
    start_run("fish --fish 500 --epoch 2 --every 1 --format csv --policy k2m2d1 --output " +
              folder + " --ticks " + kForEver);
    constexpr std::size_t kTicks = 4;
    for (const Nanos begin = steady_now();
         n_tables(folder) < kTicks && steady_now() - begin < kPatience;) {
      nap(10 * kMillisecond);
    }
    kill(nodes()[rank], SIGKILL);
    const auto [code, took] = end();
    EXPECT_EQ(code, 5) << output();
    EXPECT_LT(took, 10 * kSecond);
    expect_nobody_left();
    EXPECT_GE(n_tables(folder), kTicks) << output();
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
      if (entry.path().extension() != ".csv") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      EXPECT_EQ(std::ranges::count(text.str(), '\n'), kFish + 1) << entry.path();
    }
    std::filesystem::remove_all(folder);
  }
}

TEST_P(JobFaults, a_node_that_stands_still_for_seconds_is_not_lost) {
  constexpr Nanos kStall = 4 * kSecond;
  EXPECT_GT(longest_delay(), 100 * kMillisecond);
  EXPECT_GT(kStall, 2 * longest_delay());
  start("3000");
  const pid_t node = nodes()[1];
  kill(node, SIGSTOP);
  nap(kStall);
  kill(node, SIGCONT);
  EXPECT_EQ(end().first, 0) << output();
  EXPECT_NE(output().find("heat local: 3000 ticks"), std::string::npos) << output();
}

INSTANTIATE_TEST_SUITE_P(Mpi, JobFaults, ::testing::ValuesIn(installed_mpis()),
                         [](const auto& mpi) { return mpi.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(JobFaults);
INSTANTIATE_TEST_SUITE_P(Mpi, RestlessJobs, ::testing::ValuesIn(installed_mpis()),
                         [](const auto& mpi) { return mpi.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RestlessJobs);

}  // namespace
}  // namespace rubato::tools

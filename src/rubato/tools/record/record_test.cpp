// `run --record` and `runs` by the program itself: what is kept of runs that end well, badly or not at
// all, here, in the simulator and as a job.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/wait.h>

#include "rubato/base/time.hpp"
#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Words = std::vector<std::string>;

const Words kHeat{"run", "heat", "--width", "60", "--height", "40", "--ticks", "30"};
constexpr const char* kForEver = "1000000000";

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The fixtures' folder is new and goes with them.
class Record : public ::testing::Test {
 protected:
  Record() : root_(scratch("record")) { fs::create_directories(root_); }
  ~Record() override { fs::remove_all(root_); }

  [[nodiscard]] std::string at(const std::string& name) const { return root_ + "/" + name; }
  // What run.json says, and what `runs show` makes of it.
  [[nodiscard]] static json file_of(const std::string& folder) {
    return json::parse(text_of(folder + "/run.json"), nullptr, false);
  }
  [[nodiscard]] static json shown(const std::string& folder) {
    const Answer answer = call({"runs", "show", folder, "--json"});
    EXPECT_EQ(answer.code, 0) << answer.err;
    return json::parse(answer.out, nullptr, false);
  }
  static void expect_end(const std::string& folder, const std::string& status, int code) {
    const json run = shown(folder).at("run");
    EXPECT_EQ(run.at("status"), status) << run;
    EXPECT_EQ(run.at("exit_code"), code) << run;
  }
  // A run that is sent a signal when it is recorded as running; its exit code.
  [[nodiscard]] int interrupt(const Words& words, const std::string& folder, int signal) const {
    Words all{RUBATO_PROGRAM};
    all = with(all, words);
    const pid_t child = fork();
    if (child == 0) {
      std::freopen(at("said").c_str(), "w", stderr);
      std::freopen("/dev/null", "w", stdout);
      execute(all);
      _exit(99);
    }
    for (int i = 0; i < 1000 && !fs::exists(folder + "/run.json"); ++i)
      nap(10 * kMillisecond);
    nap(200 * kMillisecond);
    EXPECT_EQ(shown(folder).at("run").at("status"), "running");
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return exit_code_of(status);
  }
  [[nodiscard]] std::string said() const { return text_of(at("said")); }

  const std::string root_;
};

TEST_F(Record, has_all_of_a_run) {
  const std::string folder = at("all");
  const Answer answer =
      call(with(kHeat, {"--simulate", "3", "--profile", "ec2-large", "--policy", "k2m3", "--format",
                        "csv", "--every", "10", "--checkpoint-every", "10", "--seed", "7",
                        "--record", folder, "--json"}));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(text_of(folder + "/figures.json"), answer.out) << "what --json prints";
  const std::string report = text_of(folder + "/report.txt");
  EXPECT_NE(report.find("node        stepping"), std::string::npos) << report;
  EXPECT_NE(report.find("30 ticks in "), std::string::npos) << report;
  for (const char* file :
       {"output/heat.csv", "output/heat-00000010.csv", "checkpoints/tick-00000030/manifest"}) {
    EXPECT_TRUE(fs::exists(folder + "/" + file)) << file;
  }
  EXPECT_FALSE(fs::exists(folder + "/.lock"));

  const json run = file_of(folder);
  EXPECT_EQ(run.at("status"), "done");
  EXPECT_EQ(run.at("model"), "heat");
  EXPECT_EQ(run.at("policy"), "replicate(2,3)");
  EXPECT_EQ(run.at("profile"), "ec2-large");
  EXPECT_EQ(run.at("seed"), 7);
  EXPECT_EQ(run.at("simulated"), true);
  EXPECT_EQ(run.at("n_nodes"), 3);
  EXPECT_EQ(run.at("command").at(1), "run");
  EXPECT_EQ(run.at("command").at(2), "heat");
  const auto& parameters = run.at("parameters");
  const auto named = [&](const char* name) {
    return *std::ranges::find_if(parameters, [&](const json& p) { return p.at("name") == name; });
  };
  EXPECT_EQ(named("width").at("value"), "60");
  EXPECT_EQ(named("width").at("set"), true);
  EXPECT_EQ(named("edges").at("value"), "held");
  EXPECT_EQ(named("edges").at("set"), false);
  ASSERT_EQ(run.at("hosts").size(), 1U);
  EXPECT_GT(run.at("hosts").at(0).at("processors"), 0);
  const json version = json::parse(call({"--version", "--json"}).out);
  EXPECT_EQ(run.at("build").at("commit"), version.at("commit"));
  EXPECT_EQ(run.at("build").at("instruction_sets"), version.at("instruction_sets"));
}

TEST_F(Record, input_files_are_known_by_their_content) {
  const std::string walls = at("walls.csv");
  const auto hash = [&](const std::string& text, const char* name) {
    std::ofstream(walls) << text;
    EXPECT_EQ(call({"run", "heat", "--walls", walls, "--ticks", "3", "--record", at(name)}).code,
              0);
    const json run = file_of(at(name));
    for (const json& parameter : run.at("parameters")) {
      if (parameter.at("name") == "walls") return parameter.at("file_hash").get<std::string>();
    }
    return std::string();
  };
  const std::string first = hash("1,1,1\n1,0,1\n1,1,1\n", "a");
  EXPECT_EQ(first.size(), 16U);
  EXPECT_NE(hash("1,1,1\n1,0,1\n1,0,1\n", "b"), first);
  EXPECT_EQ(hash("1,1,1\n1,0,1\n1,1,1\n", "c"), first);
  EXPECT_EQ(call({"runs", "diff", at("a"), at("c")}).code, 0);
  EXPECT_NE(call({"runs", "diff", at("a"), at("b")}).out.find("--walls, content"),
            std::string::npos);
}

TEST_F(Record, a_value_that_happens_to_be_the_name_of_a_file_is_a_value) {
  const std::string script =
      "cd \"$1\" && echo wide > 60 && $0 run heat --width 60 --height 40 --ticks 3 --record a "
      "2>/dev/null";
  ASSERT_EQ(run_program({"sh", "-c", script, RUBATO_PROGRAM, root_}).code, 0);
  const json run = file_of(at("a"));
  for (const json& parameter : run.at("parameters"))
    EXPECT_FALSE(parameter.contains("file_hash")) << parameter;
}

TEST_F(Record, how_the_work_is_shared_is_recorded_and_compared) {
  const Words few{"run", "pagerank", "--vertices", "300",        "--tolerance",
                  "0",   "--ticks",  "20",         "--simulate", "3"};
  const auto record = [&](const std::string& name, const Words& words) {
    EXPECT_EQ(call(with(with(few, words), {"--record", at(name)})).code, 0) << name;
    return file_of(at(name));
  };
  const json tuned = record("auto", {"--policy", "auto"});
  EXPECT_EQ(tuned.at("policy"), "auto");
  const json local = record("local", {"--policy", "local"});
  EXPECT_EQ(local.at("policy"), "local");
  const json plb = record("plb", {"--policy", "asytick-plb", "--pieces", "24"});
  EXPECT_EQ(plb.at("policy"), "asytick-plb");
  EXPECT_EQ(plb.at("pieces"), 24);
  EXPECT_EQ(plb.at("balance"), "persistence");
  EXPECT_EQ(plb.at("epoch"), 50);
  (void)record("stays", {"--policy", "asytick-plb", "--pieces", "12", "--balance", "none"});
  const std::string first = call({"runs", "diff", at("auto"), at("local")}).out;
  EXPECT_NE(first.find("policy"), std::string::npos) << first;
  const std::string second = call({"runs", "diff", at("plb"), at("stays")}).out;
  for (const char* text : {"pieces", "balance", "persistence"})
    EXPECT_NE(second.find(text), std::string::npos) << text << " in " << second;
}

TEST_F(Record, a_run_without_a_folder_gets_a_new_one_in_runs) {
  const std::string script =
      "cd \"$1\" && for i in 1 2; do $0 run heat --width 9 --height 9 --ticks 3 --record --every 2 "
      "2>/dev/null || exit; done; $0 runs list --json";
  const Finished finished = run_program({"sh", "-c", script, RUBATO_PROGRAM, root_});
  ASSERT_EQ(finished.code, 0) << finished.out;
  const json list = json::parse(finished.out.substr(finished.out.find("\n[") + 1));
  ASSERT_EQ(list.size(), 2U);
  EXPECT_NE(list.at(0).at("name"), list.at(1).at("name"));
  for (const json& run : list) {
    EXPECT_TRUE(run.at("name").get<std::string>().starts_with("heat-20")) << run;
    EXPECT_EQ(run.at("status"), "done");
    EXPECT_EQ(run.at("ticks"), 3);
    EXPECT_EQ(run.at("checksum").get<std::string>().size(), 16U);
    EXPECT_TRUE(fs::exists(root_ + "/" + run.at("folder").get<std::string>() + "/output/heat.csv"));
  }
}

TEST_F(Record, what_is_recorded_is_not_overwritten) {
  ASSERT_EQ(call(with(kHeat, {"--record", at("a")})).code, 0);
  const std::string before = text_of(at("a/run.json"));
  const Answer again = call(with(kHeat, {"--record", at("a") + "/"}));
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.err.find("--record: " + at("a") + " holds a run of heat: expected a new folder"),
            std::string::npos)
      << again.err;
  EXPECT_EQ(text_of(at("a/run.json")), before);
  EXPECT_TRUE(fs::exists(at("a/figures.json")));
  std::ofstream(at("file")) << "";
  const Answer file = call(with(kHeat, {"--record", at("file")}));
  EXPECT_EQ(file.code, 3);
  EXPECT_NE(file.err.find("--record: cannot make the folder " + at("file")), std::string::npos)
      << file.err;
}

TEST_F(Record, a_folder_in_which_a_run_is_under_way_is_refused) {
  const std::string folder = at("a");
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    execute({RUBATO_PROGRAM, "run", "heat", "--ticks", kForEver, "--record", folder});
    _exit(99);
  }
  for (int i = 0; i < 1000 && !fs::exists(folder + "/run.json"); ++i)
    nap(10 * kMillisecond);
  const Answer second = call(with(kHeat, {"--record", folder}));
  EXPECT_EQ(second.code, 2);
  EXPECT_NE(second.err.find("a run that is under way is recorded there"), std::string::npos)
      << second.err;
  EXPECT_EQ(shown(folder).at("run").at("status"), "running");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(Record, signals_are_told_from_a_killed_process_here_and_in_the_simulator) {
  for (const std::string nodes : {"", "2"}) {
    const Words more = nodes.empty() ? Words{} : Words{"--simulate", nodes};
    const auto run = [&](const std::string& name, const Words& words, int signal) {
      return interrupt(
          with(with({"run", "heat", "--ticks", kForEver, "--record", at(name)}, words), more),
          at(name), signal);
    };
    EXPECT_EQ(run("int" + nodes, {}, SIGINT), 130);
    expect_end(at("int" + nodes), "interrupted", 130);
    EXPECT_NE(said().find("recorded in " + at("int" + nodes)), std::string::npos) << said();
    EXPECT_EQ(run("term" + nodes, {}, SIGTERM), 143);
    expect_end(at("term" + nodes), "interrupted", 143);
    EXPECT_EQ(run("saved" + nodes, {"--checkpoint-every", kForEver}, SIGTERM), 75);
    expect_end(at("saved" + nodes), "checkpointed", 75);
    EXPECT_NE(shown(at("saved" + nodes)).at("last_saved").get<std::string>().find("/tick-"),
              std::string::npos);
    EXPECT_EQ(run("killed" + nodes, {}, SIGKILL), 128 + SIGKILL);
    EXPECT_EQ(file_of(at("killed" + nodes)).at("status"), "running");
    expect_end(at("killed" + nodes), "lost", 0);
  }
  const Answer list = call({"runs", "list", root_});
  for (const char* status : {"interrupted", "checkpointed", "lost"})
    EXPECT_NE(list.out.find(status), std::string::npos) << list.out;
  EXPECT_EQ(list.err, "");
}

// A step of 7 s: the process is ended in the midst of it.
TEST_F(Record, a_signal_is_told_though_a_step_takes_longer_than_the_run_may) {
  const std::string folder = at("long");
  EXPECT_EQ(interrupt({"run", "heat", "--width", "60", "--height", "60", "--paced", "--ns-per-cell",
                       "2000000", "--ticks", "100", "--cores", "1", "--record", folder},
                      folder, SIGINT),
            130);
  EXPECT_EQ(said().find("recorded in"), std::string::npos) << "it has not come to its end";
  expect_end(folder, "interrupted", 130);
  EXPECT_EQ(file_of(folder).at("error"), "interrupted");
}

TEST_F(Record, a_run_that_fails_says_why) {
  for (const std::string nodes : {"", " --simulate 3"}) {
    const std::string folder = at("full" + std::to_string(nodes.size()));
    // A limit on a file's size is a full disk for everybody, root or not.
    const Finished finished = run_program(
        {"sh", "-c",
         "trap '' XFSZ; ulimit -f 64; exec $0 run heat --width 300 --height 300 --ticks 3 "
         "--format csv --record $1 2>&1" +
             nodes,
         RUBATO_PROGRAM, folder});
    EXPECT_EQ(finished.code, 1) << finished.out;
    expect_end(folder, "failed", 1);
    EXPECT_NE(file_of(folder).at("error").get<std::string>().find("writing " + folder + "/output"),
              std::string::npos)
        << file_of(folder);
    EXPECT_EQ(shown(folder).at("figures"), nullptr);
  }
}

TEST_F(Record, a_usage_error_leaves_no_folder) {
  const std::vector<Words> wrong = {{"--simulate", "5", "--width", "2", "--height", "2"},
                                    {"--policy", "k5m1"},
                                    {"--format", "gif"},
                                    {"--walls", at("no.png")}};
  for (const Words& words : wrong) {
    const Answer answer = call(with(with({"run", "heat", "--record", at("new/a")}, words), {}));
    EXPECT_NE(answer.code, 0);
    EXPECT_EQ(std::ranges::count(answer.err, '\n'), 1) << answer.err;
    EXPECT_FALSE(fs::exists(at("new"))) << words.front();
  }
}

TEST_F(Record, a_run_goes_on_in_its_own_folder_or_in_a_new_one) {
  const std::string a = at("a");
  ASSERT_EQ(interrupt({"run", "heat", "--width", "60", "--height", "40", "--edge", "20", "--ticks",
                       kForEver, "--checkpoint-every", kForEver, "--record", a},
                      a, SIGTERM),
            75);
  const std::string saved = shown(a).at("last_saved");
  const std::int64_t tick = std::stoll(saved.substr(saved.rfind('-') + 1));
  const std::string ticks = std::to_string(tick + 20);
  const std::string b = at("b");
  ASSERT_EQ(call({"run", "heat", "--resume", a, "--ticks", ticks, "--record", b}).code, 0);
  EXPECT_EQ(file_of(b).at("begin"), tick);
  EXPECT_EQ(file_of(b).at("checkpoint").get<std::string>().find(a + "/checkpoints/tick-"), 0U);
  EXPECT_EQ(file_of(b).at("branch_tick"), 0);
  const std::string c = at("c");
  ASSERT_EQ(
      call({"run", "heat", "--resume", a, "--ticks", ticks, "--edge", "30", "--record", c}).code,
      0);
  EXPECT_EQ(file_of(c).at("branch_tick"), tick);
  EXPECT_EQ(call({"runs", "diff", b, c}).code, 0) << "other parameters, other bits";

  ASSERT_EQ(call({"run", "heat", "--resume", a, "--ticks", ticks, "--record", a}).code, 0);
  const json run = file_of(a);
  EXPECT_EQ(run.at("status"), "done");
  EXPECT_EQ(run.at("begin"), tick);
  ASSERT_EQ(run.at("earlier").size(), 1U);
  EXPECT_EQ(run.at("earlier").at(0).at("status"), "checkpointed");
  EXPECT_EQ(run.at("earlier").at(0).at("exit_code"), 75);
  const Answer same = call({"runs", "diff", a, b});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_NE(same.out.find("checksums: the same"), std::string::npos) << same.out;
  EXPECT_NE(call({"runs", "show", a}).out.find("start 1"), std::string::npos);
}

TEST_F(Record,
       what_goes_on_from_a_branch_is_not_held_against_a_run_that_had_its_parameters_all_along) {
  const std::string saved = at("saved");
  const std::string branch = at("branch");
  ASSERT_EQ(
      call(with(kHeat, {"--edge", "20", "--checkpoint-every", "10", "--checkpoint", saved})).code,
      0);
  ASSERT_EQ(call({"run", "heat", "--resume", saved + "/tick-00000020", "--edge", "30",
                  "--checkpoint-every", "5", "--checkpoint", branch})
                .code,
            0);
  ASSERT_EQ(call({"run", "heat", "--resume", branch + "/tick-00000025", "--record", at("on")}).code,
            0);
  ASSERT_EQ(call(with(kHeat, {"--edge", "30", "--record", at("whole")})).code, 0);
  EXPECT_EQ(file_of(at("on")).at("begin"), 25);
  EXPECT_EQ(file_of(at("on")).at("branch_tick"), 20);
  EXPECT_NE(call({"runs", "show", at("on")}).out.find("since tick 20"), std::string::npos);
  const Answer diff = call({"runs", "diff", at("on"), at("whole")});
  EXPECT_EQ(diff.code, 0) << diff.out;
  EXPECT_NE(diff.out.find("since tick 20"), std::string::npos) << diff.out;
  EXPECT_NE(diff.out.find(", of other states"), std::string::npos) << diff.out;
}

TEST_F(Record, diff_tells_configuration_figures_and_checksums) {
  ASSERT_EQ(call(with(kHeat, {"--record", at("a"), "--cores", "1"})).code, 0);
  ASSERT_EQ(call(with(kHeat, {"--record", at("b"), "--simulate", "4", "--policy", "k2m3"})).code,
            0);
  ASSERT_EQ(call(with(kHeat, {"--record", at("c"), "--edge", "5"})).code, 0);
  const Answer same = call({"runs", "diff", at("a"), at("b")});
  EXPECT_EQ(same.code, 0) << same.err;
  for (const char* text :
       {"policy", "replicate(2,3)", "4 virtual", "ticks/s", "checksums: the same"})
    EXPECT_NE(same.out.find(text), std::string::npos) << text << " in " << same.out;
  EXPECT_EQ(same.out.find("--width"), std::string::npos) << same.out;
  const Answer other = call({"runs", "diff", at("a"), at("c")});
  EXPECT_EQ(other.code, 0);
  EXPECT_NE(other.out.find("--edge"), std::string::npos) << other.out;
  EXPECT_NE(other.out.find(", of other states"), std::string::npos) << other.out;

  std::string figures = text_of(at("b/figures.json"));
  const std::string checksum = json::parse(figures).at("checksum");
  figures.replace(figures.find(checksum), checksum.size(), "0123456789abcdef");
  std::ofstream(at("b/figures.json")) << figures;
  const Answer broken = call({"runs", "diff", at("a"), at("b"), "--json"});
  EXPECT_EQ(broken.code, 1);
  const json diff = json::parse(broken.out);
  EXPECT_EQ(diff.at("must_agree"), true);
  EXPECT_EQ(diff.at("agree"), false);
  EXPECT_EQ(diff.at("checksum_b"), "0123456789abcdef");
  EXPECT_EQ(diff.at("figures").at(0).at("figure"), "ticks");
}

TEST_F(Record, show_has_the_report_and_a_bar_for_each_node) {
  ASSERT_EQ(
      call(with(kHeat, {"--record", at("a"), "--simulate", "3", "--profile", "ec2-large"})).code,
      0);
  const Answer page = call({"runs", "show", at("a")});
  EXPECT_EQ(page.code, 0) << page.err;
  for (const char* text : {"status", "parameter", "processor", "straggler: ", "share of all time"})
    EXPECT_NE(page.out.find(text), std::string::npos) << text << " in " << page.out;
  const json shown_run = shown(at("a"));
  EXPECT_EQ(shown_run.at("name"), "a");
  EXPECT_EQ(shown_run.at("figures").at("nodes").size(), 3U);
}

TEST_F(Record, bad_words_and_folders_are_named) {
  const auto expect = [](const Words& words, int code, const std::string& text) {
    const Answer answer = call(words);
    EXPECT_EQ(answer.code, code) << answer.err;
    EXPECT_NE(answer.err.find(text), std::string::npos) << answer.err;
    EXPECT_EQ(answer.out, "");
  };
  expect({"runs"}, 2, "expected list, show or diff behind runs");
  expect({"runs", "shw", "a"}, 2, "unknown action \"shw\" (did you mean \"show\"?)");
  expect({"runs", "diff", "a"}, 2, "OTHER is required");
  expect({"runs", "list", at("no")}, 3, "expected a folder with recorded runs, found nothing of");
  expect({"runs", "show", root_}, 3, "with run.json, found a folder without it");
  expect({"runs", "list", root_}, 0, "no run is recorded in " + root_);
  fs::create_directories(at("a"));
  std::ofstream(at("a/run.json")) << "{\"format\":1}";
  expect({"runs", "list", root_}, 0, at("a/run.json") + ": \"model\": expected a text");
  expect({"runs", "show", at("a")}, 3, at("a/run.json") + ": \"model\": expected a text");
}

class RecordOfJob : public Record, public ::testing::WithParamInterface<std::string> {
 protected:
  static Words job(const Words& options, const Words& words) {
    return with(
        with(with({"launch", "-n", "3", "--mpi", GetParam()}, options), {"--", RUBATO_PROGRAM}),
        words);
  }
  // As a shell's words for each node: $r is its rank, and $0 the program.
  [[nodiscard]] Answer script(const Words& options, const std::string& text) const {
    return call(
        with(with({"launch", "-n", "3", "--mpi", GetParam()}, options),
             {"--", "sh", "-c", "cd " + root_ + "; r=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; " + text,
              RUBATO_PROGRAM}));
  }
};

TEST_P(RecordOfJob, has_the_machines_of_all_nodes) {
  const Answer answer = call(job({}, with(kHeat, {"--cores", "1", "--every", "10", "--record",
                                                  at("a"), "--checkpoint-every", "10"})));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const json run = file_of(at("a"));
  EXPECT_EQ(run.at("status"), "done");
  EXPECT_EQ(run.at("n_nodes"), 3);
  EXPECT_EQ(run.at("n_cores"), 1);
  EXPECT_TRUE(
      run.at("mpi").get<std::string>().starts_with(GetParam() == "mpich" ? "MPICH " : "Open MPI "))
      << run.at("mpi");
  ASSERT_EQ(run.at("hosts").size(), 1U);
  EXPECT_EQ(run.at("hosts").at(0).at("nodes"), (std::vector<int>{0, 1, 2}));
  for (const char* file : {"output/heat.csv", "checkpoints/tick-00000030/part-00002", "report.txt"})
    EXPECT_TRUE(fs::exists(at("a/") + file)) << file;
  ASSERT_EQ(call(with(kHeat, {"--record", at("b")})).code, 0);
  const Answer diff = call({"runs", "diff", at("a"), at("b")});
  EXPECT_EQ(diff.code, 0) << diff.out;
  EXPECT_NE(diff.out.find("checksums: the same"), std::string::npos) << diff.out;
}

TEST_P(RecordOfJob, all_nodes_take_the_new_folder_of_node_0) {
  const Answer answer =
      script({}, "exec $0 run heat --width 60 --height 40 --ticks 9 --cores 1 --every 3 --record");
  ASSERT_EQ(answer.code, 0) << answer.err;
  ASSERT_EQ(std::distance(fs::directory_iterator(at("runs")), {}), 1);
  const std::string folder = fs::directory_iterator(at("runs"))->path().string();
  EXPECT_EQ(file_of(folder).at("status"), "done");
  EXPECT_TRUE(fs::exists(folder + "/output/heat-00000009.csv"));
}

// All nodes end with its code, and Open MPI ends those that have not yet.
TEST_P(RecordOfJob, an_error_is_written_down_before_any_node_leaves) {
  for (const std::string gravity : {"5", "50"}) {
    SCOPED_TRACE(gravity);
    const std::string folder = at("failed" + gravity);
    const Answer answer = call(job({}, {"run", "nbody", "--bodies", "500", "--gravity", gravity,
                                        "--ticks", "500", "--cores", "1", "--record", folder}));
    EXPECT_EQ(answer.code, 1) << answer.err;
    EXPECT_EQ(answer.err.find("abort"), std::string::npos) << answer.err;
    expect_end(folder, "failed", 1);
    EXPECT_NE(file_of(folder).at("error").get<std::string>().find("expected at most --speed-limit"),
              std::string::npos)
        << file_of(folder);
    for (const auto& entry : fs::directory_iterator(folder))
      EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
  }
}

TEST_P(RecordOfJob, a_signal_to_the_launcher_is_what_has_ended_it) {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}}) {
    const std::string folder = at("job" + std::to_string(code));
    EXPECT_EQ(
        interrupt(job({}, {"run", "heat", "--ticks", kForEver, "--cores", "1", "--record", folder}),
                  folder, signal),
        code);
    expect_end(folder, "interrupted", code);
  }
  const std::string folder = at("saved");
  EXPECT_EQ(interrupt(job({}, {"run", "heat", "--ticks", kForEver, "--cores", "1", "--record",
                               folder, "--checkpoint-every", kForEver}),
                      folder, SIGTERM),
            75);
  expect_end(folder, "checkpointed", 75);
}

// A shell's words for a node that kills itself once there is a file like that.
std::string killed_when(const std::string& condition, const std::string& file) {
  return "if " + condition + "; then (while ! ls " + file +
         " >/dev/null 2>&1; do sleep 0.1; done; sleep 0.3; kill -9 $$) & fi; ";
}

TEST_P(RecordOfJob, a_lost_node_has_its_name_in_the_record) {
  for (const std::string rank : {"0", "2"}) {
    const std::string folder = at("lost" + rank);
    std::string text = killed_when("[ $r = " + rank + " ]", folder + "/run.json");
    text.append("exec $0 run heat --cores 1 --ticks ").append(kForEver);
    text.append(" --record ").append(folder);
    const Answer answer = script({}, text);
    EXPECT_EQ(answer.code, 5) << answer.err;
    expect_end(folder, "lost", 5);
    EXPECT_TRUE(file_of(folder).at("error").get<std::string>().starts_with("node " + rank + " ("))
        << file_of(folder);
  }
}

TEST_P(RecordOfJob, starts_after_a_lost_node_are_one_run) {
  const Answer answer = script(
      {"--restarts", "2"},
      killed_when("[ $r = 1 ] && [ -z \"$RUBATO_RESTARTED\" ]", "runs/*/checkpoints/*/manifest") +
          "exec $0 run fish --fish 200 --ticks 300 --paced --ns-per-fish 200000 --cores 1 "
          "--checkpoint-every 20 --record");
  ASSERT_EQ(answer.code, 0) << answer.err;
  ASSERT_EQ(std::distance(fs::directory_iterator(at("runs")), {}), 1) << answer.err;
  const std::string folder = fs::directory_iterator(at("runs"))->path().string();
  const json run = file_of(folder);
  EXPECT_EQ(run.at("status"), "done");
  EXPECT_GT(run.at("begin"), 0) << "it went on from a checkpoint";
  ASSERT_EQ(run.at("earlier").size(), 1U);
  EXPECT_EQ(run.at("earlier").at(0).at("status"), "lost");
  EXPECT_EQ(run.at("earlier").at(0).at("exit_code"), 5);
  ASSERT_EQ(call({"run", "fish", "--fish", "200", "--ticks", "300", "--ns-per-fish", "200000",
                  "--record", at("alone")})
                .code,
            0);
  const Answer same = call({"runs", "diff", folder, at("alone")});
  EXPECT_EQ(same.code, 0);
  EXPECT_NE(same.out.find("checksums: the same"), std::string::npos) << same.out;
}

// The job is lost before its record begins.
TEST_P(RecordOfJob, a_job_that_starts_again_does_not_overwrite_another_run) {
  ASSERT_EQ(call(with(kHeat, {"--record", at("a")})).code, 0);
  const std::string before = text_of(at("a/run.json"));
  const Answer answer = script({"--restarts", "1"},
                               "[ -z \"$RUBATO_RESTARTED\" ] && kill -9 $$; exec $0 run heat "
                               "--ticks 9 --cores 1 --record a");
  EXPECT_EQ(answer.code, 2) << answer.err;
  EXPECT_NE(answer.err.find("holds a run of heat"), std::string::npos) << answer.err;
  EXPECT_EQ(text_of(at("a/run.json")), before);
  EXPECT_TRUE(fs::exists(at("a/figures.json")));
}

INSTANTIATE_TEST_SUITE_P(Mpi, RecordOfJob, ::testing::ValuesIn(installed_mpis()),
                         [](const auto& mpi) { return mpi.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RecordOfJob);

}  // namespace
}  // namespace rubato::tools

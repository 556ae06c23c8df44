// What users get wrong, by the program itself: one message with its place and what was expected,
// the exit code of its kind, and no file.

#include <algorithm>
#include <filesystem>
#include <functional>

#include <signal.h>
#include <sys/wait.h>

#include "rubato/base/time.hpp"
#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

namespace fs = std::filesystem;

struct Wrong {
  std::string name;   // of the test
  std::string words;  // behind "rubato run"; @ stands for the folder with the files
  int code;
  std::string message;  // a part of it
};

void PrintTo(const Wrong& wrong, std::ostream* out) {
  *out << wrong.words;
}

std::vector<std::string> words_of(std::string text, const std::string& folder) {
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@'))
    text.replace(at, 1, folder + "/");
  std::istringstream in(text);
  std::vector<std::string> words{"run"};
  for (std::string word; in >> word;)
    words.push_back(word);
  return words;
}

template <class Base>
class WithFolder : public Base {
 protected:
  WithFolder() : folder_(scratch("bad-input")) { fs::create_directories(folder_); }
  ~WithFolder() override { fs::remove_all(folder_); }

  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
  }
  // Names of all that a run has left, hidden ones too.
  [[nodiscard]] std::vector<std::string> left() const {
    std::vector<std::string> names;
    if (!fs::exists(folder_ + "/out")) return names;
    for (const auto& entry : fs::directory_iterator(folder_ + "/out"))
      names.push_back(entry.path().filename());
    return names;
  }
  std::string folder_;
};

class BadInput : public WithFolder<::testing::TestWithParam<Wrong>> {
 protected:
  BadInput() {
    put("word.csv", "id,x,y,vx,vy\n1,0,0,1,0\n2,1,x,1,0\n");
    put("short.csv", "id,x,y,vx,vy\n1,0,0,1,0\n2,1\n");
    put("twins.csv", "id,x,y,vx,vy\n7,0,0,1,0\n7,1,1,1,0\n");
    put("apart.csv", "id,x,y,vx,vy\n1,50,50,1,0\n2,120,130,1,0\n1,150,150,1,0\n");
    put("nobody.csv", "id,x,y,vx,vy\n");
    put("nan.csv", "1,2\n3,nan\n");
    put("notes.txt", "The house has\nthree rooms, a door and no roof\n");
    put("house.csv", "1,1,1\n1,0,1\n");
    put("rgb.ppm", "P6 2 2 255\n" + std::string(12, 'a'));
    put("short.pgm", "P5 4 4 255\nabc");
    put("word.txt", "1 2\n2 three\n");
    put("weighted.txt", "# from to weight\n0 1 2.5\n1 0 -1\n");
    put("heavy.txt", "0 1 1e308\n0 2 1e308\n");
    put("light.txt", "0 1 1e-310\n1 0 1\n");
    put("large.txt", "1 2\n1 5000000000\n");
    put("holes.txt", "1 4294967290\n");
    put("wrong.profile", "ec2-large\nbase=-3\n");
  }
};

TEST_P(BadInput, is_one_message_and_no_file) {
  std::vector<std::string> words = words_of(GetParam().words, folder_);
  words.insert(words.end(), {"--output", folder_ + "/out", "--every", "1"});
  const Answer answer = call(words);
  EXPECT_EQ(answer.code, GetParam().code) << answer.err;
  EXPECT_EQ(answer.out, "");
  EXPECT_NE(answer.err.find(GetParam().message), std::string::npos) << answer.err;
  EXPECT_EQ(std::ranges::count(answer.err, '\n'), 1) << answer.err;
  EXPECT_EQ(answer.err.rfind("rubato: ", 0), 0U) << answer.err;
  EXPECT_FALSE(fs::exists(folder_ + "/out")) << "the folder is new, and nothing was written to it";
}

const std::vector<Wrong> kArguments{
    {"flag", "heat --wdth 3", 2, "unknown flag \"--wdth\" (did you mean \"--width\"?)"},
    {"model", "haet", 2, "unknown model \"haet\" (did you mean \"heat\"?)"},
    {"period", "heat --policy k5m1", 2, "K = 5 is more than M + 1 = 2"},
    {"policy", "heat --policy replicate", 2, "replicate takes two whole numbers, K,M"},
    {"fraction", "heat --ticks 1e3", 2,
     "--ticks: expected a whole number from 0 to 9007199254740992, found \"1e3\""},
    {"word", "heat --seed x", 2, "--seed: expected a number, found \"x\""},
    {"negative_seed", "heat --seed -1", 2,
     "--seed: expected a whole number of 0 or more, found \"-1\""},
    {"slowdown", "heat --simulate 2 --slowdown -1", 2,
     "--slowdown: expected a number from 1e-06 to 1e+06, found \"-1\""},
    {"size_beside_a_file", "heat --walls @house.csv --width 4", 2,
     "house.csv has 3 x 2 cells, expected these or no size, found 4 x 2"},
    {"formats", "pagerank --vertices 50 --format csv,vtk,png", 2,
     "--format: expected csv alone, found \"csv,vtk,png\": tuples of pagerank have no place"},
    {"formats_of_a_simulation", "pagerank --vertices 50 --simulate 3 --format csv,png", 2,
     "--format: expected csv alone, found \"csv,png\""},
    {"profile", "heat --profile ec2-lagre", 2,
     "--profile: unknown profile \"ec2-lagre\" (did you mean \"ec2-large\"?)"},
    {"profile_value", "heat --simulate 2 --profile ec2-large,base=x", 2,
     "--profile: base: expected a number from 0 to 1e+09, found \"x\""},
    {"zero_fish", "fish --fish 0", 2, "there are 0 fish, expected at least 1"},
    {"too_few_fish_for_a_torus", "fish --fish 3 --simulate 4", 2,
     "--fish: the world of 3 fish that see 16 others (--neighbours) is 4.6"},
    {"zero_bodies", "nbody --bodies 0", 2, "there are 0 bodies, expected 1 to 10000000000"},
    {"narrow_torus_of_bodies", "nbody --width 2", 2, "--width: the world is 2 wide and goes round"},
    {"zero_rows", "jacobi --rows 0", 2, "rows: expected 1 to 100000000, found 0"},
    {"narrow_torus", "fish --width 12", 2, "--width: the world is 12 wide and goes round"},
    {"too_many_fish", "fish --fish 1000000000000", 2, "expected at most 10000000000"},
    {"range", "fish --dt 1e300", 2, "dt is 1e+300, expected a number from 0 to 1e+09"},
    {"raster", "heat --width 5000000000 --height 5000000000", 2, "found 5000000000 x 5000000000"},
    {"graph", "pagerank --vertices 5000000000", 2, "found 5000000000 and 8"},
    {"more_pieces_than_cells", "heat --width 2 --height 2 --simulate 5", 2,
     "--simulate 5: a grid of 2 x 2 cells cannot be cut into 5 boxes of whole cells; the nearest "
     "number that goes is 4"},
    {"pieces_with_a_large_factor", "fish --fish 46 --simulate 101", 2,
     "--simulate 101: a grid of 48 x 48 cells cannot be cut into 101 boxes of whole cells; the "
     "nearest number that goes is 100"},
    {"pieces_beside_the_parts", "heat --parts-x 3 --simulate 4", 2,
     "--simulate 4: --parts-x and --parts-y: a grid of 256 x 256 cells cannot be cut into 4 boxes "
     "of whole cells, 3 x 0 of them (0: any number); the product has to be 4, the number of "
     "nodes; the nearest number that goes is 3"},
    {"more_pieces_than_vertices", "pagerank --vertices 3 --simulate 4", 2,
     "--simulate 4: a graph of 3 vertices in 4 parts"},
    {"rows_beside_a_file", "jacobi --input @plate.mtx --rows 7", 2,
     "--rows: nothing reads it here; expected no --input with it: that file has the matrix"},
    {"degree_beside_a_file", "pagerank --input @pages.txt --degree 7", 2,
     "--degree: nothing reads it here; expected no --input with it: that file has the graph"},
    {"fish_beside_a_file", "fish --start @fish.csv --neighbours 7", 2,
     "--neighbours: nothing reads it here; expected no --start with it: that file has the fish"},
    {"bodies_beside_a_file", "nbody --start @bodies.csv --bodies 5 --clusters 3", 2,
     "--bodies: nothing reads it here; expected no --start with it: that file has the bodies"},
    {"drift_without_clusters", "nbody --bodies 100 --drift 3", 2,
     "--drift: nothing reads it here; expected --clusters with it"},
    {"cover_without_clusters", "nbody --bodies 100 --cover 0.5 --simulate 2", 2,
     "--cover: nothing reads it here; expected --clusters with it"},
    {"groups_without_gatherings", "nbody --bodies 100 --groups 3", 2,
     "--groups: nothing reads it here; expected --gatherings with it"},
    {"net_seed_without_a_profile", "fish --fish 200 --simulate 2 --net-seed 4", 2,
     "--net-seed: messages are not late: expected --profile with it"},
    {"paced_in_the_simulator", "fish --fish 200 --simulate 2 --paced", 2,
     "--paced is for real nodes; virtual ones take the time of their work: expected no --simulate"},
    {"more_pieces_than_blocks", "traffic --columns 2 --rows 2 --simulate 9", 2,
     "--simulate 9: traffic on 2 x 2 blocks in 9 parts: expected 1 to 4"},
};
const std::vector<Wrong> kFiles{
    {"profile_line", "heat --profile @wrong.profile", 3,
     "wrong.profile: line 2: base: expected a number from 0 to 1e+09, found \"-3\""},
    {"profile_missing", "heat --profile @no.profile", 3, "no.profile: cannot be read"},
    {"missing", "fish --reflecting --start @wrod.csv", 3, "(did you mean"},
    {"csv_word", "fish --reflecting --start @word.csv", 3,
     "word.csv: line 3, column 3 (y): expected a number, found \"x\""},
    {"csv_short_line", "fish --reflecting --start @short.csv", 3,
     "short.csv: line 3: expected 5 fields as in the header, found 2"},
    {"csv_twins", "fish --reflecting --start @twins.csv", 3,
     "twins.csv: line 3, column 1 (id): expected an id of its own, found \"7\""},
    {"csv_twins_on_two_nodes", "fish --start @apart.csv --width 200 --simulate 4", 3,
     "apart.csv: line 4, column 1 (id): expected an id of its own, found \"1\""},
    {"csv_without_rows", "fish --reflecting --start @nobody.csv", 3,
     "nobody.csv: there are 0 fish, expected at least 1"},
    {"csv_nan", "heat --sources @nan.csv", 3,
     "nan.csv: line 2, column 2: expected a finite number, found \"nan\""},
    {"walls_of_words", "heat --walls @notes.txt", 3,
     "notes.txt: line 1, column 1: expected a number, since the file is no PNG and no PGM, found "
     "\"The house has\""},
    {"image_depth", "heat --walls @rgb.ppm", 3,
     "rgb.ppm: expected gray samples, found 8-bit RGB samples"},
    {"image_cut", "heat --walls @short.pgm", 3, "short.pgm"},
    {"edges_word", "pagerank --input @word.txt", 3,
     "word.txt: line 2, column 2: expected a vertex id, found \"three\""},
    {"edges_with_a_third_number", "pagerank --input @weighted.txt", 2, "--weight-column: "},
    {"edges_with_a_third_number_by_line", "pagerank --input @weighted.txt", 2,
     "weighted.txt: line 2: the file has a third number in a line, expected --weight-column 3 if "
     "it "
     "is a weight, or --weight-column 0 if not, found 2.5"},
    {"edges_that_weigh_less_than_nothing", "pagerank --input @weighted.txt --weight-column 3", 3,
     "weighted.txt: line 3: expected a weight of 0 or more, found -1"},
    {"edges_that_weigh_too_much", "pagerank --input @heavy.txt --weight-column 3", 3,
     "heavy.txt: the edges out of vertex 0 weigh inf together, expected 0 or 1e-290 to 1e290"},
    {"edges_that_weigh_too_little", "pagerank --input @light.txt --weight-column 3", 3,
     "light.txt: the edges out of vertex 0 weigh 1e-310 together, expected 0 or 1e-290"},
    {"profile_folder", "heat --profile @.", 3, "cannot be read: Is a directory"},
    {"world_beyond_memory", "fish --fish 3 --width 2e6", 3, "cells as wide as what is seen"},
    {"edges_beyond_32_bits", "pagerank --input @large.txt", 3,
     "large.txt: line 2: vertex id 5000000000 does not fit 32 bits"},
    {"edges_of_a_graph_of_holes", "pagerank --input @holes.txt", 3, "--labels text"},
};
const auto kName = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(Arguments, BadInput, ::testing::ValuesIn(kArguments), kName);
INSTANTIATE_TEST_SUITE_P(Files, BadInput, ::testing::ValuesIn(kFiles), kName);

class Faults : public WithFolder<::testing::Test> {
 protected:
  // Of a run that writes each tick.
  [[nodiscard]] std::vector<std::string> writing(const std::string& text) const {
    auto words = words_of(text + " --every 1 --output @out", folder_);
    words.insert(words.begin(), RUBATO_PROGRAM);
    return words;
  }
  // Every file that can be seen is a whole one.
  void expect_whole() const {
    for (const std::string& name : left()) {
      if (name.starts_with(".")) continue;
      std::ostringstream text;
      text << std::ifstream(folder_ + "/out/" + name, std::ios::binary).rdbuf();
      if (name.ends_with(".png")) {
        EXPECT_NE(text.str().find("IEND"), std::string::npos) << name;
      } else {
        EXPECT_EQ(std::ranges::count(text.str(), '\n'), 40 * 300 + 1) << name;
      }
    }
  }
};

TEST_F(Faults, a_state_that_is_not_a_number_ends_the_run_though_nobody_writes_it) {
  for (const char* where : {"", " --simulate 3"}) {
    const std::string words = "heat --start 1.7e308 --edge -1.7e308 --time-step 0.2";
    const Answer answer = call(words_of(words + where, ""));
    EXPECT_EQ(answer.code, 1);
    EXPECT_NE(answer.err.find("not a number"), std::string::npos) << answer.err;
    EXPECT_NE(answer.err.find("rubato: heat: cell ("), std::string::npos) << answer.err;
    EXPECT_NE(answer.err.find("tick "), std::string::npos) << answer.err;
  }
}

TEST_F(Faults, a_size_that_is_the_files_own_is_no_fault) {
  put("house.csv", "1,1,1\n1,0,1\n");
  for (const char* size : {"--width 3 --height 2", "--height 2", ""}) {
    const Answer answer =
        call(words_of("heat --ticks 2 --walls @house.csv " + std::string(size), folder_));
    EXPECT_EQ(answer.code, 0) << answer.err;
  }
  EXPECT_EQ(call({"check", "heat", "--walls", folder_ + "/house.csv"}).code, 0);
}

TEST_F(Faults, more_pieces_than_fish_is_no_fault) {
  const auto checksum = [](const char* more) {
    const std::string out =
        call(words_of("fish --fish 5 --reflecting --ticks 3 " + std::string(more), "")).out;
    return out.substr(std::min(out.size(), out.rfind(' ')));
  };
  EXPECT_GT(checksum("").size(), 10U);
  EXPECT_EQ(checksum("--simulate 9"), checksum(""));
}

TEST_F(Faults, a_full_disk_leaves_no_file) {
  for (const char* model : {"heat --width 300 --height 300", "fish --fish 20000"}) {
    // A limit on a file's size is a full disk for everybody, root or not.
    std::vector<std::string> words{"sh", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\" 2>&1",
                                   "sh"};
    for (const auto& word : writing(std::string(model) + " --ticks 3"))
      words.push_back(word);
    const Finished finished = run_program(words);
    EXPECT_EQ(finished.code, 1) << finished.out;
    EXPECT_NE(finished.out.find("writing " + folder_), std::string::npos) << finished.out;
    EXPECT_EQ(left(), std::vector<std::string>()) << model;
  }
}

TEST_F(Faults, a_full_device_is_named) {
  const Answer trace = call({"run", "heat", "--ticks", "3", "--trace", "/dev/full"});
  EXPECT_EQ(trace.code, 1);
  EXPECT_NE(trace.err.find("writing /dev/full: No space left"), std::string::npos) << trace.err;
  const Finished out =
      run_program({"sh", "-c", "exec \"$0\" run heat --ticks 3 2>&1 >/dev/full", RUBATO_PROGRAM});
  EXPECT_EQ(out.code, 1);
  EXPECT_NE(out.out.find("standard output failed"), std::string::npos) << out.out;
}

// A program that is sent a signal, once `ready` says so: its exit code and what it has said.
Answer interrupt(const std::vector<std::string>& words, int signal,
                 const std::function<void()>& ready) {
  const std::string said = scratch("said");
  const pid_t child = fork();
  if (child == 0) {
    std::freopen(said.c_str(), "w", stderr);
    std::freopen("/dev/null", "w", stdout);
    execute(words);
    _exit(99);
  }
  ready();
  kill(child, signal);
  int status = 0;
  waitpid(child, &status, 0);
  std::ostringstream text;
  text << std::ifstream(said).rdbuf();
  std::remove(said.c_str());
  return {exit_code_of(status), "", text.str()};
}

TEST_F(Faults, a_signal_ends_a_simulation_as_it_ends_a_run) {
  for (const char* where : {"", " --simulate 4"}) {
    for (const auto& [signal, code, word] : {std::tuple{SIGINT, 130, "rubato: interrupted\n"},
                                             {SIGTERM, 143, "rubato: terminated\n"}}) {
      const auto words =
          writing("heat --width 40 --height 300 --ticks 100000" + std::string(where));
      const Answer answer = interrupt(words, signal, [this] {
        for (int i = 0; i < 200 && left().size() < 5; ++i)
          nap(50 * kMillisecond);
      });
      EXPECT_EQ(answer.code, code) << where;
      EXPECT_NE(answer.err.find(word), std::string::npos) << answer.err << where;
      for (const std::string& name : left())
        EXPECT_FALSE(name.starts_with(".")) << name << where;
      expect_whole();
      fs::remove_all(folder_ + "/out");
    }
  }
}

TEST_F(Faults, a_signal_while_files_are_written_leaves_no_part_of_them) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto words = words_of("heat --width 2500 --height 2500 --ticks 2 --output @out", folder_);
    std::vector<std::string> program{RUBATO_PROGRAM};
    program.insert(program.end(), words.begin(), words.end());
    const Answer answer = interrupt(program, signal, [this] {
      for (int i = 0; i < 2000 && left().empty(); ++i)
        nap(5 * kMillisecond);
      nap(100 * kMillisecond);
    });
    EXPECT_EQ(answer.code, signal == SIGINT ? 130 : 143) << answer.err;
    EXPECT_FALSE(fs::exists(folder_ + "/out")) << "the folder is new, and nothing is whole";
  }
}

TEST_F(Faults, a_signal_ends_the_partitioning_of_a_graph) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Nanos begin = steady_now();
    Nanos sent = begin;
    const Answer answer = interrupt({RUBATO_PROGRAM, "run", "pagerank", "--vertices", "400000",
                                     "--simulate", "4", "--ticks", "1000000"},
                                    signal, [&] {
                                      nap(4 * kSecond);
                                      sent = steady_now();
                                    });
    EXPECT_LT(steady_now() - sent, 2 * kSecond);
    EXPECT_EQ(answer.code, signal == SIGINT ? 130 : 143) << answer.err;
    EXPECT_EQ(answer.err.find("METIS"), std::string::npos) << answer.err;
  }
}

TEST_F(Faults, every_command_says_what_has_ended_it) {
  for (const std::string command : {"check heat --ticks 1000000", "bench tick-sim-16 --json",
                                    "compare heat --ticks 1000000", "reproduce ticks"}) {
    for (const auto& [signal, code, words] : {std::tuple{SIGINT, 130, "rubato: interrupted\n"},
                                              {SIGTERM, 143, "rubato: terminated\n"}}) {
      const Answer answer = interrupt({"sh", "-c", "exec \"$0\" " + command, RUBATO_PROGRAM},
                                      signal, [] { nap(700 * kMillisecond); });
      EXPECT_EQ(answer.code, code) << command;
      EXPECT_NE(answer.err.find(words), std::string::npos) << command << ": " << answer.err;
    }
  }
}

TEST_F(Faults, a_killed_run_leaves_whole_files) {
  for (const Nanos after : {400, 600, 850}) {
    const pid_t child = fork();
    if (child == 0) {
      execute(writing("heat --width 40 --height 300 --ticks 100000"));
      _exit(99);
    }
    nap(after * kMillisecond);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(exit_code_of(status), 128 + SIGKILL);
    expect_whole();
  }
  EXPECT_GT(left().size(), 0U);
}

}  // namespace
}  // namespace rubato::tools

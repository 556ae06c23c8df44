// Files of runs: the same bytes for every policy, node count and number of processes, and nothing
// half-written after a failure.

#include "rubato/tick/output/outputs.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "rubato/io/csv.hpp"
#include "rubato/io/image.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/grid_worlds.hpp"
#include "rubato/tick/testing/swarm_model.hpp"

namespace rubato::tick {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "rubato-output-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> result;
    for (const auto& entry : fs::directory_iterator(path_))
      result.insert(entry.path().filename().string());
    return result;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in(path_ + "/" + name, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    EXPECT_TRUE(in.good()) << name;
    return text.str();
  }

 private:
  std::string path_;
};

using Grid = testing::MixingGrid<2, 1, 2>;
using GridProblem = ProblemOf<GridModel<Grid>, GridStore<Grid>>;

Grid small_grid() {
  Grid grid;
  grid.grid.extent = {37, 23};
  grid.grid.periodic = {true, false};
  return grid;
}

OutputOptions every_three(const TemporaryFolder& folder) {
  OutputOptions output;
  output.folder = folder.path();
  output.formats = "csv,vtk,png";
  output.every = 3;
  output.name = "mix";
  return output;
}

struct Case {
  const char* policy;
  std::uint32_t n_nodes;
  std::uint32_t n_cores;
  Tick epoch = 0;
};

void run(const Problem& problem, const Case& c, const OutputOptions& output, Tick ticks) {
  SimulationOptions options;
  options.n_nodes = c.n_nodes;
  options.n_cores = c.n_cores;
  options.profile = net::parse_profile("ec2-large");
  options.sharing.epoch = c.epoch;
  const auto outputs = add_outputs(options, output);
  (void)simulate(problem, Policy::parse(c.policy), ticks, options);
  EXPECT_FALSE(outputs->files().empty());
  for (const std::string& file : outputs->files())
    EXPECT_TRUE(fs::exists(file)) << file;
}

TEST(Outputs, files_of_a_grid_are_equal_for_every_policy_and_node_count) {
  const GridProblem problem{GridModel<Grid>(small_grid(), 60)};
  const TemporaryFolder expected;
  run(problem, {"local", 1, 1}, every_three(expected), 8);
  EXPECT_EQ(expected.names(),
            (std::set<std::string>{"mix-00000000.csv", "mix-00000003.csv", "mix-00000006.csv",
                                   "mix-00000000.vti", "mix-00000003.vti", "mix-00000006.vti",
                                   "mix-00000000.png", "mix-00000003.png", "mix-00000006.png",
                                   "mix.csv", "mix.vti", "mix.png", "mix.pvd"}));
  for (const Case& c : {Case{"local", 1, 2}, Case{"bulk", 3, 1}, Case{"k2m3d2", 6, 2}}) {
    const TemporaryFolder found;
    run(problem, c, every_three(found), 8);
    EXPECT_EQ(found.names(), expected.names());
    for (const std::string& name : expected.names())
      EXPECT_TRUE(found.read(name) == expected.read(name)) << name << " of " << c.policy;
  }
}

TEST(Outputs, a_grid_in_a_table_reads_back_to_the_reference) {
  const GridModel<Grid> model(small_grid());
  const GridProblem problem{GridModel<Grid>(small_grid())};
  const TemporaryFolder folder;
  run(problem, {"k2m2d1", 4, 1}, every_three(folder), 7);
  for (const auto& [name, tick] : {std::pair{"mix-00000003.csv", 3}, std::pair{"mix.csv", 7}}) {
    const auto reference = run_reference(model, model.everything(), tick);
    io::CsvReader in(folder.path() + "/" + name);
    const auto x = in.column("x");
    const auto y = in.column("y");
    const std::size_t fields[] = {in.column("field0"), in.column("field1")};
    std::size_t row = 0;
    while (in.next_row()) {
      const Index<2> at{in.get<std::int64_t>(x), in.get<std::int64_t>(y)};
      ASSERT_LT(row, reference.state.ids.size());
      ASSERT_EQ(reference.state.ids[row], model.id_of(at));
      for (std::size_t f = 0; f < 2; ++f)
        ASSERT_EQ(reference.state.values[3 * row + f], in.get<double>(fields[f]));
      ++row;
    }
    EXPECT_EQ(row, reference.state.ids.size());
  }
}

TEST(Outputs, a_grid_for_paraview_holds_the_exact_values) {
  const GridModel<Grid> model(small_grid());
  const GridProblem problem{GridModel<Grid>(small_grid())};
  const TemporaryFolder folder;
  run(problem, {"local", 3, 1}, every_three(folder), 2);
  const auto reference = run_reference(model, model.everything(), 2);
  const std::string text = folder.read("mix.vti");
  EXPECT_NE(text.find("WholeExtent=\"0 37 0 23 0 0\""), std::string::npos);
  const std::size_t data = text.find("\n_") + 2;
  const std::size_t n = reference.state.ids.size();
  for (std::size_t f = 0; f < 2; ++f) {
    const std::size_t at = data + f * (8 + 8 * n);
    std::uint64_t n_bytes = 0;
    std::memcpy(&n_bytes, text.data() + at, 8);
    ASSERT_EQ(n_bytes, 8 * n);
    for (std::size_t i = 0; i < n; ++i) {
      double value = 0;
      std::memcpy(&value, text.data() + at + 8 + 8 * i, 8);
      ASSERT_EQ(value, reference.state.values[3 * i + f]);
    }
  }
}

TEST(Outputs, a_grid_larger_than_its_picture_is_drawn_alike_from_any_cut) {
  using Wide = testing::MixingGrid<1, 1, 1>;
  Wide wide;
  wide.grid.extent = {3001};
  const ProblemOf<GridModel<Wide>, GridStore<Wide>> problem{GridModel<Wide>(wide, 500)};
  const TemporaryFolder one;
  const TemporaryFolder seven;
  OutputOptions output = every_three(one);
  output.formats = "png";
  run(problem, {"local", 1, 1}, output, 2);
  output.folder = seven.path();
  run(problem, {"k2m1", 7, 1}, output, 2);
  EXPECT_TRUE(one.read("mix.png") == seven.read("mix.png"));
  EXPECT_GE(io::read_image_info(one.path() + "/mix.png").width, 640U);
}

// Agents of the swarm as rows with a place.
struct WrittenSwarm : testing::SwarmModel {
  using SwarmModel::SwarmModel;
  void for_each_tuple(const State& state,
                      const std::function<void(std::uint64_t, ByteView)>& f) const {
    for (const auto& agent : state)
      f(agent.id, std::as_bytes(std::span(&agent, 1)));
  }
  [[nodiscard]] std::vector<OutputColumn> output_columns() const {
    return {{"x", ColumnType::i64, ColumnUse::x},
            {"y", ColumnType::i64, ColumnUse::y},
            {"kind", ColumnType::text},
            {"value", ColumnType::u64},
            {"odd", ColumnType::i64, ColumnUse::marked}};
  }
  void output_rows(const State& state, OutputRows& rows) const {
    for (const auto& agent : state) {
      rows.begin(agent.id).add(std::int64_t{agent.x}).add(std::int64_t{agent.y});
      rows.add(std::string(agent.id % 2 == 0 ? "even, \"quoted\"" : "odd")).add(agent.value);
      rows.add(static_cast<std::int64_t>(agent.value % 2));
    }
  }
};
using SwarmProblem = ProblemOf<WrittenSwarm, FragmentStore<WrittenSwarm>>;

TEST(Outputs, tuples_that_move_are_written_by_id_whoever_has_them) {
  const WrittenSwarm model(testing::SwarmModel::Options{});
  const SwarmProblem problem(model);
  const TemporaryFolder expected;
  run(problem, {"local", 1, 1}, every_three(expected), 7);
  const auto reference = run_reference(model, model.everything(), 7);
  io::CsvReader in(expected.path() + "/mix.csv");
  std::size_t row = 0;
  while (in.next_row()) {
    ASSERT_LT(row, reference.state.size());
    EXPECT_EQ(in.get<std::uint64_t>(in.column("id")), reference.state[row].id);
    EXPECT_EQ(in.get<std::int64_t>(in.column("x")), reference.state[row].x);
    EXPECT_EQ(in.get<std::uint64_t>(in.column("value")), reference.state[row].value);
    EXPECT_EQ(in.text(in.column("kind")).substr(0, 3),
              reference.state[row].id % 2 == 0 ? "eve" : "odd");
    ++row;
  }
  EXPECT_EQ(row, reference.state.size());
  // Written ticks lie in each segment, at its end and right behind it.
  for (const Case& c : {Case{"k2m3d2", 5, 2}, Case{"k2m3d2", 5, 2, 1}, Case{"local", 3, 1, 3}}) {
    const TemporaryFolder found;
    run(problem, c, every_three(found), 7);
    for (const char* name :
         {"mix.csv", "mix-00000000.csv", "mix-00000003.csv", "mix.png", "mix-00000006.png"}) {
      EXPECT_TRUE(found.read(name) == expected.read(name)) << name << " of " << c.policy;
    }
    EXPECT_TRUE(found.names().contains("mix.pvtp"));
    EXPECT_TRUE(found.names().contains("mix.node2.vtp"));
    EXPECT_FALSE(found.names().contains(".mix.arrows"));
  }
}

// Pixels of that color, but for those in the `below` lowest rows.
std::size_t count(const std::string& path, io::Rgb color, std::size_t below = 0) {
  const io::Image image = io::read_image(path, {.kind = io::ImageKind::rgb, .bits = 8});
  std::size_t n = 0;
  for (std::size_t y = 0; y + below < image.info.height; ++y) {
    for (std::size_t x = 0; x < image.info.width; ++x) {
      if (image.at(x, y, 0) == color.r && image.at(x, y, 1) == color.g &&
          image.at(x, y, 2) == color.b) {
        ++n;
      }
    }
  }
  return n;
}

constexpr io::Rgb kPink{250, 10, 200};
constexpr io::Rgb kLime{120, 250, 20};

// A pillar at x in [10, 20), y in [5, 8).
struct Walled : Grid {
  [[nodiscard]] PictureStyle picture_style() const {
    PictureStyle style;
    style.kinds = {{"pillar", {"", kPink, io::Mark::fill}}};
    return style;
  }
  void picture_kinds(Index<2> at, std::int64_t n, std::uint8_t* kinds) const {
    for (std::int64_t x = at[0]; x < at[0] + n; ++x, ++kinds) {
      if (x >= 10 && x < 20 && at[1] >= 5 && at[1] < 8) *kinds = 1;
    }
  }
  void step(const GridSpan<Walled>& in, double* const* out, Index<2> /*at*/, std::int64_t n,
            Tick /*t*/) const {
    for (int f = 0; f < 2; ++f)
      std::copy_n(in.field[static_cast<std::size_t>(f)], n, out[f]);
  }
  void measure(double&, const GridSpan<Walled>&, const double* const*, std::int64_t) const {}
};

TEST(Outputs, cells_of_a_kind_have_its_color_in_pictures_from_any_cut) {
  Walled walled;
  walled.grid = small_grid().grid;
  const ProblemOf<GridModel<Walled>, GridStore<Walled>> problem{GridModel<Walled>(walled, 60)};
  const TemporaryFolder one;
  OutputOptions output = every_three(one);
  run(problem, {"local", 1, 1}, output, 7);
  // 17 x 17 pixels a cell, and the patch of the legend.
  for (const char* name : {"/mix.png", "/mix-00000003.png"}) {
    const std::size_t n = count(one.path() + name, kPink);
    EXPECT_GT(n, 30U * 289U + 200U);
    EXPECT_LT(n, 30U * 289U + 400U);
  }
  const TemporaryFolder six;
  output.folder = six.path();
  run(problem, {"k2m3d2", 6, 2}, output, 7);
  EXPECT_TRUE(one.read("mix.png") == six.read("mix.png"));
}

TEST(Outputs, marked_tuples_without_a_style_are_white_and_called_as_their_column) {
  const SwarmProblem problem(WrittenSwarm(testing::SwarmModel::Options{}));
  const TemporaryFolder folder;
  OutputOptions output = every_three(folder);
  output.every = 0;
  run(problem, {"local", 1, 1}, output, 0);
  // Above the world and its scale the legend's patch has the world's ground.
  EXPECT_GT(count(folder.path() + "/mix.png", {17, 24, 39}, 800 + 24), 100U);
}

// Agents of three kinds, two of which are drawn in a way of their own, one of these by two marks.
struct KindSwarm : WrittenSwarm {
  using WrittenSwarm::WrittenSwarm;
  [[nodiscard]] std::vector<OutputColumn> output_columns() const {
    return {{"x", ColumnType::i64, ColumnUse::x},
            {"y", ColumnType::i64, ColumnUse::y},
            {"kind", ColumnType::text, ColumnUse::kind}};
  }
  void output_rows(const State& state, OutputRows& rows) const {
    static const std::array<std::string, 3> kKinds{"plain", "signal", "gate"};
    for (const auto& agent : state) {
      rows.begin(agent.id).add(std::int64_t{agent.x}).add(std::int64_t{agent.y});
      rows.add(kKinds[with_kinds ? agent.id % 3 : 0]);
    }
  }
  [[nodiscard]] PictureStyle picture_style() const {
    PictureStyle style;
    style.tuples = "plain ones";
    style.kinds = {{"signal", {"green", kLime, io::Mark::fill}},
                   {"gate", {"", {250, 250, 0}, io::Mark::disc}},
                   {"signal", {"red", kPink, io::Mark::across}}};
    return style;
  }
  [[nodiscard]] static std::pair<std::array<double, 3>, std::array<double, 3>> picture_world() {
    return {{0, 0, 0}, {40, 30, 1}};
  }
  bool with_kinds = true;
};

TEST(Outputs, a_text_column_tells_kinds_each_with_all_its_marks) {
  OutputOptions output;
  output.formats = "png";
  output.name = "mix";
  std::array<std::array<std::size_t, 3>, 2> n{};
  for (const bool with_kinds : {false, true}) {
    KindSwarm model(testing::SwarmModel::Options{});
    model.with_kinds = with_kinds;
    const ProblemOf<KindSwarm, FragmentStore<KindSwarm>> problem(model);
    const TemporaryFolder folder;
    output.folder = folder.path();
    run(problem, {"local", 3, 1}, output, 2);
    n[with_kinds ? 1 : 0] = {count(folder.path() + "/mix.png", kLime),
                             count(folder.path() + "/mix.png", kPink),
                             count(folder.path() + "/mix.png", {250, 250, 0})};
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT(n[0][i], 10U) << "the legend's patch " << i;
    EXPECT_GT(n[1][i], 2 * n[0][i]) << "and marks in the world " << i;
  }
}

// Swarms whose values are shares of the whole, with a text that needs quotes before them.
struct SharingSwarm : WrittenSwarm {
  using WrittenSwarm::WrittenSwarm;
  [[nodiscard]] std::vector<OutputColumn> output_columns() const {
    return {{"kind", ColumnType::text}, {"part", ColumnType::f64, ColumnUse::share}};
  }
  void output_rows(const State& state, OutputRows& rows) const {
    for (const auto& agent : state)
      rows.begin(agent.id).add(std::string("a, \"b\"")).add(value(agent));
  }
  template <class Agent>
  static double value(const Agent& agent) {
    return static_cast<double>(agent.value % 1000);
  }
};

TEST(Outputs, shares_of_each_tick_sum_to_1_and_have_the_same_bits_for_every_cut) {
  const SharingSwarm model(testing::SwarmModel::Options{});
  const ProblemOf<SharingSwarm, FragmentStore<SharingSwarm>> problem(model);
  const TemporaryFolder expected;
  OutputOptions output = every_three(expected);
  output.formats = "csv";
  run(problem, {"local", 1, 1}, output, 7);
  EXPECT_EQ(expected.names().size(), 4U);
  for (const auto& [name, tick] : {std::pair{"mix-00000003.csv", 3}, std::pair{"mix.csv", 7}}) {
    const auto reference = run_reference(model, model.everything(), tick);
    double whole = 0;
    for (const auto& agent : reference.state)
      whole += SharingSwarm::value(agent);
    io::CsvReader in(expected.path() + "/" + name);
    EXPECT_EQ(in.header(), (std::vector<std::string>{"id", "kind", "part"}));
    double sum = 0;
    std::size_t row = 0;
    while (in.next_row()) {
      ASSERT_LT(row, reference.state.size());
      EXPECT_EQ(in.text(1), "a, \"b\"");
      EXPECT_EQ(in.get<double>(2), SharingSwarm::value(reference.state[row++]) / whole);
      sum += in.get<double>(2);
    }
    EXPECT_EQ(row, reference.state.size());
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  for (const Case& c : {Case{"k2m3d2", 5, 2, 1}, Case{"bulk", 3, 1}}) {
    const TemporaryFolder found;
    output.folder = found.path();
    run(problem, c, output, 7);
    EXPECT_EQ(found.names(), expected.names());
    for (const std::string& name : expected.names())
      EXPECT_TRUE(found.read(name) == expected.read(name)) << name << " of " << c.policy;
  }
}

// Two processes with one node each, in one.
TEST(Outputs, several_processes_write_the_same_files_each_when_its_tick_is_whole) {
  const GridProblem grid{GridModel<Grid>(small_grid(), 60)};
  const SwarmProblem swarm{WrittenSwarm(testing::SwarmModel::Options{})};
  for (const Problem* problem :
       {static_cast<const Problem*>(&grid), static_cast<const Problem*>(&swarm)}) {
    const TemporaryFolder expected;
    // With epochs at the same ticks, since .pvtp names a piece for each owner.
    run(*problem, {"k2m1", 2, 1, 4}, every_three(expected), 7);
    const TemporaryFolder found;
    const OutputOptions output = every_three(found);
    Outputs first(output, {2, 1, true, 7});
    Outputs second(output, {2, 1, false, 7});
    Outputs* processes[] = {&first, &second};
    SimulationOptions options;
    options.n_nodes = 2;
    options.profile = net::parse_profile("none");
    options.at_start = [&](NodeId node, NodeRun& run) { processes[node]->attach(node, run); };
    options.at_epoch = [&](NodeId node, NodeRun& run) {
      EXPECT_FALSE(found.names().contains("mix-00000006.csv"));
      processes[node]->reattach(node, run);
      const auto wants = [](Tick t) { return t >= 7; };
      run.engine().on_own_step(wants, [&](RegionId /*region*/, Tick /*t*/) {
        EXPECT_TRUE(found.names().contains("mix-00000003.csv"));
        EXPECT_TRUE(found.names().contains("mix-00000003.png"));
      });
    };
    options.at_end = [&](NodeId node, NodeRun& run) { processes[node]->finish(node, run); };
    options.sharing.epoch = 4;
    (void)simulate(*problem, Policy::parse("local"), 7, options);
    EXPECT_TRUE(found.names().contains("mix.csv"));
    second.close();
    first.close();
    EXPECT_EQ(found.names(), expected.names());
    for (const std::string& name : expected.names())
      EXPECT_TRUE(found.read(name) == expected.read(name)) << name;
  }
}

TEST(Outputs, what_a_killed_job_has_left_is_removed_by_the_next_and_that_of_a_living_one_is_not) {
  const GridProblem problem{GridModel<Grid>(small_grid(), 60)};
  const TemporaryFolder folder;
  // A folder with a lock that nobody holds, as a kill -9 leaves it.
  fs::create_directories(folder.path() + "/.other.job1/ticks/3");
  std::ofstream(folder.path() + "/.other.job1/lock").flush();
  // One that was being removed.
  fs::create_directories(folder.path() + "/.other.job0.dead/ticks/3");
  const Outputs living(every_three(folder), {2, 1, true, 2});
  EXPECT_TRUE(folder.names().contains(".mix.job2"));
  run(problem, {"local", 1, 1}, every_three(folder), 2);
  EXPECT_FALSE(folder.names().contains(".other.job1"));
  EXPECT_FALSE(folder.names().contains(".other.job0.dead"));
  EXPECT_TRUE(folder.names().contains(".mix.job2"));
}

// A cell that becomes NaN at tick 5.
struct Broken : Grid {
  void step(const GridSpan<Broken>& in, double* const* out, Index<2> at, std::int64_t n,
            Tick t) const {
    for (std::int64_t i = 0; i < n; ++i) {
      out[0][i] = in.field[0][i];
      out[1][i] = in.field[1][i];
      if (t == 4 && at[1] == 11 && at[0] + i == 17) {
        out[1][i] = std::numeric_limits<double>::quiet_NaN();
      }
    }
  }
  void measure(double&, const GridSpan<Broken>&, const double* const*, std::int64_t) const {}
};

TEST(Outputs, a_value_that_is_no_number_ends_the_run_and_leaves_nothing_half_written) {
  Broken broken;
  broken.grid = small_grid().grid;
  const ProblemOf<GridModel<Broken>, GridStore<Broken>> problem{GridModel<Broken>(broken, 60)};
  const TemporaryFolder folder;
  OutputOptions output = every_three(folder);
  output.every = 5;
  try {
    run(problem, {"local", 4, 1}, output, 7);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("cell (17, 11), tick 5: field1 is not a number"), std::string::npos)
        << message;
    EXPECT_EQ(error.code(), ExitCode::failed);
  }
  EXPECT_EQ(folder.names(), (std::set<std::string>{"mix-00000000.csv", "mix-00000000.vti",
                                                   "mix-00000000.png", "mix.pvd"}));
}

TEST(Outputs, a_run_that_fails_before_a_tick_is_whole_takes_its_new_folders_back) {
  Broken broken;
  broken.grid = small_grid().grid;
  const ProblemOf<GridModel<Broken>, GridStore<Broken>> problem{GridModel<Broken>(broken, 60)};
  const TemporaryFolder folder;
  OutputOptions output = every_three(folder);
  output.every = 0;
  fs::create_directories(folder.path() + "/old/empty");
  for (const char* below : {"/new", "/new/deep/", "/old/new/deep", "/old/empty"}) {
    output.folder = folder.path() + below;
    EXPECT_THROW(run(problem, {"local", 2, 1}, output, 7), Error);
    EXPECT_EQ(folder.names(), std::set<std::string>{"old"}) << below;
    EXPECT_TRUE(fs::is_empty(folder.path() + "/old/empty")) << "what was there stays";
    EXPECT_FALSE(fs::exists(folder.path() + "/old/new"));
  }
}

TEST(Outputs, wrong_options_name_what_is_expected) {
  OutputOptions output;
  output.folder = "somewhere";
  output.formats = "csv,pgn";
  const auto message = [&] {
    try {
      output.validate();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(),
            "--format: expected some of csv, vtk and png with commas between, found \"pgn\" (did "
            "you mean \"png\"?)");
  output.formats = ",";
  EXPECT_NE(message().find("with commas between, found \"\""), std::string::npos);
  output.formats = "csv";
  output.every = -1;
  EXPECT_NE(message().find("--every"), std::string::npos);
}

}  // namespace
}  // namespace rubato::tick

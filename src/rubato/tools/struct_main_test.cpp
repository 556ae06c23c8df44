// A struct of any kind is a model with its parameters; the program of examples/02_waves is run by
// tools/check_readme.py, those of 03 and 04 as projects of their own (cmake/RubatoInstall.cmake).

#include "rubato/tools/struct_main.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "rubato/tick/check/runs.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::tools {
namespace {

// Counts ticks in each cell.
struct Count {
  using Value = std::int64_t;
  static constexpr int kDimensions = 1, kRadius = 1, kFields = 1, kFixed = 0;
  static constexpr const char* kSummary = "counts";
  std::int64_t width = 30;
  std::int64_t first = 0;

  [[nodiscard]] GridShape<1> shape() const { return {{width}, {false}}; }
  void init(Index<1> /*at*/, std::int64_t n, Value* const* out, Value* const* /*fixed*/) const {
    for (std::int64_t i = 0; i < n; ++i)
      out[0][i] = first;
  }
  void step(const GridSpan<Count>& in, Value* const* out, Index<1> /*at*/, std::int64_t n,
            Tick /*t*/) const {
    for (std::int64_t i = 0; i < n; ++i)
      out[0][i] = in.field[0][i] + 1;
  }
  void declare(Parameters& parameters) {
    parameters.add("width", width, "cells");
    parameters.add("first", first, "number to count from");
  }
};

// Each cell is the sum of the two beside it, and tells where and when it is.
struct Pascal {
  using Value = std::int64_t;
  static constexpr int kDimensions = 1, kRadius = 1, kFields = 2, kFixed = 0;
  static constexpr std::array<Index<1>, 2> kStencil{{{-1}, {1}}};
  using Sum = std::int64_t;
  using Cell = GridCell<Pascal>;

  [[nodiscard]] GridShape<1> shape() const { return {{9}, {false}}; }
  void init(Index<1> at, std::int64_t n, Value* const* out, Value* const* /*fixed*/) const {
    for (std::int64_t i = 0; i < n; ++i, ++at[0]) {
      out[0][i] = at[0] == 4 ? 1 : 0;
      out[1][i] = 0;
    }
  }
  [[nodiscard]] Sum begin(const Cell& /*own*/) const { return 0; }
  void interact(Sum& sum, const Cell& /*own*/, std::size_t /*k*/, const Cell& other) const {
    sum += other[0];
  }
  [[nodiscard]] GridValues<Pascal> finish(const Cell& own, const Sum& sum) const {
    return {sum, 100 * own.tick() + own.at()[0]};
  }
};

// The same, as a kernel over a row.
struct PascalRows {
  using Value = std::int64_t;
  static constexpr int kDimensions = 1, kRadius = 1, kFields = 2, kFixed = 0;
  [[nodiscard]] GridShape<1> shape() const { return Pascal().shape(); }
  void init(Index<1> at, std::int64_t n, Value* const* out, Value* const* fixed) const {
    Pascal().init(at, n, out, fixed);
  }
  void step(const GridSpan<PascalRows>& in, Value* const* out, Index<1> at, std::int64_t n,
            Tick t) const {
    for (std::int64_t i = 0; i < n; ++i, ++at[0]) {
      out[0][i] = in.field[0][i - 1] + in.field[0][i + 1];
      out[1][i] = 100 * t + at[0];
    }
  }
};

struct Dot {
  std::uint64_t id = 0;
  std::array<double, 2> position{};
};

// Dots that lie still.
struct Dots {
  using Tuple = Dot;
  using Scalar = double;
  static constexpr int kDimensions = 2;
  static constexpr std::size_t kSeen = 0;

  [[nodiscard]] tick::points::World<double, 2> world() const {
    tick::points::World<double, 2> world;
    world.box.high = {10, 10};
    world.visibility = 1;
    return world;
  }
  [[nodiscard]] std::array<double, 0> seen(const Dot& /*dot*/) const { return {}; }
  void start(const tick::points::Wanted<double, 2>& wanted, std::vector<Dot>& out) const {
    for (std::uint64_t id = 0; id < 20; ++id) {
      const Dot dot{id, {0.5 * double(id), 5}};
      if (wanted.contains(dot.position)) out.push_back(dot);
    }
  }
  void step(const Dot& dot, const tick::points::NeighboursOf<Dots>& /*near*/, Tick /*t*/,
            tick::points::Offspring<Dot>& out) const {
    out.survive(dot);
  }
};

// The smallest vertex that a path leads here from.
struct Reached {
  using Value = std::uint32_t;

  [[nodiscard]] Value init(VertexId v) const { return v; }
  [[nodiscard]] Value step(VertexId /*v*/, Value own, const InEdges<Value>& in, Tick /*t*/) const {
    for (std::size_t i = 0; i < in.size(); ++i)
      own = std::min(own, in.value(i));
    return own;
  }
};

// The same on a ring of its own.
struct Ring : Reached {
  std::uint64_t size = 12;

  [[nodiscard]] std::shared_ptr<const Digraph> graph() const {
    std::vector<VertexId> from(size);
    std::vector<VertexId> to(size);
    for (VertexId v = 0; v < size; ++v) {
      from[v] = v;
      to[v] = static_cast<VertexId>((v + 1) % size);
    }
    return std::make_shared<const Digraph>(size, from, to);
  }
  void declare(Parameters& parameters) { parameters.add("size", size, "vertices"); }
};

// Counts what it is told of the graph that people name.
struct Degrees : Reached {
  InputGraph input;
  std::uint64_t seed = 7;  // its own, not the trial graph's

  void take_graph(const InputGraph& graph) { input = graph; }
  [[nodiscard]] Value init(VertexId v) const { return input.graph->out_degree(v); }
  void declare(Parameters& parameters) { parameters.add("seed", seed, "of nothing"); }
};

// The length of the shortest way from vertex 0, along weights.
struct Distance {
  using Value = double;
  [[nodiscard]] Value init(VertexId v) const { return v == 0 ? 0 : 1e9; }
  [[nodiscard]] Value step(VertexId, Value own, const InEdges<Value>& in, Tick) const {
    for (std::size_t i = 0; i < in.size(); ++i)
      own = std::min(own, in.value(i) + in.weight(i));
    return own;
  }
};

// A general model, all by hand: heaps of sand in a row, of which steep ones slide to the right.
struct Heap {
  std::uint64_t id = 0;  // its place
  std::uint64_t height = 0;
};

struct Sand {
  struct Query {  // places [begin, end)
    std::uint64_t begin = 0, end = 0;
  };
  using State = std::vector<Heap>;
  std::uint64_t heaps = 40;

  void declare(Parameters& parameters) { parameters.add("heaps", heaps, "in the row"); }

  [[nodiscard]] std::vector<Query> part(std::uint32_t n) const {
    std::vector<Query> parts;
    for (std::uint64_t i = 0; i < n; ++i)
      parts.push_back({heaps * i / n, heaps * (i + 1) / n});
    return parts;
  }
  [[nodiscard]] State init(const Query& q) const {
    State state;
    for (std::uint64_t id = q.begin; id < q.end; ++id)
      state.push_back({id, hash_words(id) % 100});
    return state;
  }
  // What slides from a heap to the next one.
  [[nodiscard]] static std::uint64_t slide(const State& state, std::uint64_t id) {
    const auto at = std::ranges::lower_bound(state, id, {}, &Heap::id);
    return at != state.end() && at->id == id ? at->height / 3 : 0;
  }
  [[nodiscard]] State step(const State& to_step, const State& context, Tick /*t*/) const {
    State next = to_step;
    for (Heap& heap : next)
      heap.height += slide(context, heap.id - 1) - slide(to_step, heap.id);
    return next;
  }
  [[nodiscard]] Query read_dependencies(const Query& q) const {
    return q.begin < q.end && q.begin > 0 ? Query{q.begin - 1, q.end} : q;
  }
  [[nodiscard]] Query read_exclusive(const Query& q) const {
    return q.begin < q.end && q.begin > 0 ? Query{q.begin + 1, q.end} : q;
  }
  [[nodiscard]] Query write_dependencies(const Query& q) const { return q; }
  [[nodiscard]] Query write_exclusive(const Query& q) const { return q; }
  [[nodiscard]] bool disjoint(const Query& a, const Query& b) const {
    return std::max(a.begin, b.begin) >= std::min(a.end, b.end);
  }
  [[nodiscard]] State select(const State& state, const Query& q) const {
    State result;
    std::ranges::copy_if(state, std::back_inserter(result),
                         [&](const Heap& heap) { return heap.id >= q.begin && heap.id < q.end; });
    return result;
  }
  [[nodiscard]] State difference(const State& a, const State& b) const {
    State result;
    std::ranges::set_difference(a, b, std::back_inserter(result), {}, &Heap::id, &Heap::id);
    return result;
  }
  void merge(State& into, const State& from) const {
    State result;
    std::ranges::set_union(into, from, std::back_inserter(result), {}, &Heap::id, &Heap::id);
    into = result;
  }
  void write(Writer& writer, const State& state) const {
    writer.put(std::uint64_t{state.size()});
    for (const Heap& heap : state)
      writer.put(heap);
  }
  [[nodiscard]] State read(Reader& reader) const {
    State state(reader.get<std::uint64_t>());
    for (Heap& heap : state)
      heap = reader.get<Heap>();
    return state;
  }
};

std::uint64_t checksum_of(tick::App& app, std::uint32_t n_nodes, Tick ticks) {
  tick::SimulationOptions options;
  options.n_nodes = n_nodes;
  options.profile = net::parse_profile("none");
  return tick::simulate(*app.build(), tick::Policy::parse("k2m1"), ticks, options).checksum;
}

TEST(StructApp, a_grid_has_its_members_as_parameters) {
  StructApp<Count> from_0("count");
  EXPECT_EQ(from_0.name(), "count");
  EXPECT_EQ(from_0.summary(), "counts");
  StructApp<Count> from_3("count");
  tick::Parameters parameters;
  from_3.declare(parameters);
  parameters.set("first", "3");
  EXPECT_EQ(checksum_of(from_0, 2, 7), checksum_of(from_3, 3, 4));
  EXPECT_NE(checksum_of(from_0, 2, 7), checksum_of(from_0, 2, 6));
}

TEST(StructApp, a_grid_whose_step_is_in_parts_is_that_of_a_kernel) {
  StructApp<Pascal> parts("pascal");
  StructApp<PascalRows> rows("rows");
  EXPECT_EQ(checksum_of(parts, 1, 6), checksum_of(rows, 1, 6));
  EXPECT_EQ(checksum_of(parts, 3, 6), checksum_of(rows, 1, 6));
  EXPECT_NE(checksum_of(parts, 1, 6), checksum_of(rows, 1, 5));
}

// Cut into pieces, which go to the node that has time.
TEST(StructApp, a_grid_runs_under_the_systems_of_pieces) {
  StructApp<Count> app("count");
  const std::uint64_t checksum = checksum_of(app, 1, 30);
  for (const char* name : {"oritick", "comtick", "asytick", "asytick-plb"}) {
    tick::System system = tick::System::parse(name);
    system.sharing.n_pieces = 12;
    if (system.sharing.epoch > 0) system.sharing.epoch = 5;
    tick::SimulationOptions options;
    options.n_nodes = 3;
    options.sharing = system.sharing;
    options.slowdowns = {1, 4, 1};
    const auto result = tick::simulate(*app.build(), system.policy, 30, options);
    EXPECT_EQ(result.checksum, checksum) << name;
    EXPECT_EQ(result.pieces_moved() > 0, system.sharing.moves()) << name;
  }
}

TEST(StructApp, points_need_no_parameters) {
  StructApp<Dots> app("dots");
  tick::Parameters parameters;
  app.declare(parameters);
  EXPECT_TRUE(parameters.list().empty());
  EXPECT_EQ(checksum_of(app, 1, 3), checksum_of(app, 3, 3));
}

// The parameters of an app by their names.
std::vector<std::string> names_of(tick::App& app) {
  tick::Parameters parameters;
  app.declare(parameters);
  std::vector<std::string> names;
  for (const auto& each : parameters.list())
    names.push_back(each.name);
  return names;
}

// The names of the rules that a model breaks.
std::string broken_rules(tick::App& app) {
  tick::CheckOptions options;
  options.ticks = 5;
  options.n_states = 2;
  std::string names;
  for (const tick::RuleResult& rule : tick::check_problem(*app.build(), options).rules) {
    if (rule.failure) names += rule.name + ": " + *rule.failure + "\n";
  }
  return names;
}

TEST(StructApp, a_graph_is_an_input_that_people_name) {
  const std::string path = ::testing::TempDir() + "/struct_main_graph.txt";
  std::ofstream(path) << "c d\nd e\na b\n";
  const auto checksum = [&](const char* labels, std::uint32_t n_nodes, Tick ticks) {
    StructApp<Reached> app("reached");
    tick::Parameters parameters;
    app.declare(parameters);
    parameters.set("input", path);
    parameters.set("labels", labels);
    return checksum_of(app, n_nodes, ticks);
  };
  EXPECT_EQ(checksum("text", 1, 2), checksum("text", 3, 2));
  EXPECT_NE(checksum("text", 1, 1), checksum("text", 1, 2));
  EXPECT_EQ(checksum("text", 1, 2), checksum("text", 1, 3));  // no path is longer
  EXPECT_THROW((void)checksum("integer", 1, 1), Error);
}

class WeightedInput : public ::testing::Test {
 protected:
  ~WeightedInput() override { std::remove(path_.c_str()); }

  // Of Distance on a file of that text.
  [[nodiscard]] std::uint64_t checksum(const std::string& text, const char* column,
                                       std::uint32_t n_nodes = 1) const {
    std::ofstream(path_) << text;
    StructApp<Distance> app("distance");
    tick::Parameters parameters;
    app.declare(parameters);
    parameters.set("input", path_);
    if (column != nullptr) parameters.set("weight-column", column);
    return checksum_of(app, n_nodes, 3);
  }
  std::string path_ = ::testing::TempDir() + "/struct_main_weights_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt";
};

TEST_F(WeightedInput, weights_are_those_of_the_column_that_people_name) {
  const std::string text = "0 1 2.5\n1 2 0.5\n0 2 9\n";
  const std::string heavier = "0 1 2.5\n1 2 0.75\n0 2 9\n";
  EXPECT_NE(checksum(text, "3"), checksum(heavier, "3"));
  EXPECT_EQ(checksum(text, "3"), checksum(text, "3", 3));
  EXPECT_EQ(checksum(text, "0"), checksum("0 1\n1 2\n0 2\n", nullptr));
}

TEST_F(WeightedInput, a_matrix_market_file_says_itself_that_it_has_them) {
  const std::string head = "%%MatrixMarket matrix coordinate ";
  EXPECT_EQ(checksum(head + "real general\n3 3 3\n1 2 2.5\n2 3 0.5\n1 3 9\n", nullptr),
            checksum("0 1 2.5\n1 2 0.5\n0 2 9\n", "3"));
  EXPECT_EQ(checksum(head + "pattern general\n3 3 3\n1 2\n2 3\n1 3\n", nullptr),
            checksum("0 1\n1 2\n0 2\n", nullptr));
}

TEST_F(WeightedInput, a_third_number_is_not_left_aside_in_silence) {
  const auto message = [&](const char* column, const char* text) {
    try {
      (void)checksum(text, column);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message(nullptr, "# from to\n0 1 2.5\n")
                .find("has a third number in a line, expected --weight-column 3 if"),
            std::string::npos);
  EXPECT_NE(message("-1", "0 1 2.5\n").find("0 is none, found -1"), std::string::npos);
  EXPECT_EQ(message(nullptr, "0 1 one\n"), "");
}

TEST(StructApp, a_graph_of_its_own_needs_no_input) {
  StructApp<Ring> app("ring");
  EXPECT_EQ(names_of(app), std::vector<std::string>{"size"});
  EXPECT_EQ(checksum_of(app, 1, 11), checksum_of(app, 3, 11));
  EXPECT_NE(checksum_of(app, 1, 10), checksum_of(app, 1, 11));  // 0 has come round
  EXPECT_EQ(checksum_of(app, 1, 11), checksum_of(app, 1, 12));
}

TEST(StructApp, a_graph_can_be_taken_and_names_that_the_struct_has_are_its_own) {
  StructApp<Degrees> app("degrees");
  tick::Parameters parameters;
  app.declare(parameters);
  EXPECT_EQ(std::ranges::count(parameters.list(), "seed", &Parameters::Parameter::name), 1);
  parameters.set("vertices", "50");
  parameters.set("degree", "3");
  EXPECT_EQ(checksum_of(app, 1, 3), checksum_of(app, 4, 3));
}

TEST(StructApp, a_general_model_is_a_struct_too) {
  StructApp<Sand> app("sand");
  EXPECT_EQ(names_of(app), std::vector<std::string>{"heaps"});
  EXPECT_EQ(checksum_of(app, 1, 9), checksum_of(app, 3, 9));
  EXPECT_NE(checksum_of(app, 1, 8), checksum_of(app, 1, 9));
}

TEST(StructApp, models_of_all_kinds_keep_the_rules) {
  StructApp<Count> count("count");
  StructApp<Pascal> pascal("pascal");
  StructApp<Dots> dots("dots");
  StructApp<Ring> ring("ring");
  StructApp<Sand> sand("sand");
  for (tick::App* app : std::initializer_list<tick::App*>{&count, &pascal, &dots, &ring, &sand})
    EXPECT_EQ(broken_rules(*app), "") << app->name();
}

}  // namespace
}  // namespace rubato::tools

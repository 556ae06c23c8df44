#include "rubato/models/app_pagerank.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "rubato/io/number.hpp"

namespace rubato::models {
namespace {

class PageRankApp final : public tick::App {
 public:
  enum class Of { ranks, graph };
  explicit PageRankApp(Of what) : what_(what) {}

  [[nodiscard]] std::string name() const override { return "pagerank"; }
  [[nodiscard]] std::string summary() const override {
    return "PageRank of an edge list, by numbers or by names";
  }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {"pagerank --input examples/data/pages.txt --tolerance 1e-9",
            "pagerank --input examples/data/packages.tsv --labels text --target-column 3 "
            "--only 2=Depends --tolerance 1e-8",
            "pagerank --vertices 100000 --simulate 16 --profile ec2-large --policy d2"};
  }

  [[nodiscard]] std::string files() const override {
    return "  pagerank.csv            vertex,name,rank of the last state, by vertex\n"
           "  pagerank-0000000t.csv   of tick t, with --every\n"
           "  The ranks of each file sum to 1, whether vertices dangle or not.\n";
  }

  void declare(tick::Parameters& p) override {
    p.add("input", input_, "edge list or Matrix Market file, .gz too; without it a trial graph");
    p.add("labels", labels_, {"integer", "text"}, "how the file names vertices");
    p.add("source-column", source_column_, "column of an edge's source, from 1");
    p.add("target-column", target_column_, "column of its target");
    p.add("weight-column", weight_column_,
          std::string(what_ == Of::ranks ? "column of its weight, by which a rank is shared out"
                                         : "column of its weight") +
              "; 0: all edges weigh 1; a Matrix Market file's values are weights");
    p.add("only", only_, "COLUMN=VALUE: lines whose column has that value");
    p.add("duplicates", duplicates_, {"merge", "keep"}, "whether equal edges count once or each");
    p.add("vertices", vertices_, "vertices of the trial graph");
    p.add("degree", degree_, "edges out of each of them");
    p.add("far", far_, "one edge of so many goes anywhere, the others near by; 0: none does");
    p.add("seed", seed_, "of the trial graph");
    p.add("top", top_, "best vertices that are named at the end of a run");
    p.add("damping", options_.damping, "share of a vertex that its edges carry on");
    p.add("tolerance", options_.tolerance, "end when ranks change by less in a tick; 0: never");
    p.add("norm", norm_, {"l1", "max"}, "of the change: the sum over all, or the largest");
    p.begin_advanced();
    p.add("test-interval", options_.test_interval, "ticks between two tests of the tolerance");
    p.add("test-lag", options_.test_lag, "ticks from a test to the end that it decides");
    p.add("ns-per-vertex", cost_.ns_per_vertex, "nanoseconds a vertex and tick in virtual time");
    p.add("ns-per-edge", cost_.ns_per_edge, "nanoseconds an edge and tick in virtual time");
    p.are_files({"input"});
    p.may_change({"damping", "tolerance", "norm", "test-interval", "test-lag"});
    p.same_bits({"top", "ns-per-vertex", "ns-per-edge"});
    p.unread(
        {"vertices", "degree", "far"}, [this] { return !input_.empty(); },
        "no --input with it: that file has the graph");
  }

  [[nodiscard]] Bytes finding(tick::NodeRun& node) override {
    Ranking ranking(static_cast<std::size_t>(top_));
    if (!add_to_ranking(node, ranking)) return {};
    Writer out;
    ranking.write(out);
    return out.take();
  }

  [[nodiscard]] std::optional<io::Table> findings(const std::vector<Bytes>& parts) override {
    if (top_ == 0) return std::nullopt;
    Ranking all(static_cast<std::size_t>(top_));
    for (const Bytes& part : parts) {
      Reader in(part);
      all.merge(Ranking::read(in));
    }
    io::Table table({{"rank"}, {"name"}, {"share", 8}});
    std::int64_t place = 0;
    for (const RankedVertex& each : all.best())
      table.row().integer(++place).text(named_.name(each.vertex)).number(each.rank);
    return table;
  }

  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    if (top_ < 0 || top_ > 1'000'000) {
      throw Error("--top: expected 0 to 1000000, found " + std::to_string(top_), ExitCode::usage);
    }
    options_.norm = norm_ == "l1" ? PageRankOptions::Norm::l1 : PageRankOptions::Norm::max;
    options_.weighted = what_ == Of::ranks;
    options_.validate();
    if (cost_.ns_per_vertex < 0 || cost_.ns_per_edge < 0) {
      throw Error("--ns-per-vertex and --ns-per-edge: expected 0 or more", ExitCode::usage);
    }
    PageRankGraph graph = input_.empty() ? trial_graph() : read();
    named_ = graph;
    const auto structure = graph.graph;
    try {
      return std::make_unique<PageRankProblem>(
          PageRankModel(structure, PageRank(std::move(graph), options_)), cost_);
    } catch (const Error& error) {
      throw input_.empty() ? error : error.in("reading " + input_);
    }
  }

 private:
  [[nodiscard]] PageRankGraph trial_graph() const {
    constexpr std::int64_t kMost = 100'000'000;
    if (vertices_ < 1 || vertices_ > kMost || degree_ < 0 || degree_ > 1000) {
      throw Error("--vertices and --degree: expected 1 to 100000000 and 0 to 1000, found " +
                      std::to_string(vertices_) + " and " + std::to_string(degree_),
                  ExitCode::usage);
    }
    if (far_ < 0 || far_ > kMost) {
      throw Error("--far: expected 0 to 100000000, found " + std::to_string(far_), ExitCode::usage);
    }
    return make_pagerank_graph(static_cast<VertexId>(vertices_),
                               static_cast<std::uint32_t>(degree_), seed_,
                               static_cast<std::uint32_t>(far_));
  }

  [[nodiscard]] PageRankGraph read() const {
    if (source_column_ < 1 || target_column_ < 1) {
      throw Error("--source-column and --target-column: columns count from 1, found " +
                      std::to_string(std::min(source_column_, target_column_)),
                  ExitCode::usage);
    }
    io::EdgeListOptions options;
    options.labels = labels_ == "text" ? io::Labels::text : io::Labels::integer;
    options.source_column = static_cast<std::size_t>(source_column_);
    options.target_column = static_cast<std::size_t>(target_column_);
    if (!only_.empty()) options.filter = filter();
    options.weight_column = weight_column(options);
    if (what_ == Of::ranks) options.weight_least = 0;
    const auto duplicates =
        duplicates_ == "merge" ? tick::Duplicates::merge : tick::Duplicates::keep;
    // A Matrix Market file has its values whether they are asked for or not.
    const auto weights = weight_column_ == 0 ? EdgeWeights::left_aside : EdgeWeights::kept;
    if (weights == EdgeWeights::left_aside) {
      options.weight_least = io::EdgeListOptions{}.weight_least;
    }
    return read_pagerank_graph(input_, options, duplicates, weights);
  }

  // A file whose third column could be weights does not say so: leaving them aside in silence
  // would be as wrong as taking a date for one. So people say which it is.
  [[nodiscard]] std::size_t weight_column(const io::EdgeListOptions& options) const {
    if (weight_column_ && *weight_column_ >= 0) return static_cast<std::size_t>(*weight_column_);
    if (weight_column_) {
      throw Error("--weight-column: columns count from 1, 0 is none, found " +
                      std::to_string(*weight_column_),
                  ExitCode::usage);
    }
    const bool usual_columns = source_column_ == 1 && target_column_ == 2 && only_.empty();
    if (usual_columns) refuse_third_number(options);
    return 0;
  }

  // Of the first edge: it says what columns there are.
  void refuse_third_number(io::EdgeListOptions options) const {
    io::Edge edge;
    // A Matrix Market file says itself what it has.
    if (io::EdgeReader(input_, options).is_matrix_market()) return;
    options.weight_column = 3;
    io::EdgeReader reader(input_, options);
    try {
      if (!reader.next(edge)) return;
    } catch (const Error&) {
      return;  // what else is wrong, reading it all will tell
    }
    const Error found = reader.error(
        "the file has a third number in a line, expected --weight-column 3 if it is a weight, or "
        "--weight-column 0 if not, found " +
        io::number_text(edge.weight));
    throw Error(std::string("--weight-column: ") + found.what(), ExitCode::usage);
  }

  [[nodiscard]] io::EdgeFilter filter() const {
    const std::size_t equals = only_.find('=');
    io::EdgeFilter result;
    const char* begin = only_.data();
    const char* end = begin + (equals == std::string::npos ? 0 : equals);
    const auto [at, error] = std::from_chars(begin, end, result.column);
    if (error != std::errc{} || at != end || result.column < 1) {
      throw Error("--only: expected COLUMN=VALUE, such as 2=Depends, found \"" + only_ + "\"",
                  ExitCode::usage);
    }
    result.values = {only_.substr(equals + 1)};
    return result;
  }

  std::string input_;
  std::string labels_ = "integer";
  std::int64_t source_column_ = 1;
  std::int64_t target_column_ = 2;
  Of what_;
  std::optional<std::int64_t> weight_column_;
  std::string only_;
  std::string duplicates_ = "merge";
  std::int64_t vertices_ = 10'000;
  std::int64_t degree_ = 8;
  std::int64_t far_ = 2;
  std::uint64_t seed_ = 1;
  std::string norm_ = "l1";
  std::int64_t top_ = 10;
  PageRankGraph named_;
  PageRankOptions options_;
  tick::GraphStoreOptions cost_;
};

}  // namespace

std::unique_ptr<tick::App> make_pagerank_app() {
  return std::make_unique<PageRankApp>(PageRankApp::Of::ranks);
}

std::unique_ptr<tick::App> make_weighted_graph_app() {
  return std::make_unique<PageRankApp>(PageRankApp::Of::graph);
}

bool add_to_ranking(tick::NodeRun& node, Ranking& ranking) {
  const auto* store = dynamic_cast<const PageRankStore*>(&node.store());
  if (store == nullptr) return false;
  store->for_each_own(node.engine().end(), [&](VertexId v, double value) {
    ranking.add(v, store->model().user().rank(v, value));
  });
  return true;
}

}  // namespace rubato::models

template class rubato::tick::ProblemOf<rubato::models::PageRankModel, rubato::models::PageRankStore,
                                       rubato::tick::GraphStoreOptions>;

#include "rubato/models/app_jacobi.hpp"

#include <optional>
#include <string>

#include "rubato/io/number.hpp"

namespace rubato::models {
namespace {

class JacobiApp final : public tick::App {
 public:
  [[nodiscard]] std::string name() const override { return "jacobi"; }
  [[nodiscard]] std::string summary() const override {
    return "Solves A x = b by Jacobi iterations, from a Matrix Market file";
  }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {"jacobi --input examples/data/plate.mtx --output solution",
            "jacobi --input examples/data/plate.mtx --b random --norm max --tolerance 1e-4",
            "jacobi --rows 20000 --simulate 16 --profile ec2-large --policy d2"};
  }
  [[nodiscard]] std::string files() const override {
    return "  jacobi.csv            vertex,row,x of the last state; rows count from 1\n"
           "  jacobi-0000000t.csv   of tick t, with --every\n";
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> check_settings() const override {
    return {{"rows", "500"}};
  }
  [[nodiscard]] tick::Tick default_ticks() const override { return 1000; }

  void declare(tick::Parameters& p) override {
    p.add("input", input_, "Matrix Market file with A, .gz too; without it a trial matrix");
    p.add("b", b_, "ones, random, or a file: a number a line, or a Matrix Market array");
    p.add("tolerance", options_.tolerance,
          "end when the residual b - A x is at most that share of b; 0: never");
    p.add("norm", norm_, {"l2", "max"}, "of both: the length, or the largest entry");
    p.add("rows", trial_.rows, "of the trial matrix");
    p.add("degree", trial_.degree, "entries of each row off its diagonal, at most");
    p.add("far", trial_.far, "one of so many is anywhere, the others near the diagonal; 0: none");
    p.add("dominance", trial_.dominance, "its diagonal over the sum of the others' sizes");
    p.add("seed", trial_.seed, "of the trial matrix, and of --b random");
    p.begin_advanced();
    p.add("test-interval", options_.test_interval, "ticks between two tests of the tolerance");
    p.add("test-lag", options_.test_lag, "ticks from a test to the end that it decides");
    p.add("ns-per-row", cost_.ns_per_vertex, "nanoseconds a row and tick in virtual time");
    p.add("ns-per-entry", cost_.ns_per_edge, "nanoseconds an entry and tick in virtual time");
    p.are_files({"input"});
    p.are_files({"b"}, {"ones", "random"});
    p.may_change({"b", "tolerance", "norm", "test-interval", "test-lag"});
    p.same_bits({"ns-per-row", "ns-per-entry"});
    p.unread(
        {"rows", "degree", "far", "dominance"}, [this] { return !input_.empty(); },
        "no --input with it: that file has the matrix");
  }

  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    options_.norm = norm_ == "max" ? JacobiNorm::max : JacobiNorm::l2;
    options_.validate();
    if (cost_.ns_per_vertex < 0 || cost_.ns_per_edge < 0) {
      throw Error("--ns-per-row and --ns-per-entry: expected 0 or more", ExitCode::usage);
    }
    JacobiSystem system = input_.empty() ? make_jacobi_matrix(trial_) : read_jacobi_matrix(input_);
    const std::uint64_t n_rows = system.graph->n_vertices();
    system.b = b_ == "ones"     ? jacobi_ones(n_rows)
               : b_ == "random" ? jacobi_random(n_rows, trial_.seed)
                                : read_jacobi_vector(b_, n_rows);
    const auto graph = system.graph;
    solver_.emplace(std::move(system), options_);
    return std::make_unique<JacobiProblem>(JacobiModel(graph, *solver_), cost_);
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    const JacobiDominance found = find_jacobi_dominance(solver_->system());
    const std::string of = input_.empty() ? "the trial matrix" : input_;
    const bool has_rows = !solver_->system().diagonal->empty();
    if (found.n_rows_without == 0 && (found.is_strict || !has_rows)) return {};
    if (found.n_rows_without == 0) {
      return {
          of +
          ": in each row the diagonal is as large as all others together, and in none larger, so "
          "the iteration may not converge"};
    }
    return {of + ": the diagonal does not dominate in " + std::to_string(found.n_rows_without) +
            " of " + std::to_string(solver_->system().diagonal->size()) +
            " rows, so the iteration may not converge; the first is row " +
            std::to_string(found.first + std::uint64_t{1}) + ", with " +
            io::number_text(found.diagonal) + " on the diagonal and " +
            io::number_text(found.others) + " beside it"};
  }

  // The own rows and what x is there.
  [[nodiscard]] Bytes finding(tick::NodeRun& node) override {
    const auto* store = dynamic_cast<const JacobiStore*>(&node.store());
    RUBATO_REQUIRE(store != nullptr);
    std::vector<VertexId> rows;
    std::vector<double> values;
    store->for_each_own(node.engine().end(), [&](VertexId v, double x) {
      rows.push_back(v);
      values.push_back(x);
    });
    Writer out;
    out.put_vector(rows);
    out.put_vector(values);
    return out.take();
  }

  // Of the last state itself, which no step has looked at: node 0, which has the whole matrix as
  // every node has, multiplies it.
  [[nodiscard]] std::optional<io::Table> findings(const std::vector<Bytes>& parts) override {
    std::vector<double> x(solver_->system().diagonal->size());
    for (const Bytes& part : parts) {
      Reader in(part);
      const auto rows = in.get_vector<VertexId>();
      const auto values = in.get_vector<double>();
      RUBATO_REQUIRE(rows.size() == values.size(), rows.size(), values.size());
      for (std::size_t i = 0; i < rows.size(); ++i)
        x.at(rows[i]) = values[i];
    }
    const JacobiSize residual = solver_->residual(x);
    const auto whole = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
    io::Table table({{"quantity"}, {"value", 3, "", true}});
    table.row().text("rows").integer(whole(x.size()));
    table.row().text("entries").integer(whole(solver_->system().graph->n_edges() + x.size()));
    table.row().text("residual, largest").number(solver_->of_units(residual.norm(JacobiNorm::max)));
    table.row().text("residual, length").number(solver_->of_units(residual.norm(JacobiNorm::l2)));
    table.row().text("residual / b").number(residual.norm(options_.norm) / solver_->scale());
    return table;
  }

 private:
  std::string input_;
  std::string b_ = "ones";
  std::string norm_ = "l2";
  JacobiTrial trial_;
  JacobiOptions options_;
  std::optional<Jacobi> solver_;
  tick::GraphStoreOptions cost_;
};

}  // namespace

std::unique_ptr<tick::App> make_jacobi_app() {
  return std::make_unique<JacobiApp>();
}

}  // namespace rubato::models

template class rubato::tick::ProblemOf<rubato::models::JacobiModel, rubato::models::JacobiStore,
                                       rubato::tick::GraphStoreOptions>;

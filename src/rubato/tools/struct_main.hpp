#pragma once
// The whole main() of a program whose model is one struct:
//
//   struct Waves { .. };
//   int main(int argc, char** argv) { return rubato::struct_main<Waves>("waves", argc, argv); }
//
// What stands in the struct tells its kind:
//
//   kind      what says what in it                 example
//   grid      tick/grid/grid_user.hpp              examples/02_waves
//   points    tick/points/points_user.hpp          examples/03_gnats
//   graph     tick/graph/graph_user.hpp            examples/04_hops
//   general   tick/model.hpp, by hand              struct_main_test.cpp; it also needs what
//   checksums
//                                                  do: tuples that are plain, or for_each_tuple
//
// Optional in the struct:
//   void declare(Parameters& p) { p.add("width", width, "cells along x"); }   // become options
//   static constexpr const char* kSummary = "waves in an excitable medium";   // in the help
// and in one of the kind graph, called when the parameters are set:
//   std::shared_ptr<const Digraph> graph() const;   // without it the graph is an --input
//   void take_graph(const InputGraph& input);       // the --input, for degrees and names
// Its steps see the weights of --weight-column as in.weight(i).
// A model that reads other files writes its own App instead (model_main.hpp).

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "rubato/base/random.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tools/model_main.hpp"
#include "rubato/tools/struct_main_graph.hpp"
#include "rubato/tools/struct_main_kinds.hpp"

namespace rubato {

// What the struct names.
using io::Mark;
using tick::ColumnType;
using tick::ColumnUse;
using tick::Digraph;
using tick::GridCell;
using tick::GridShape;
using tick::GridSpan;
using tick::GridValues;
using tick::Index;
using tick::InEdge;
using tick::InEdges;
using tick::OutputColumn;
using tick::OutputRows;
using tick::Parameters;
using tick::PictureKind;
using tick::PictureStyle;
using tick::Tick;
using tick::VertexId;
using tick::points::NeighboursOf;
using tick::points::Offspring;
using tick::points::Wanted;
using tick::points::World;

namespace tools {

// The App of a struct: its members are the parameters, its copy is the model.
template <StructModel U>
class StructApp final : public tick::App {
 public:
  explicit StructApp(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string summary() const override {
    if constexpr (requires { std::string(U::kSummary); }) return U::kSummary;
    return "The model " + name_;
  }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {name_ + " --ticks 500 --output " + name_ + "-run",
            name_ + " --simulate 16 --profile ec2-large --policy k3m5d10"};
  }
  void declare(tick::Parameters& parameters) override {
    if constexpr (requires { user_.declare(parameters); }) user_.declare(parameters);
    if constexpr (kReadsGraph<U>) input_.declare(parameters);
  }
  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    if constexpr (tick::GridUser<U>) {
      return problem<tick::GridModel<U>, tick::GridStore<U>>(user_);
    } else if constexpr (tick::points::PointsUser<U>) {
      return problem<tick::PointsModel<U>, tick::PointsStore<U>>(user_);
    } else if constexpr (kReadsGraph<U>) {
      const InputGraph read = input_.read();
      U user = user_;
      if constexpr (requires { user.take_graph(read); }) user.take_graph(read);
      return problem<tick::GraphModel<U>, tick::GraphStore<U>>(read.graph, std::move(user));
    } else if constexpr (tick::GraphUser<U>) {
      return problem<tick::GraphModel<U>, tick::GraphStore<U>>(user_.graph(), user_);
    } else {
      return problem<U, tick::FragmentStore<U>>(user_);
    }
  }

 private:
  struct NoInput {};

  template <class Model, class Store, class... From>
  [[nodiscard]] static std::unique_ptr<tick::Problem> problem(From&&... from) {
    return std::make_unique<tick::ProblemOf<Model, Store>>(Model(std::forward<From>(from)...));
  }

  std::string name_;
  U user_;
  [[no_unique_address]] std::conditional_t<kReadsGraph<U>, GraphInput, NoInput> input_;
};

}  // namespace tools

// The exit code of the program, which is called `name`; prints what goes wrong. Blocks until the
// command has ended. A struct that is no model does not compile; the message says what it lacks.
template <class U>
[[nodiscard]] int struct_main(const char* name, int argc, char** argv) noexcept {
  tools::explain_struct<U>();
  if constexpr (tools::StructModel<U>) {
    return tools::run_model_program(argc, argv,
                                    [name] { return std::make_unique<tools::StructApp<U>>(name); });
  } else {
    return 1;
  }
}

}  // namespace rubato

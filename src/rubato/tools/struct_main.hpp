#pragma once
// The whole main() of a program whose model is one struct, of the kind `grid` or `points`:
//
//   struct Waves { .. };   // tick/grid/grid_model.hpp or tick/points/points_user.hpp says what in
//   it int main(int argc, char** argv) { return rubato::struct_main<Waves>("waves", argc, argv); }
//
// Optional in the struct:
//   void declare(Parameters& p) { p.add("width", width, "cells along x"); }   // become options
//   static constexpr const char* kSummary = "waves in an excitable medium";   // in the help
// A model that reads files, or one of another kind, writes its own App instead (model_main.hpp).

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "rubato/base/random.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/problem.hpp"
#include "rubato/tools/model_main.hpp"

namespace rubato {

// What the struct names.
using tick::GridShape;
using tick::GridSpan;
using tick::Index;
using tick::Parameters;
using tick::Tick;

namespace tools {

template <class U>
concept StructModel = std::copyable<U> && std::default_initializable<U> &&
    (tick::GridUser<U> || tick::points::PointsUser<U>);

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
  }
  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    if constexpr (tick::GridUser<U>) {
      using Model = tick::GridModel<U>;
      return std::make_unique<tick::ProblemOf<Model, tick::GridStore<U>>>(Model(user_));
    } else {
      using Model = tick::PointsModel<U>;
      return std::make_unique<tick::ProblemOf<Model, tick::PointsStore<U>>>(Model(user_));
    }
  }

 private:
  std::string name_;
  U user_;
};

}  // namespace tools

// The exit code of the program, which is called `name`; prints what goes wrong. Blocks until the
// command has ended.
template <tools::StructModel U>
[[nodiscard]] int struct_main(const char* name, int argc, char** argv) noexcept {
  return tools::run_model_program(argc, argv,
                                  [name] { return std::make_unique<tools::StructApp<U>>(name); });
}

}  // namespace rubato

#pragma once
// The whole main() of a program with a model of its own:
//
//   class School final : public rubato::tick::App { .. };
//   int main(int argc, char** argv) { return rubato::tools::model_main<School>(argc, argv); }
//
// gives `school run`, `school compare` and all other commands of rubato for that model, with its
// parameters as options; words without a command run the model: `school --ticks 500`, also under
// `school launch -n 4 -- school --ticks 500`, mpirun and srun.

#include <concepts>
#include <memory>

#include "rubato/tick/app.hpp"

namespace rubato::tools {

// The exit code of the program; prints what goes wrong. Blocks until the command has ended. The
// program's name in messages is the model's.
[[nodiscard]] int run_model_program(int argc, char** argv, const tick::AppMaker& model) noexcept;

template <std::derived_from<tick::App> A>
requires std::default_initializable<A>
[[nodiscard]] int model_main(int argc, char** argv) noexcept {
  return run_model_program(argc, argv, [] { return std::make_unique<A>(); });
}

}  // namespace rubato::tools

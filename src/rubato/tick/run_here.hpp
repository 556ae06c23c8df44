#pragma once
// A whole run in this process, called like a function: what a task of a flow does who simulates, or a
// program that wants no more than the result.
//
//   using Fires = ProblemOf<GridModel<Fire>, GridStore<Fire>, GridStoreOptions>;
//   const Fires problem(GridModel<Fire>(Fire{0.5, 1}));
//   const auto end = run_here(problem, Policy::parse("local"), 60, 2);   // on 2 cores
//   end.state, end.result.ticks ..

#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::tick {

// execute() as a job of its own, of one node: `n_cores` threads, which are not pinned. Blocks; from any
// thread, many at a time. Within a task of a flow or of `global` it is native work, and the task takes
// as many cores (RuleOptions::native, n_cores). Signals and memory are the caller's. Throws Error as
// execute() does.
[[nodiscard]] RunResult execute_here(const Problem& problem, const Policy& policy, Tick ticks,
                                     std::uint32_t n_cores, const ExecutionOptions& options = {});

template <class P>
struct RunHere {
  RunResult result;
  typename P::State state;  // at its end
};

// The same, with the state. P: a ProblemOf whose model merges states.
template <class P>
[[nodiscard]] RunHere<P> run_here(const P& problem, const Policy& policy, Tick ticks,
                                  std::uint32_t n_cores) {
  RunHere<P> run;
  ExecutionOptions options;
  options.at_end = [&](NodeRun& node) {
    auto& typed = dynamic_cast<typename P::Node&>(node);
    problem.model().merge(run.state, typed.store().own_state(typed.engine().end()));
  };
  run.result = execute_here(problem, policy, ticks, n_cores, options);
  return run;
}

}  // namespace rubato::tick

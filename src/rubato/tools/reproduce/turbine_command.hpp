#pragma once
// `rubato reproduce turbine`: its options, and what it prints.

#include <string>

#include "rubato/tools/command_line.hpp"
#include "rubato/tools/reproduce/turbine.hpp"

namespace rubato::tools {

class TurbineCommand {
 public:
  // Adds the subcommand to `reproduce`; this outlives it.
  void add_to(CLI::App& reproduce);
  [[nodiscard]] bool chosen() const;
  // Blocks. Throws Error as run_turbine().
  [[nodiscard]] ExitCode run(const Context& context) const;

 private:
  [[nodiscard]] TurbineOptions options() const;

  CLI::App* parser_ = nullptr;
  bool quick_ = false;
  std::string report_;
  std::uint32_t n_nodes_ = 0;
  std::string profile_;
  double task_ms_ = 0;
  std::int64_t n_stage_tasks_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace rubato::tools

#pragma once
// `rubato reproduce asytick`: its options, and what it prints.

#include <string>

#include "rubato/tools/command_line.hpp"
#include "rubato/tools/reproduce/asytick.hpp"

namespace rubato::tools {

class AsytickCommand {
 public:
  // Adds the subcommand to `reproduce`; this outlives it.
  void add_to(CLI::App& reproduce);
  [[nodiscard]] bool chosen() const;
  // Blocks. Throws Error as run_asytick(), or if the runs of a benchmark end with different bits.
  [[nodiscard]] ExitCode run(const Identity& identity, const Context& context) const;

 private:
  [[nodiscard]] AsytickOptions options() const;
  void record(const Identity& identity, const Context& context) const;

  CLI::App* parser_ = nullptr;
  bool quick_ = false;
  std::string report_;
  std::uint32_t n_nodes_ = 0;
  std::uint32_t n_cores_ = 0;
  double slowdown_ = 0;
  double tick_ms_ = 0;
  tick::Tick epoch_ = 0;
  std::string profile_;
  std::uint64_t seed_ = 1;
  std::uint32_t jobs_ = 0;
  std::string only_;
  std::vector<std::string> changes_;
  std::string costs_;
  std::string record_;
};

}  // namespace rubato::tools

#pragma once
// What `rubato demo` shows: one model on virtual hosts with a late network under each policy, a
// picture of its state, and a report in one file.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rubato/io/image.hpp"
#include "rubato/tools/compare/comparison.hpp"

namespace rubato::tools {

// The instance of a model that is shown.
struct Scene {
  std::string model;
  std::vector<std::pair<std::string, std::string>> settings;  // parameters and their texts
  std::string title;
  std::string about;  // one sentence for the report
  tick::Tick ticks = 200;
  std::uint32_t n_nodes = 16;
  std::uint32_t n_rounds = 3;
  double slowdown = 1;
  std::string profile = "ec2-large";
  std::string policies = kDefaultPolicies;
};

// The school of fish if there is one among `models`, else the first; `quick` is small enough for a
// test. REQUIRES: there is a model.
[[nodiscard]] Scene demo_scene(const std::vector<std::string>& models, bool quick);

// The three commands to try next, each a whole line, with the scene's model.
[[nodiscard]] std::vector<std::string> next_commands(const std::string& program, bool single_model,
                                                     const Scene& scene);

// Writes the report to `path`; it appears whole. `picture` may be empty. Throws Error.
void write_demo_report(const std::string& path, const Scene& scene, const Comparison& comparison,
                       const io::RgbImage& picture, const std::vector<std::string>& next);

}  // namespace rubato::tools

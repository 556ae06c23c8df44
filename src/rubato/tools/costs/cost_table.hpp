#pragma once
// What real steps have cost: nanoseconds for the parameters with which models charge theirs in virtual
// time ("ns-per-fish"). `rubato costs` records one from steps of this machine; simulations are charged
// by it (`run --simulate N --costs FILE`), so that their figures are the same everywhere.
//
//   # Recorded 2026-11-25, AMD EPYC ..
//   fish ns-per-fish 61.3
//   fish ns-per-pair 3.9

#include <string>
#include <string_view>
#include <vector>

#include "rubato/tools/model_command.hpp"

namespace rubato::tools {

struct RecordedCost {
  std::string model;
  std::string parameter;
  double ns = 0;

  bool operator==(const RecordedCost&) const = default;
};

class CostTable {
 public:
  CostTable() = default;
  explicit CostTable(std::vector<RecordedCost> costs) : costs_(std::move(costs)) {}

  // Lines of a model, a parameter and nanoseconds, 0 or more; '#' begins a comment. Throws Error that
  // names `name`, the line, what was found and expected.
  [[nodiscard]] static CostTable parse(std::string_view text, const std::string& name);
  // Throws Error as parse(), or if the file cannot be read.
  [[nodiscard]] static CostTable read(const std::string& path);
  // The one that comes with Rubato, of the benchmarks of `reproduce asytick`.
  [[nodiscard]] static const CostTable& shipped();

  [[nodiscard]] const std::vector<RecordedCost>& costs() const noexcept { return costs_; }
  // Throws Error if there is none, with what there is.
  [[nodiscard]] double ns(std::string_view model, std::string_view parameter) const;
  // Sets the model's, but those that people have set. Throws Error if the table has none of the model,
  // or one that the model does not know.
  void set(ChosenModel& model) const;

 private:
  std::vector<RecordedCost> costs_;
  std::string name_ = "costs";  // in errors
};

// Whether a parameter is what a model charges for something, in nanoseconds: by its name.
[[nodiscard]] bool is_cost(const tick::Parameters::Parameter& parameter);

}  // namespace rubato::tools

#pragma once
// What two recorded runs differ in, and whether they computed the same.

#include <optional>
#include <string>
#include <vector>

#include "rubato/io/table.hpp"
#include "rubato/tools/record/run_folder.hpp"

namespace rubato::tools {

struct RunDiff {
  struct Difference {
    std::string what;
    std::string a;
    std::string b;
  };
  struct Change {
    std::string figure;
    double a = 0;
    double b = 0;
    // (b - a) / a, of shares b - a; absent where a is 0.
    std::optional<double> change{};
  };

  std::vector<Difference> configuration;
  std::vector<Change> figures;  // none if a run has none
  // Both ended at the same tick of the same model with the same parameters and input files: then the
  // state has the same bits, whatever the policy, the nodes and the cores.
  bool must_agree = false;
  std::string checksum_a;  // "" if the run has no figures
  std::string checksum_b;

  [[nodiscard]] bool agree() const noexcept {
    return !checksum_a.empty() && checksum_a == checksum_b;
  }
  // Checksums that must be the same are not.
  [[nodiscard]] bool is_broken() const noexcept { return must_agree && !agree(); }
};

[[nodiscard]] RunDiff diff_runs(const RecordedRun& a, const RecordedRun& b);

// The differences, the figures, and a line about the checksums.
[[nodiscard]] std::string diff_page(const RecordedRun& a, const RecordedRun& b, const RunDiff& diff,
                                    const io::TableStyle& style);
// An object.
void put_diff(io::JsonWriter& json, const RecordedRun& a, const RecordedRun& b,
              const RunDiff& diff);

}  // namespace rubato::tools

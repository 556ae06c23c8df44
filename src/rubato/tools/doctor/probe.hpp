#pragma once
// What this machine offers to a job, found by looking and by trying; nothing is changed by it.

#include <string>
#include <vector>

namespace rubato::tools {

enum class Verdict { ok, limited, missing };

// One thing that was looked at. `hint` says what to do, and is empty if all is well.
struct Finding {
  std::string name;  // stable, for --json, e.g. "open-mpi"
  Verdict verdict = Verdict::ok;
  std::string value;  // what was found, for people
  std::string hint;
};

[[nodiscard]] const char* to_string(Verdict verdict) noexcept;

// Looks at everything; takes some 50 ms, starts short-lived child processes.
[[nodiscard]] std::vector<Finding> probe_machine();

// The parts of it, bottom up.
[[nodiscard]] std::vector<Finding> probe_processors();
[[nodiscard]] std::vector<Finding> probe_memory();
[[nodiscard]] std::vector<Finding> probe_disk();
[[nodiscard]] std::vector<Finding> probe_permissions();
[[nodiscard]] std::vector<Finding> probe_launchers();

}  // namespace rubato::tools

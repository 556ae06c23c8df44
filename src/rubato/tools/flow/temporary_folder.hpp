#pragma once
// Where a run of a script keeps files without a name; goes with what is in it.

#include <functional>
#include <string>
#include <vector>

namespace rubato::tools {

// Node 0 makes it, and all nodes use it under that name: so it is in a place that all of them see.
class TemporaryFolder {
 public:
  // In `asked`, or, if that is "", in TMPDIR or /tmp if all nodes see that (as on one machine), else in
  // the folder that the run is in. Called by a task of node 0; waits for all nodes. Throws Error if a
  // node does not see what was asked for, or if nothing can be made there.
  // `nodes_without` is that of flow/seen_folder.hpp; null: there is one node.
  using Look = std::function<std::vector<std::string>(const std::string& folder)>;
  TemporaryFolder(const std::string& asked, const Look& nodes_without);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  // "": nodes see none of the places that were not asked for.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace rubato::tools

#include "rubato/tools/flow/temporary_folder.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <stdlib.h>

#include "rubato/base/error.hpp"
#include "rubato/flow/program/leftovers.hpp"

namespace rubato::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTag = "rubato-flow-";

// A new one; what runs have left there that were killed goes first.
std::string make_in(const fs::path& place, const std::string& prefix) {
  flow::remove_leftovers(place, kTag);
  std::string name = (place / (prefix + kTag + flow::process_mark() + "-XXXXXX")).string();
  if (::mkdtemp(name.data()) != nullptr) return fs::absolute(name).string();
  throw Error("cannot make the folder " + name + ": " + std::strerror(errno), ExitCode::failed);
}

void remove(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

fs::path usual_place() {
  std::error_code error;
  fs::path place = fs::temp_directory_path(error);
  if (!error) return place;
  const char* const named = ::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
  throw Error("TMPDIR: found " + std::string(named != nullptr ? named : "/tmp") +
              ", expected a folder; or give --temporary DIR");
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& asked, const Look& nodes_without) {
  const auto look = [&](const std::string& folder) {
    return nodes_without ? nodes_without(folder) : std::vector<std::string>();
  };
  std::error_code ignored;
  if (!asked.empty() && !fs::is_directory(asked, ignored))
    throw Error("--temporary " + asked + ": expected a folder that is there");
  std::string made = make_in(asked.empty() ? usual_place() : fs::path(asked), "");
  const std::vector<std::string> missing = look(made);
  if (missing.empty()) {
    path_ = made;
    return;
  }
  remove(made);
  if (!asked.empty()) {
    throw Error(
        "--temporary " + asked + ": " + missing.front() +
        (missing.size() > 1 ? " and " + std::to_string(missing.size() - 1) + " more do" : " does") +
        " not see what node 0 makes there: expected a folder that all nodes share");
  }
  try {
    made = make_in(fs::current_path(), ".");
  } catch (const Error&) {
    return;  // no right to write there: as if it were not seen
  }
  if (look(made).empty()) {
    path_ = made;
  } else {
    remove(made);
  }
}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) remove(path_);
}

}  // namespace rubato::tools

#include "rubato/flow/program/output_names.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/base/time.hpp"
#include "rubato/flow/program/detail/descriptor.hpp"
#include "rubato/flow/program/leftovers.hpp"

namespace rubato::flow {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameBytes = 255;      // of a file system's name
constexpr std::size_t kExtensionBytes = 32;  // what is longer is no extension
constexpr int kLinksMax = 40;                // as the kernel
constexpr const char* kTag = ".rubato-";

Error output_error(const std::string& path, const std::string& what) {
  return Error("output " + path + ": " + what, ExitCode::some_tasks_failed);
}

std::string cause(int error) {
  return std::strerror(error);  // NOLINT(concurrency-mt-unsafe)
}

// The file that `path` names once its links are followed, also when it does not exist yet.
fs::path followed(fs::path path) {
  std::error_code error;
  for (int n_links = 0; n_links < kLinksMax; ++n_links) {
    const fs::path next = fs::read_symlink(path, error);
    if (error) break;  // no link
    path = path.parent_path() / next;
  }
  return path;
}

// ".tar.gz" of "a.tar.gz", "" of "a" and ".profile".
std::string extension_of(const std::string& name) {
  const std::size_t dot = name.find('.', 1);
  if (dot == std::string::npos || name.size() - dot > kExtensionBytes) return "";
  return name.substr(dot);
}

// A name that no file in `folder` has. Other processes may have made theirs with our number on
// another host, or before the number was ours: a name that is taken is passed over.
std::string hidden_name(const fs::path& folder, const std::string& name) {
  static std::atomic<std::uint64_t> counter{0};
  while (true) {
    const std::string tail =
        kTag + process_mark() + "-" + std::to_string(counter.fetch_add(1)) + extension_of(name);
    std::string hidden = "." + name.substr(0, kNameBytes - 1 - tail.size()) + tail;
    std::error_code ignored;
    if (!fs::exists(fs::symlink_status(folder / hidden, ignored))) return hidden;
  }
}

// Once for each folder: to look through it for each output costs too much where there are many.
void remove_leftovers_once(const fs::path& folder) {
  static std::mutex mutex;
  static std::unordered_set<std::string> done;
  {
    const std::lock_guard lock(mutex);
    if (!done.insert((fs::current_path() / folder).string()).second) return;
  }
  remove_leftovers(folder, kTag);
}

void make_folder(const fs::path& folder, const std::string& path) {
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  // Of a link to a folder it says that it is no folder.
  std::error_code ignored;
  if (error && !fs::is_directory(folder, ignored)) {
    throw output_error(path,
                       "its folder " + folder.string() + " cannot be made: " + error.message());
  }
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  fs::directory_iterator entries(folder.empty() ? "." : folder, ignored);
  for (; entries != fs::directory_iterator(); entries.increment(ignored))
    names.push_back(entries->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// `name` was made by a program of the hidden name `hidden`, to which it put something.
bool is_made_of(std::string_view name, std::string_view hidden) {
  const std::size_t mark = hidden.rfind(kTag);
  const std::size_t end = std::min(hidden.find('.', mark + 1), hidden.size());
  const std::string_view stem = hidden.substr(0, end);
  if (!name.starts_with(stem)) return false;
  // Not of .rubato-1-10, whose beginning is .rubato-1-1.
  return name.size() == end || name[end] < '0' || name[end] > '9';
}

void sync(const std::string& path, int flags, const std::string& shown) {
  const program_detail::Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  if (!file.open() || ::fsync(file.get()) != 0) throw output_error(shown, cause(errno));
}

}  // namespace

OutputNames::Identity OutputNames::identity_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_ctim.tv_sec * kSecond + info.st_ctim.tv_nsec};
}

OutputNames::Output OutputNames::output_of(const std::string& path, const OutputOptions& options) {
  const fs::path whole = fs::path(options.folder) / path;
  if (path.empty()) throw output_error("\"\"", "expected the name of a file, found none");
  const fs::path target = followed(whole);
  make_folder(target.parent_path(), path);
  // What cannot be looked at fails when the program writes there, with a better reason.
  std::error_code ignored;
  const fs::file_status status = fs::status(target, ignored);
  if (target.filename().empty() || fs::is_directory(status)) {
    throw output_error(path, "expected the name of a file, found a folder");
  }
  Output output;
  output.path = path;
  output.target = target.string();
  output.direct = fs::exists(status) && !fs::is_regular_file(status);
  output.before = identity_of(output.target);
  if (output.direct) {
    output.temporary = path;
    output.written = output.target;
    return output;
  }
  remove_leftovers_once(target.parent_path());
  const std::string name = hidden_name(target.parent_path(), target.filename().string());
  output.written = (target.parent_path() / name).string();
  // Beside the file that a link names: that folder the program may see under another name.
  output.temporary = target == whole ? (fs::path(path).parent_path() / name).string()
                                     : fs::absolute(output.written).string();
  return output;
}

OutputNames::OutputNames(const std::vector<std::string>& paths, const OutputOptions& options)
    : durable_(options.durable), writer_(options.writer) {
  // Canonical names: a/../b and b are one file.
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    outputs_.push_back(output_of(path, options));
    const fs::path target(outputs_.back().target);
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    std::error_code error;
    const std::string name = (fs::canonical(folder, error) / target.filename()).string();
    if (error) throw output_error(path, error.message());
    const auto same = std::find(names.begin(), names.end(), name);
    if (same != names.end() && !outputs_.back().direct) {
      const std::string& other = outputs_[static_cast<std::size_t>(same - names.begin())].path;
      throw output_error(path, other == path ? "expected outputs of different names, found it twice"
                                             : "it is the same file as output " + other);
    }
    names.push_back(name);
  }
}

OutputNames::~OutputNames() {
  discard();
}

std::size_t OutputNames::index_of(const std::string& path) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].path == path) return i;
    names.push_back(outputs_[i].path);
  }
  throw output_error(path, "it is not among the outputs of this task" + did_you_mean(path, names));
}

const std::string& OutputNames::temporary(const std::string& path) const {
  return outputs_[index_of(path)].temporary;
}

bool OutputNames::was_written_itself(const std::string& path) const {
  const Output& output = outputs_[index_of(path)];
  std::error_code ignored;
  return !output.direct && !fs::exists(fs::symlink_status(output.written, ignored)) &&
         identity_of(output.target) != output.before;
}

void OutputNames::leave(const std::string& path) {
  const auto output = outputs_.begin() + static_cast<std::ptrdiff_t>(index_of(path));
  discard(*output);
  outputs_.erase(output);
}

void OutputNames::check_is_written(const Output& output) const {
  std::error_code ignored;
  const fs::file_status status = fs::status(output.written, ignored);
  const std::string expected = "expected that " + writer_ + " writes it as " + output.temporary;
  if (fs::is_directory(status)) throw output_error(output.path, expected + ", found a folder");
  if (fs::exists(status)) return;
  const fs::path written(output.written);
  if (fs::is_symlink(fs::symlink_status(written, ignored))) {
    throw output_error(output.path, expected + ", found a link to nothing");
  }
  const std::vector<std::string> names = names_in(written.parent_path());
  for (const std::string& name : names) {
    if (is_made_of(name, written.filename().string())) {
      std::string what = expected;
      what.append(", found \"").append(name).append("\"");
      throw output_error(output.path, what);
    }
  }
  if (identity_of(output.target) != output.before) {
    throw output_error(output.path, expected + ", found that it wrote " + output.path + " itself");
  }
  const std::string own = fs::path(output.target).filename().string();
  std::vector<std::string> others;
  std::copy_if(names.begin(), names.end(), std::back_inserter(others),
               [&](const std::string& name) { return name != own && !name.starts_with('.'); });
  throw output_error(output.path, expected + ", found nothing" + did_you_mean(own, others));
}

void OutputNames::commit() {
  try {
    // All are looked at before any is renamed: a task that failed changes nothing.
    for (const Output& output : outputs_)
      check_is_written(output);
    rename_all();
  } catch (...) {
    discard();
    throw;
  }
  outputs_.clear();
}

void OutputNames::rename_all() {
  for (const Output& output : outputs_)
    if (durable_ && !output.direct) sync(output.written, O_RDONLY, output.path);
  for (const Output& output : outputs_) {
    if (output.direct) continue;
    if (::rename(output.written.c_str(), output.target.c_str()) != 0) {
      throw output_error(output.path, cause(errno));
    }
    const fs::path folder = fs::path(output.target).parent_path();
    if (durable_) sync(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY, output.path);
  }
}

void OutputNames::discard(const Output& output) {
  if (output.direct) return;
  const fs::path written(output.written);
  const std::string hidden = written.filename().string();
  std::error_code ignored;
  // With what the program made of the name: a.png.part, a folder of its own.
  for (const std::string& name : names_in(written.parent_path()))
    if (is_made_of(name, hidden)) fs::remove_all(written.parent_path() / name, ignored);
}

void OutputNames::discard() noexcept {
  try {
    for (const Output& output : outputs_)
      discard(output);
  } catch (const std::exception&) {
    // No memory for names: hidden files stay, which nobody takes for results.
  }
  outputs_.clear();
}

}  // namespace rubato::flow

#include "rubato/flow/program/glob.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <dirent.h>
#include <sys/stat.h>

#include "rubato/base/error.hpp"
#include "rubato/flow/program/detail/name_pattern.hpp"

namespace rubato::flow {
namespace {

struct Part {
  bool deep = false;  // **
  program_detail::NamePattern name;
};

struct Entry {
  std::string name;
  unsigned char type = DT_UNKNOWN;
};

// Finds what one pattern names.
class Search {
 public:
  Search(const std::string& pattern, const std::string& folder) : folder_(folder) {
    if (pattern.empty()) throw Error("expected a pattern of names, found none");
    folders_only_ = pattern.back() == '/';
    if (!folder_.empty() && folder_.back() != '/') folder_ += '/';
    if (pattern.front() == '/') folder_.clear();
    std::size_t begin = 0;
    while (begin < pattern.size()) {
      const std::size_t end = std::min(pattern.find('/', begin), pattern.size());
      add_part(pattern, begin, end - begin);
      begin = end + 1;
    }
    find(pattern.front() == '/' ? "/" : "", 0);
  }

  std::vector<std::string> take() {
    std::sort(found_.begin(), found_.end());
    // Two ** can find a name in several ways.
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

 private:
  void add_part(const std::string& pattern, std::size_t begin, std::size_t n_bytes) {
    if (n_bytes == 0) return;  // a//b is a/b
    const bool deep = pattern.compare(begin, n_bytes, "**") == 0;
    // a/**/**/b is a/**/b, at the cost of a square less.
    if (deep && !parts_.empty() && parts_.back().deep) return;
    parts_.push_back({deep, program_detail::NamePattern(pattern, begin, n_bytes)});
  }

  [[noreturn]] static void fail(const std::string& path, int error) {
    throw Error("reading folder " + path + ": " +
                std::strerror(error));  // NOLINT(concurrency-mt-unsafe)
  }
  // Not there (any more), which is no error.
  static bool is_absent(int error) { return error == ENOENT || error == ENOTDIR; }

  // The entries of the folder `path`, whole before anything is done with them: a search holds one
  // folder open at a time, however deep it is.
  [[nodiscard]] std::vector<Entry> entries_of(const std::string& path) const {
    const std::string whole = folder_ + path;
    const std::string shown = whole.empty() ? "." : whole;
    std::vector<Entry> entries;
    DIR* opened = ::opendir(shown.c_str());
    if (opened == nullptr && is_absent(errno)) return entries;
    if (opened == nullptr) fail(shown, errno);
    const auto close = [](DIR* open) { ::closedir(open); };
    const std::unique_ptr<DIR, decltype(close)> stream(opened, close);
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(opened);  // NOLINT(concurrency-mt-unsafe)
      if (entry == nullptr && errno != 0) fail(shown, errno);
      if (entry == nullptr) return entries;
      const std::string name = entry->d_name;
      if (name != "." && name != "..") entries.push_back({name, entry->d_type});
    }
  }

  [[nodiscard]] bool is_folder(const std::string& path, bool through_links) const {
    struct stat info {};
    const std::string whole = folder_ + path;
    const int got = through_links ? ::stat(whole.c_str(), &info) : ::lstat(whole.c_str(), &info);
    return got == 0 && S_ISDIR(info.st_mode);
  }

  // `path` matches all parts.
  void accept(const std::string& path) {
    if (!folders_only_) {
      found_.push_back(path);
    } else if (is_folder(path, true)) {
      found_.push_back(path.back() == '/' ? path : path + "/");
    }
  }

  // `path`, which is there, matches the parts before `part`.
  void go_on(const std::string& path, std::size_t part) {
    if (part == parts_.size()) {
      accept(path);
    } else {
      find(path + "/", part);
    }
  }

  // What is below `path`, which is "" or ends with a slash, and matches the parts from `part`.
  void find(const std::string& path, std::size_t part) {
    if (part == parts_.size()) {  // the pattern /
      found_.push_back(path);
    } else if (parts_[part].deep) {
      find_deep(path, part);
    } else if (parts_[part].name.is_literal()) {
      find_literal(path, part);
    } else {
      for (const Entry& entry : entries_of(path)) {
        const bool last = part + 1 == parts_.size();
        // Files have nothing below them.
        if (!last && entry.type != DT_DIR && entry.type != DT_LNK && entry.type != DT_UNKNOWN) {
          continue;
        }
        if (parts_[part].name.matches(entry.name)) go_on(path + entry.name, part + 1);
      }
    }
  }

  void find_literal(const std::string& path, std::size_t part) {
    const std::string next = path + parts_[part].name.literal();
    struct stat info {};
    if (::lstat((folder_ + next).c_str(), &info) == 0) {
      go_on(next, part + 1);
    } else if (!is_absent(errno)) {
      fail(folder_ + path, errno);
    }
  }

  void find_deep(const std::string& path, std::size_t part) {
    const bool last = part + 1 == parts_.size();
    if (!last) find(path, part + 1);
    for (const Entry& entry : entries_of(path)) {
      if (entry.name.front() == '.') continue;
      const std::string next = path + entry.name;
      if (last) accept(next);
      const bool folder =
          entry.type == DT_DIR || (entry.type == DT_UNKNOWN && is_folder(next, false));
      if (folder) find_deep(next + "/", part);
    }
  }

  std::string folder_;  // "" or with a slash at its end
  bool folders_only_ = false;
  std::vector<Part> parts_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> glob(const std::string& pattern, const std::string& folder) {
  return Search(pattern, folder).take();
}

bool matches(const std::string& part, const std::string& name) {
  return program_detail::NamePattern(part, 0, part.size()).matches(name);
}

}  // namespace rubato::flow

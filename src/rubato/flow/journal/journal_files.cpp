#include "rubato/flow/journal/journal_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "rubato/base/error.hpp"

namespace rubato::flow::journal_files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "RUBATOJ1";
constexpr std::size_t kKeyBytes = 16;  // which a payload begins with
constexpr std::size_t kWriteBytes = std::size_t{1} << 20;

struct EntryHead {
  std::uint32_t n_bytes;
  std::uint32_t zero;
  std::uint64_t hash;
};

std::string name_of_merged(std::uint32_t run) {
  std::array<char, 32> name{};
  static_cast<void>(std::snprintf(name.data(), name.size(), "run-%04u-all.journal", run));
  return name.data();
}

// Of a file of a journal.
struct Name {
  std::uint32_t run;
  bool is_merged;
};
std::optional<Name> parse(const fs::path& path) {
  const std::string name = path.filename().string();
  unsigned run = 0;
  unsigned node = 0;
  // NOLINTNEXTLINE(cert-err34-c): compared with what it was made from
  const int n_found = std::sscanf(name.c_str(), "run-%u-node-%u.journal", &run, &node);
  if (n_found < 1) return {};
  if (name != (n_found == 2 ? name_of(run, node) : name_of_merged(run))) return {};
  return Name{run, n_found == 1};
}

// The files of nodes, by their runs, and those that are made of many.
struct Listing {
  std::vector<std::pair<std::uint32_t, std::string>> of_nodes;
  std::map<std::uint32_t, std::string> merged;
};
Listing list(const std::string& folder) {
  Listing all;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::optional<Name> name = parse(entry.path());
    if (!name || !entry.is_regular_file()) continue;
    if (name->is_merged) {
      all.merged[name->run] = entry.path().string();
    } else {
      all.of_nodes.emplace_back(name->run, entry.path().string());
    }
  }
  std::ranges::sort(all.of_nodes);
  return all;
}

// Of files by their names: what is in a file that is made of many.
using Marks = std::map<std::string, std::uint64_t>;

// As an entry of no task, with that file as its input.
Bytes mark_of(const std::string& name, std::uint64_t n_bytes) {
  Writer payload;
  payload.put(std::array<std::uint64_t, 2>{});
  payload.put_string("");
  payload.put(std::uint64_t{1});
  payload.put_string(name);
  payload.put(n_bytes);
  payload.put(std::int64_t{0});
  payload.put(std::uint64_t{0});
  payload.put(std::uint64_t{0});
  return payload.take();
}

// They come first.
Marks marks_in(const Source& merged) {
  Marks marks;
  for_each_entry(merged, [&](ByteView payload, std::uint64_t /*offset*/) {
    if (!is_mark(payload)) return false;
    Reader in(payload);
    static_cast<void>(in.get<std::array<std::uint64_t, 2>>());
    static_cast<void>(in.get_string());
    static_cast<void>(in.get<std::uint64_t>());
    const std::string name = in.get_string();
    marks[name] = in.get<std::uint64_t>();
    return true;
  });
  return marks;
}

// Another run may do the same at this time.
std::string hidden_name(const std::string& path) {
  std::uint64_t word = 0;
  if (::getentropy(&word, sizeof word) != 0) word = 0;  // the process id has to do
  return path + "." + std::to_string(::getpid()) + "." + std::to_string(word) + ".new";
}

Source open(const std::string& path, std::uint64_t begin = 0) {
  Source source{path, std::make_shared<File>(path, O_RDONLY), begin};
  if (source.file->is_open()) return source;
  throw Error("journal: cannot read " + path + ": " + std::strerror(errno), ExitCode::failed);
}

// sources() of these.
std::vector<Source> opened(const Listing& all, std::uint32_t run) {
  std::vector<Source> found;
  Marks marks;
  const auto after = all.merged.upper_bound(run);
  if (after != all.merged.begin()) {
    const auto& [of_run, path] = *std::prev(after);
    found.push_back(open(path));
    if (of_run == run) return found;  // it was made just now, so that nodes need not look further
    marks = marks_in(found.front());
  }
  for (const auto& [of_run, path] : all.of_nodes) {
    if (of_run >= run) break;
    const auto mark = marks.find(fs::path(path).filename().string());
    Source source = open(path, mark == marks.end() ? 0 : mark->second);
    if (source.begin == 0 || source.file->n_bytes() > source.begin)
      found.push_back(std::move(source));
  }
  return found;
}

// Where the last entry of a task is.
struct Place {
  std::size_t file;
  std::uint64_t offset;
  std::size_t n_bytes;
};

bool write_merged(const std::string& path, const Marks& marks, const std::vector<Source>& from,
                  const std::vector<Place>& places) {
  const File out(path, O_WRONLY | O_CREAT | O_EXCL);
  Writer some;
  const auto flush = [&] {
    const Bytes bytes = some.take();
    some = Writer();
    return out.write(bytes);
  };
  const auto add = [&](ByteView bytes) {
    some.append(bytes.data(), bytes.size());
    return some.size() < kWriteBytes || flush();
  };
  if (!out.is_open() || !add(magic())) return false;
  for (const auto& [name, n_bytes] : marks) {
    if (!add(entry_of(mark_of(name, n_bytes)))) return false;
  }
  Bytes payload;
  for (const Place& place : places) {
    payload.resize(place.n_bytes);
    if (!from[place.file].file->read(payload.data(), payload.size(), place.offset)) return false;
    if (!add(entry_of(payload))) return false;
  }
  return flush() && out.sync();
}

}  // namespace

File::File(const std::string& path, int flags)
    : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool File::read(void* to, std::size_t n_bytes, std::uint64_t offset) const {
  auto* at = static_cast<char*>(to);
  while (n_bytes > 0) {
    const ssize_t n = ::pread(descriptor_, at, n_bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    offset += static_cast<std::uint64_t>(n);
    n_bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool File::write(ByteView bytes) const {
  std::size_t n_written = 0;
  while (n_written < bytes.size()) {
    const ssize_t n = ::write(descriptor_, bytes.data() + n_written, bytes.size() - n_written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    n_written += static_cast<std::size_t>(n);
  }
  return true;
}

std::uint64_t File::n_bytes() const {
  struct stat now {};
  return ::fstat(descriptor_, &now) == 0 ? static_cast<std::uint64_t>(now.st_size) : 0;
}

bool File::sync() const {
  return ::fsync(descriptor_) == 0;
}

std::string name_of(std::uint32_t run, std::uint32_t node) {
  std::array<char, 48> name{};
  static_cast<void>(
      std::snprintf(name.data(), name.size(), "run-%04u-node-%04u.journal", run, node));
  return name.data();
}

std::string reasons_of(std::uint32_t run) {
  std::array<char, 32> name{};
  static_cast<void>(std::snprintf(name.data(), name.size(), "run-%04u-node-*.again", run));
  return name.data();
}

std::uint32_t last_run(const std::string& folder) {
  const Listing all = list(folder);
  const std::uint32_t of_nodes = all.of_nodes.empty() ? 0 : all.of_nodes.back().first;
  return std::max(of_nodes, all.merged.empty() ? 0 : all.merged.rbegin()->first);
}

std::vector<Source> sources(const std::string& folder, std::uint32_t run) {
  // A run that has made one file of many takes away the one before, perhaps between two lines here.
  for (int n_left = 100;; --n_left) {
    try {
      return opened(list(folder), run);
    } catch (const Error&) {
      if (n_left == 0) throw;
    }
  }
}

Bytes magic() {
  Bytes bytes(kMagic.size());
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  return bytes;
}

Bytes entry_of(ByteView payload) {
  Writer entry;
  entry.put(EntryHead{static_cast<std::uint32_t>(payload.size()), 0,
                      XXH3_64bits(payload.data(), payload.size())});
  entry.append(payload.data(), payload.size());
  return entry.take();
}

bool is_mark(ByteView payload) {
  return payload.size() >= kKeyBytes &&
         std::ranges::all_of(payload.first(kKeyBytes), [](auto b) { return b == std::byte{0}; });
}

std::uint64_t for_each_entry(
    const Source& source,
    const std::function<bool(ByteView payload, std::uint64_t offset)>& visit) {
  const File& file = *source.file;
  std::uint64_t offset = source.begin;
  if (offset == 0) {
    std::array<char, kMagic.size()> begin{};
    if (!file.read(begin.data(), begin.size(), 0)) return 0;  // killed before it could begin
    if (std::string_view(begin.data(), begin.size()) != kMagic) {
      throw Error(source.path + ": expected a journal of this version, which begins with " +
                  std::string(kMagic));
    }
    offset = kMagic.size();
  }
  EntryHead head{};
  Bytes payload;
  const std::uint64_t n_in_file = file.n_bytes();
  while (file.read(&head, sizeof head, offset)) {
    const std::uint64_t begin = offset + sizeof head;
    if (head.n_bytes > n_in_file - std::min(begin, n_in_file)) return offset;
    payload.resize(head.n_bytes);
    if (!file.read(payload.data(), payload.size(), begin)) return offset;
    if (XXH3_64bits(payload.data(), payload.size()) != head.hash) return offset;
    offset = begin + head.n_bytes;
    if (!visit(payload, begin)) return offset;
  }
  return offset;
}

void merge(const std::string& folder, std::uint32_t run) {
  const std::vector<Source> from = sources(folder, run);
  if (from.size() < 2) return;
  Marks marks;
  std::map<std::array<std::byte, kKeyBytes>, Place> last;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint64_t end = for_each_entry(from[i], [&](ByteView payload, std::uint64_t offset) {
      if (is_mark(payload)) return true;
      std::array<std::byte, kKeyBytes> key{};
      std::memcpy(key.data(), payload.data(), std::min(key.size(), payload.size()));
      last[key] = {i, offset, payload.size()};
      return true;
    });
    const fs::path path = from[i].path;
    if (parse(path)->is_merged) {
      marks = marks_in(from[i]);
    } else if (end > 0) {
      marks[path.filename().string()] = end;
    }
  }
  std::vector<Place> places;
  places.reserve(last.size());
  for (const auto& [key, place] : last)
    places.push_back(place);
  // As they were written.
  std::ranges::sort(places, {}, [](const Place& at) { return std::pair(at.file, at.offset); });
  const std::string merged = (fs::path(folder) / name_of_merged(run)).string();
  const std::string hidden = hidden_name(merged);
  std::error_code failed;
  if (write_merged(hidden, marks, from, places)) fs::rename(hidden, merged, failed);
  fs::remove(hidden, failed);
  if (!fs::is_regular_file(merged, failed)) return;
  for (const auto& [of_run, path] : list(folder).merged) {
    if (of_run < run) fs::remove(path, failed);
  }
}

}  // namespace rubato::flow::journal_files

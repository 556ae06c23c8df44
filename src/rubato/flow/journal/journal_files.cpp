#include "rubato/flow/journal/journal_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include "rubato/base/error.hpp"

namespace rubato::flow::journal_files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "RUBATOJ1";
constexpr std::size_t kKeyBytes = 16;  // which a payload begins with

struct EntryHead {
  std::uint32_t n_bytes;
  std::uint32_t zero;
  std::uint64_t hash;
};

class File {
 public:
  File(const std::string& path, int flags)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }

  [[nodiscard]] bool read(void* to, std::size_t n_bytes, std::uint64_t offset) const {
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
  [[nodiscard]] bool write(const Bytes& bytes) const {
    std::size_t n_written = 0;
    while (n_written < bytes.size()) {
      const ssize_t n = ::write(descriptor_, bytes.data() + n_written, bytes.size() - n_written);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      n_written += static_cast<std::size_t>(n);
    }
    return true;
  }
  [[nodiscard]] bool sync() const { return ::fsync(descriptor_) == 0; }

 private:
  int descriptor_;
};

std::string name_of_merged(std::uint32_t run) {
  std::array<char, 32> name{};
  static_cast<void>(std::snprintf(name.data(), name.size(), "run-%04u-all.journal", run));
  return name.data();
}

bool is_merged(const fs::path& path) {
  return path.filename().string().ends_with("-all.journal");
}

// All of them, by their runs; the one that is made of many is the last of its run.
std::vector<std::string> all_in(const std::string& folder) {
  std::vector<std::tuple<std::uint32_t, bool, std::string>> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::string path = entry.path().string();
    const std::uint32_t run = run_of(path);
    if (run > 0) found.emplace_back(run, is_merged(path), std::move(path));
  }
  std::ranges::sort(found);
  std::vector<std::string> paths;
  paths.reserve(found.size());
  for (auto& [run, merged, path] : found)
    paths.push_back(std::move(path));
  return paths;
}

// Where the last entry of a task is.
struct Place {
  std::size_t file;
  std::uint64_t offset;
  std::size_t n_bytes;
};

bool write_merged(const std::string& path, const std::vector<std::string>& files,
                  const std::vector<Place>& places) {
  const File out(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!out.is_open() || !out.write(magic())) return false;
  for (const Place& place : places) {
    const Bytes payload = read_part(files[place.file], place.offset, place.n_bytes);
    if (payload.empty() || !out.write(entry_of(payload))) return false;
  }
  return out.sync();
}

}  // namespace

std::string name_of(std::uint32_t run, std::uint32_t node) {
  std::array<char, 48> name{};
  static_cast<void>(
      std::snprintf(name.data(), name.size(), "run-%04u-node-%04u.journal", run, node));
  return name.data();
}

std::uint32_t run_of(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  unsigned run = 0;
  unsigned node = 0;
  // NOLINTNEXTLINE(cert-err34-c): compared with what it was made from
  const int n_found = std::sscanf(name.c_str(), "run-%u-node-%u.journal", &run, &node);
  if (n_found < 1) return 0;
  return name == (n_found == 2 ? name_of(run, node) : name_of_merged(run)) ? run : 0;
}

std::vector<std::string> in_folder(const std::string& folder) {
  std::vector<std::string> paths = all_in(folder);
  const auto merged = std::ranges::find_if(paths.rbegin(), paths.rend(), is_merged);
  if (merged != paths.rend()) paths.erase(paths.begin(), merged.base() - 1);
  return paths;
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

Bytes read_part(const std::string& path, std::uint64_t offset, std::size_t n_bytes) {
  Bytes part(n_bytes);
  const File file(path, O_RDONLY);
  if (!file.is_open() || !file.read(part.data(), n_bytes, offset)) return {};
  return part;
}

void for_each_entry(const std::string& path,
                    const std::function<void(ByteView payload, std::uint64_t offset)>& visit) {
  const File file(path, O_RDONLY);
  if (!file.is_open())
    throw Error("journal: cannot read " + path + ": " + std::strerror(errno), ExitCode::failed);
  std::array<char, kMagic.size()> begin{};
  if (!file.read(begin.data(), begin.size(), 0)) return;  // killed before it could begin
  if (std::string_view(begin.data(), begin.size()) != kMagic) {
    throw Error(path + ": expected a journal of this version, which begins with " +
                std::string(kMagic));
  }
  std::uint64_t offset = kMagic.size();
  EntryHead head{};
  Bytes payload;
  const auto n_in_file = static_cast<std::uint64_t>(fs::file_size(path));
  while (file.read(&head, sizeof head, offset)) {
    offset += sizeof head;
    if (head.n_bytes > n_in_file - std::min(offset, n_in_file)) return;
    payload.resize(head.n_bytes);
    if (!file.read(payload.data(), payload.size(), offset)) return;
    if (XXH3_64bits(payload.data(), payload.size()) != head.hash) return;
    visit(payload, offset);
    offset += head.n_bytes;
  }
}

void merge(const std::string& folder) {
  const std::vector<std::string> files = in_folder(folder);
  if (files.size() < 2) return;
  std::map<std::array<std::byte, kKeyBytes>, Place> last;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for_each_entry(files[i], [&](ByteView payload, std::uint64_t offset) {
      std::array<std::byte, kKeyBytes> key{};
      std::memcpy(key.data(), payload.data(), std::min(key.size(), payload.size()));
      last[key] = {i, offset, payload.size()};
    });
  }
  std::vector<Place> places;
  places.reserve(last.size());
  for (const auto& [key, place] : last)
    places.push_back(place);
  // As they were written.
  std::ranges::sort(places, {}, [](const Place& at) { return std::pair(at.file, at.offset); });
  const std::string merged = (fs::path(folder) / name_of_merged(run_of(files.back()))).string();
  const std::string hidden = merged + ".new";
  std::error_code failed;
  if (write_merged(hidden, files, places)) fs::rename(hidden, merged, failed);
  fs::remove(hidden, failed);
  if (!fs::exists(merged, failed)) return;
  // The files of nodes stay: their runs may still go on.
  for (const std::string& path : all_in(folder)) {
    if (is_merged(path) && path != merged) fs::remove(path, failed);
  }
}

}  // namespace rubato::flow::journal_files

// SortedPart and merge_parts of output_file.hpp.
//
// A part file is a sequence of frames {id: 64 bits, n_bytes: 64 bits, text}, ascending by id. The
// merge keeps one frame of each part in a heap. More parts than may be open at once are first
// merged by groups into bigger parts of the same format.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <queue>

#include "rubato/io/detail/posix_file.hpp"
#include "rubato/io/output_file.hpp"

namespace rubato::io {
namespace {

constexpr std::size_t kFanIn = 256;
constexpr std::size_t kReadBytes = std::size_t{1} << 16;

struct FrameHead {
  std::uint64_t id;
  std::uint64_t n_bytes;
};

std::string part_name(const std::string& path, std::uint64_t job_id, std::uint32_t part) {
  return detail::beside(detail::resolve_links(path),
                        "job" + std::to_string(job_id) + ".part" + std::to_string(part));
}

void write_frame(ByteSink& sink, std::uint64_t id, std::string_view text) {
  const FrameHead head{id, text.size()};
  sink.write({reinterpret_cast<const char*>(&head), sizeof head});
  sink.write(text);
}

// One part, frame by frame.
class PartReader {
 public:
  explicit PartReader(const std::string& name) : name_(name) {
    file_.reset(std::fopen(name.c_str(), "rbe"));
    if (!file_) throw detail::open_error(name);
    std::error_code failed;
    n_bytes_left_ = std::filesystem::file_size(name, failed);
    if (failed) throw detail::open_error(name);
    std::setvbuf(file_.get(), nullptr, _IOFBF, kReadBytes);
  }

  // False at the end. A part is written by us and renamed whole, so that a bad frame is a disk
  // error.
  bool next() {
    FrameHead head{};
    const std::size_t n = std::fread(&head, 1, sizeof head, file_.get());
    if (n == 0 && std::feof(file_.get()) != 0) return false;
    if (n != sizeof head || head.n_bytes > n_bytes_left_ - sizeof head) throw truncated();
    n_bytes_left_ -= sizeof head + head.n_bytes;
    id_ = head.id;
    text_.resize(head.n_bytes);
    if (std::fread(text_.data(), 1, text_.size(), file_.get()) != text_.size()) throw truncated();
    return true;
  }

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  [[nodiscard]] Error truncated() const {
    return Error("reading " + name_ + ": expected a whole row, found the end of the part",
                 ExitCode::failed);
  }

  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t n_bytes_left_ = 0;
  std::uint64_t id_ = 0;
  std::string text_;
};

// Calls `emit(id, text)` for the rows of all parts by ascending id.
template <class Emit>
void merge(const std::vector<std::string>& names, const std::string& path, const Emit& emit) {
  std::vector<std::unique_ptr<PartReader>> readers;
  using Head = std::pair<std::uint64_t, std::size_t>;  // id, index of the reader
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  for (const auto& name : names) {
    readers.push_back(std::make_unique<PartReader>(name));
    if (readers.back()->next()) heads.emplace(readers.back()->id(), readers.size() - 1);
  }
  std::optional<std::uint64_t> last;
  while (!heads.empty()) {
    const auto [id, index] = heads.top();
    heads.pop();
    if (last == id) {
      throw Error("writing " + path + ": id " + std::to_string(id) + " comes from two nodes",
                  ExitCode::failed);
    }
    last = id;
    emit(id, readers[index]->text());
    if (readers[index]->next()) heads.emplace(readers[index]->id(), index);
  }
}

// The files of a merge, removed when it ends in whatever way.
struct Leftovers {
  std::vector<std::string> names;

  ~Leftovers() {
    for (const auto& name : names)
      std::remove(name.c_str());
  }
};

}  // namespace

SortedPart::SortedPart(const std::string& path, std::uint64_t job_id, std::uint32_t part)
    : file_(std::make_unique<OutputFile>(part_name(path, job_id, part), Durable::no)) {}

SortedPart::~SortedPart() = default;

void SortedPart::add(std::uint64_t id, std::string_view text) {
  RUBATO_REQUIRE(!any_ || id > last_id_, id, last_id_);
  any_ = true;
  last_id_ = id;
  write_frame(*file_, id, text);
}

void SortedPart::finish() {
  file_->commit();
}

void merge_parts(const std::string& path, std::uint64_t job_id, std::uint32_t n_parts,
                 std::string_view header, const RewriteRow& rewrite) {
  std::vector<std::string> names;
  for (std::uint32_t part = 0; part < n_parts; ++part) {
    names.push_back(part_name(path, job_id, part));
  }
  Leftovers leftovers{names};
  for (std::uint32_t next_name = n_parts; names.size() > kFanIn;) {
    const std::vector<std::string> group(names.begin(), names.begin() + kFanIn);
    names.erase(names.begin(), names.begin() + kFanIn);
    names.push_back(part_name(path, job_id, next_name++));
    leftovers.names.push_back(names.back());
    OutputFile bigger(names.back(), Durable::no);
    merge(group, path,
          [&](std::uint64_t id, const std::string& text) { write_frame(bigger, id, text); });
    bigger.commit();
  }
  OutputFile file(path);
  file.write(header);
  std::string row;
  merge(names, path, [&](std::uint64_t, const std::string& text) {
    if (!rewrite) return file.write(text);
    row = text;
    rewrite(row);
    file.write(row);
  });
  file.commit();
}

void remove_parts(const std::string& path, std::uint64_t job_id, std::uint32_t n_parts) noexcept {
  for (std::uint32_t part = 0; part < n_parts; ++part) {
    std::remove(part_name(path, job_id, part).c_str());
  }
}

}  // namespace rubato::io

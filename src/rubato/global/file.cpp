#include "rubato/global/file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "rubato/base/random.hpp"
#include "rubato/io/output_file.hpp"

namespace rubato::global::detail {
namespace {

// docs/formats.md#containers-of-global
constexpr std::string_view kMagic = "rubatoGC";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kHeadBytes = 72;
constexpr std::uint64_t kRowBytes = 48;
// Of fields that messages name.
constexpr std::uint64_t kAtVersion = 8;
constexpr std::uint64_t kAtKind = 12;
constexpr std::uint64_t kAtValueBytes = 16;
constexpr std::uint64_t kAtKeyBytes = 24;
constexpr std::uint64_t kAtEntries = 32;
constexpr std::uint64_t kAtHash = 64;

// A segment, as the table has it.
struct Row {
  std::uint64_t offset = 0;
  std::uint64_t n_bytes = 0;
  std::uint64_t first = 0;  // of its entries
  std::uint64_t n_entries = 0;
  std::uint64_t hash = 0;  // of its bytes
};

std::uint64_t hash_of(ByteView bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}
// With the place of the row, and the file that it is of.
std::uint64_t hash_of_row(const Row& row, std::uint64_t i, std::uint64_t file) noexcept {
  return hash_of(std::as_bytes(std::span(&row, 1)), hash_words(file, i));
}

std::string_view text_of(ByteView bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::string hex_of(ByteView bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}
std::string hex_of(std::uint64_t hash) {
  std::array<std::byte, sizeof hash> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(hash >> (56 - 8 * i) & 0xff);
  return hex_of(ByteView(bytes));
}
std::string_view name_of(FileKind kind) noexcept {
  switch (kind) {
    case FileKind::array:
      return "an array";
    case FileKind::vector:
      return "a vector";
    case FileKind::map:
      return "a hash map";
    case FileKind::set:
      return "a hash set";
    case FileKind::bag:
      return "a bag";
    case FileKind::counter:
      return "a counter";
    case FileKind::histogram:
      return "a histogram";
  }
  return "of an unknown kind";
}
std::string size_text(const std::string& what, std::uint64_t n_bytes) {
  return what +
         (n_bytes == 0 ? "s of several lengths" : "s of " + std::to_string(n_bytes) + " bytes");
}

// A file that is read at places.
class InFile {
 public:
  explicit InFile(const std::string& path) : path_(path) {
    // Not blocking: a pipe would wait for somebody who writes.
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) throw system_error();
    struct stat info {};
    const bool is_known = ::fstat(fd_, &info) == 0;
    if (is_known && S_ISREG(info.st_mode)) {
      n_bytes_ = static_cast<std::uint64_t>(info.st_size);
      return;
    }
    const Error error =
        is_known ? Error("reading " + path_ + ": expected a file, found a folder or a device")
                 : system_error();
    ::close(fd_);
    throw Error(error);
  }
  InFile(const InFile&) = delete;
  InFile& operator=(const InFile&) = delete;
  ~InFile() { ::close(fd_); }

  [[nodiscard]] std::uint64_t n_bytes() const noexcept { return n_bytes_; }
  void read(std::uint64_t offset, std::span<std::byte> into) const {
    while (!into.empty()) {
      const ssize_t n = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw system_error();
      if (n == 0) fail(offset, std::to_string(into.size()) + " more bytes", "the end of the file");
      offset += static_cast<std::uint64_t>(n);
      into = into.subspan(static_cast<std::size_t>(n));
    }
  }
  [[noreturn]] void fail(std::uint64_t offset, std::string_view expected,
                         std::string_view found) const {
    throw Error("reading " + path_ + ": offset " + std::to_string(offset) + ": expected " +
                std::string(expected) + ", found " + std::string(found));
  }
  // `what` is in front of both numbers.
  void check(std::uint64_t offset, std::string_view what, std::uint64_t expected,
             std::uint64_t found) const {
    if (expected == found) return;
    fail(offset, std::string(what) + std::to_string(expected),
         std::string(what) + std::to_string(found));
  }
  void check_hash(std::uint64_t offset, std::uint64_t expected, std::uint64_t found) const {
    if (expected == found) return;
    fail(offset, "bytes with the checksum " + hex_of(expected),
         hex_of(found) + ": the file was changed");
  }

 private:
  [[nodiscard]] Error system_error() const {
    return Error("reading " + path_ + ": " + std::generic_category().message(errno));
  }

  std::string path_;
  int fd_ = -1;
  std::uint64_t n_bytes_ = 0;
};

Bytes bytes_of_head(const FileHead& head) {
  Writer out;
  out.append(kMagic.data(), kMagic.size());
  out.put(kVersion);
  out.put(head.type.kind);
  out.put(head.type.value_bytes);
  out.put(head.type.key_bytes);
  out.put(head.n_entries);
  out.put(head.n_segments);
  out.put(head.table_offset);
  out.put(head.id);
  out.put(hash_of(out.view(), 0));
  return out.take();
}

bool has_keys(FileKind kind) noexcept {
  return kind == FileKind::map || kind == FileKind::set;
}
// Otherwise the number of entries says how many bytes they have.
bool has_several_lengths(const FileType& type) noexcept {
  return has_keys(type.kind) || type.value_bytes == 0;
}

void check_type(const InFile& file, const FileType& found, const FileType& wanted) {
  if (found.kind != wanted.kind) file.fail(kAtKind, name_of(wanted.kind), name_of(found.kind));
  if (found.value_bytes != wanted.value_bytes) {
    const std::string what = has_keys(wanted.kind) ? "value" : "element";
    file.fail(kAtValueBytes, size_text(what, wanted.value_bytes),
              size_text(what, found.value_bytes));
  }
  if (found.key_bytes == wanted.key_bytes) return;
  file.fail(kAtKeyBytes, size_text("key", wanted.key_bytes), size_text("key", found.key_bytes));
}

// That the file has the length that its head says, and room for its entries.
void check_length(const InFile& file, const FileHead& head) {
  const bool fits = head.table_offset >= kHeadBytes && head.table_offset <= file.n_bytes() &&
                    head.n_segments <= (file.n_bytes() - head.table_offset) / kRowBytes &&
                    head.table_offset + head.n_segments * kRowBytes == file.n_bytes();
  if (!fits) {
    file.fail(file.n_bytes(),
              std::to_string(head.n_segments) + " rows of " + std::to_string(kRowBytes) +
                  " bytes from offset " + std::to_string(head.table_offset) + " to the end",
              "a file of " + std::to_string(file.n_bytes()) + " bytes");
  }
  const std::uint64_t data_bytes = head.table_offset - kHeadBytes;
  if (has_several_lengths(head.type)) {
    if (head.n_segments == 0) file.check(kAtEntries, "entries: ", 0, head.n_entries);
    return;
  }
  file.check(kAtEntries, "elements: ", data_bytes / head.type.value_bytes, head.n_entries);
}

// Reads the table row after row: each begins where the one before has ended.
class RowReader {
 public:
  // From the row `begin` on.
  RowReader(const InFile& file, const FileHead& head, std::uint64_t begin)
      : file_(file), head_(head), next_(begin) {
    if (begin == 0) return;
    const Row before = read(begin - 1);
    end_ = before.offset + before.n_bytes;
    n_entries_ = before.first + before.n_entries;
  }

  Row next() {
    const std::uint64_t i = next_++;
    const std::uint64_t at = offset_of(i);
    const Row row = read(i);
    file_.check(at, "a segment at offset ", end_, row.offset);
    file_.check(at + 16, "a segment that begins with the entry ", n_entries_, row.first);
    if (row.offset > head_.table_offset || row.n_bytes > head_.table_offset - row.offset ||
        row.n_bytes == 0) {
      file_.fail(at + 8,
                 "a segment that ends before the table at " + std::to_string(head_.table_offset),
                 "one of " + std::to_string(row.n_bytes) + " bytes");
    }
    if (row.n_entries == 0 || row.first > head_.n_entries ||
        row.n_entries > head_.n_entries - row.first) {
      file_.fail(at + 24, "entries that end at " + std::to_string(head_.n_entries) + " or before",
                 std::to_string(row.n_entries) + " from " + std::to_string(row.first) + " on");
    }
    if (!has_several_lengths(head_.type)) {
      file_.check(at + 8, "bytes of elements: ", row.n_entries * head_.type.value_bytes,
                  row.n_bytes);
    }
    end_ = row.offset + row.n_bytes;
    n_entries_ = row.first + row.n_entries;
    if (i + 1 == head_.n_segments) {
      file_.check(at, "the last segment to end at ", head_.table_offset, end_);
      file_.check(at, "the last entry to be ", head_.n_entries, n_entries_);
    }
    return row;
  }

 private:
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t i) const noexcept {
    return head_.table_offset + i * kRowBytes;
  }
  [[nodiscard]] Row read(std::uint64_t i) const {
    std::array<std::byte, kRowBytes> bytes{};
    file_.read(offset_of(i), bytes);
    Reader in(bytes);
    const Row row = in.get<Row>();
    file_.check_hash(offset_of(i), in.get<std::uint64_t>(), hash_of_row(row, i, head_.id));
    return row;
  }

  const InFile& file_;
  const FileHead& head_;
  std::uint64_t next_;
  std::uint64_t end_ = kHeadBytes;
  std::uint64_t n_entries_ = 0;
};

// What f threw.
template <class F>
std::optional<Error> failure_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(error.what(), ExitCode::failed);
  }
  return std::nullopt;
}

// On all cores the failure of the first one that has one, with its node; the others wait for it.
std::optional<Error> first_failure(const Team& team, const std::optional<Error>& mine) {
  const Rank rank = team.allreduce(mine ? team.rank() : team.size(),
                                   [](Rank a, Rank b) { return std::min(a, b); });
  if (rank == team.size()) return std::nullopt;
  std::vector<char> text;
  ExitCode code = ExitCode::failed;
  if (rank == team.rank()) {
    const core::JobShape& shape = CoreContext::here().shape();
    const std::string node = shape.n_nodes == 1 ? "" : "node " + std::to_string(shape.node) + ": ";
    const std::string whole = node + mine->what();
    text.assign(whole.begin(), whole.end());
    code = mine->code();
  }
  code = team.broadcast(code, rank);
  text = team.broadcast(text, rank);
  return Error(std::string(text.begin(), text.end()), code);
}

std::string path_of(const FileCall& call) {
  std::vector<char> path;
  if (call.job.is_local()) {
    const std::string& mine = call.job.local().path;
    path.assign(mine.begin(), mine.end());
  }
  path = call.team.broadcast(path, call.job.core());
  return {path.begin(), path.end()};
}

// f() on a thread beside the cores: a file system may take long, and the core has others to serve.
template <class F>
auto beside(const F& f) {
  return CoreContext::here().run_native(f, {.time = core::NativeTime::brief});
}

// Between two segments, where there are no such threads.
void let_others_go_on() {
  CoreContext& here = CoreContext::here();
  if (here.n_native_threads() == 0) here.yield();
}

// Writes the segments of this core from `begin` on, and their rows; the first core the head, too.
void write_segments(io::SharedOutputFile& file, const FileHead& head, const FileShare& begin,
                    SegmentSource& source, bool is_first) {
  const FileShare mine = source.share();
  Row row{kHeadBytes + begin.n_bytes, 0, begin.n_entries, 0, 0};
  Writer rows;
  Bytes segment;
  for (std::uint64_t i = 0; i < mine.n_segments; ++i) {
    row.n_entries = source.next(segment);
    row.n_bytes = segment.size();
    beside([&] {
      row.hash = hash_of(segment, 0);
      file.write_at(row.offset, text_of(segment));
    });
    rows.put(row);
    rows.put(hash_of_row(row, begin.n_segments + i, head.id));
    row.offset += row.n_bytes;
    row.first += row.n_entries;
    let_others_go_on();
  }
  RUBATO_REQUIRE(row.offset == kHeadBytes + begin.n_bytes + mine.n_bytes &&
                     "a container does not change while it is saved",
                 row.offset, begin.n_bytes, mine.n_bytes);
  beside([&] {
    file.write_at(head.table_offset + begin.n_segments * kRowBytes, text_of(rows.view()));
    if (is_first) file.write_at(0, text_of(bytes_of_head(head)));
    file.finish();
  });
}

// Hands the segments [begin, end) to the sink.
void read_segments(const std::string& path, const FileHead& head, SegmentSink& sink) {
  const CoreId core = CoreContext::here().core();
  const std::uint64_t begin = n_before(head.n_segments, core);
  const std::uint64_t end = n_before(head.n_segments, core + 1);
  if (begin == end) return;
  std::optional<InFile> opened;
  std::optional<RowReader> rows_of_it;
  beside([&] {
    opened.emplace(path);
    rows_of_it.emplace(*opened, head, begin);
  });
  const InFile& file = *opened;
  RowReader& rows = *rows_of_it;
  Bytes segment;
  for (std::uint64_t i = begin; i < end; ++i) {
    const Row row = beside([&] {
      const Row next = rows.next();
      segment.resize(next.n_bytes);
      file.read(next.offset, segment);
      file.check_hash(next.offset, next.hash, hash_of(segment, 0));
      return next;
    });
    const auto failure = failure_of([&] { sink.take(row.first, row.n_entries, segment); });
    if (failure) {
      throw failure->in("reading " + path + ": the segment at offset " +
                        std::to_string(row.offset));
    }
    let_others_go_on();
  }
}

}  // namespace

std::uint64_t new_file_id() {
  std::array<std::uint64_t, 2> words{};
  if (::getentropy(words.data(), sizeof words) != 0) words = {};  // the process id has to do
  static std::atomic<std::uint64_t> counter{0};
  return hash_words(words[0] ^ static_cast<std::uint64_t>(::getpid()), words[1], ++counter);
}

std::uint64_t n_before(std::uint64_t n, CoreId core) noexcept {
  const std::uint64_t n_cores = CoreContext::here().shape().n_cores_total();
  return n / n_cores * core + std::min<std::uint64_t>(n % n_cores, core);
}

InShare share_of(std::uint64_t n, std::uint64_t i) noexcept {
  const std::uint64_t n_cores = CoreContext::here().shape().n_cores_total();
  // The first n % n_cores cores have one more.
  const std::uint64_t n_longer = n % n_cores * (n / n_cores + 1);
  const std::uint64_t core =
      i < n_longer ? i / (n / n_cores + 1) : n % n_cores + (i - n_longer) / (n / n_cores);
  return {static_cast<CoreId>(core), i - n_before(n, static_cast<CoreId>(core))};
}

namespace {

FileHead read_head_here(const std::string& path, const FileType& wanted) {
  const InFile file(path);
  if (file.n_bytes() < kHeadBytes) {
    file.fail(0, "a head of " + std::to_string(kHeadBytes) + " bytes",
              "a file of " + std::to_string(file.n_bytes()));
  }
  std::array<std::byte, kHeadBytes> bytes{};
  file.read(0, bytes);
  const ByteView all(bytes);
  Reader in(all);
  const ByteView magic = in.get_view(kMagic.size());
  if (text_of(magic) != kMagic) {
    file.fail(0, "the saved container's mark " + hex_of(std::as_bytes(std::span(kMagic))),
              hex_of(magic));
  }
  file.check(kAtVersion, "format version ", kVersion, in.get<std::uint32_t>());
  FileHead head;
  head.type.kind = in.get<FileKind>();
  head.type.value_bytes = in.get<std::uint64_t>();
  head.type.key_bytes = in.get<std::uint64_t>();
  head.n_entries = in.get<std::uint64_t>();
  head.n_segments = in.get<std::uint64_t>();
  head.table_offset = in.get<std::uint64_t>();
  head.id = in.get<std::uint64_t>();
  file.check_hash(0, in.get<std::uint64_t>(), hash_of(all.first(kAtHash), 0));
  check_type(file, head.type, wanted);
  check_length(file, head);
  return head;
}

}  // namespace

FileHead read_head(const std::string& path, const FileType& wanted) {
  return beside([&] { return read_head_here(path, wanted); });
}

void save_here(const FileCall& call, const FileType& type, SegmentSource& source) {
  const Team& team = call.team;
  const std::string path = path_of(call);
  const std::uint64_t id =
      team.broadcast(call.job.is_local() ? call.job.local().id : 0, call.job.core());
  const auto add = [](const FileShare& a, const FileShare& b) {
    return FileShare{a.n_entries + b.n_entries, a.n_bytes + b.n_bytes, a.n_segments + b.n_segments};
  };
  const FileShare mine = source.share();
  const FileShare before = team.exclusive_scan(mine, add, FileShare{});
  const FileShare all = team.allreduce(mine, add);
  const FileHead head{type, all.n_entries, all.n_segments, kHeadBytes + all.n_bytes, id};

  std::optional<io::SharedOutputFile> file;
  const std::optional<Error> my_failure = failure_of([&] {
    beside([&] { file.emplace(path, id); });
    write_segments(*file, head, before, source, team.rank() == 0);
  });
  std::optional<Error> failure = first_failure(team, my_failure);
  if (failure) {
    if (file) beside([&] { file->abandon(); });
  } else if (call.job.is_local()) {
    failure = failure_of(
        [&] { beside([&] { file->commit(head.table_offset + head.n_segments * kRowBytes); }); });
  }
  if (call.job.is_local()) call.job.local().failure = failure;
  team.free();
}

void load_here(const FileCall& call, const FileHead& head, SegmentSink& sink) {
  const std::string path = path_of(call);
  const std::optional<Error> failure =
      first_failure(call.team, failure_of([&] { read_segments(path, head, sink); }));
  if (call.job.is_local()) call.job.local().failure = failure;
  call.team.free();
}

void throw_wrong_size(const std::string& path, std::uint64_t expected, std::uint64_t found) {
  throw Error("reading " + path + ": offset " + std::to_string(kAtEntries) + ": expected " +
              std::to_string(expected) + " keys, found " + std::to_string(found) + " that differ");
}

}  // namespace rubato::global::detail

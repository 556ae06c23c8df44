#pragma once
// Files that appear whole or not at all.
//
//   OutputFile        one writer: a temporary file in the same folder, renamed by commit()
//   SharedOutputFile  N nodes write one file, each at the offset that a prefix sum gave it
//   SortedPart        N nodes write rows that are sorted by id only within each node;
//                     merge_parts() makes one file in id order of them, streaming, so that no
//                     node ever holds all rows
//
// Whatever ends without its commit, by an error or by destruction, leaves nothing behind. Every
// failure (no such folder, no permission, disk full) is an Error that names the file and the cause.
// A target that is a device or a pipe (/dev/stdout) is written directly, for it cannot be renamed
// over; a target that is a symbolic link stays one, and the file that it names is replaced. All
// calls block on the disk. Objects are used by one thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rubato::io {

// Where formatted bytes go: files and strings.
class ByteSink {
 public:
  ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  virtual ~ByteSink() = default;

  // Appends. Throws Error when the bytes cannot be stored.
  virtual void write(std::string_view bytes) = 0;
};

// Collects bytes in memory: tests, and text whose size must be known before it is placed.
class StringSink final : public ByteSink {
 public:
  void write(std::string_view bytes) override { text_.append(bytes); }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] std::string take() noexcept { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

// Whether commit() waits until the bytes are on the disk: a result should outlive a crash of the
// machine, a file that the same job reads again and removes need not.
enum class Durable { yes, no };

// Whether the bytes go through the page cache, where the file system leaves a choice: a large file that
// nobody reads soon does better without (detail/direct_writer.hpp).
enum class Cached { yes, no };

namespace detail {
class DirectWriter;
}

class OutputFile final : public ByteSink {
 public:
  // Creates the temporary file, so that an unwritable path fails before the work and not after it.
  explicit OutputFile(const std::string& path, Durable durable = Durable::yes,
                      Cached cached = Cached::yes);
  ~OutputFile() override;

  // Buffered: an error may show at a later write or at commit().
  void write(std::string_view bytes) override;

  // Flushes, syncs to the disk if durable, and renames: after it returns the file is there and
  // whole. To be called once; nothing may be written after it.
  void commit();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t n_bytes() const noexcept { return n_bytes_; }

 private:
  void flush();

  Durable durable_;
  std::string path_;       // as the caller named it, for messages
  std::string target_;     // links resolved
  std::string temporary_;  // "" if the target is written directly
  int fd_ = -1;
  std::string buffer_;
  std::unique_ptr<detail::DirectWriter> direct_;  // null: cached
  std::uint64_t n_bytes_ = 0;
};

// Writes `bytes` as the whole new content of `path`.
void write_file(const std::string& path, std::string_view bytes);

// Gives the whole file `from` the name `to`, in the place of what that names now; links and errors
// as of an OutputFile. A link to another file system costs a copy.
void move_file(const std::string& from, const std::string& to);

// One file, written by N nodes with a common file system:
//
//   text = format(my rows)                          each node, its own rows only
//   offset, total = prefix sum of text.size()       the caller's collective
//   SharedOutputFile file(path, job_id);            each node
//   file.write_at(offset, text); file.finish();     each node, in any order and in any number of
//   pieces all nodes agree that nobody failed              the caller's collective if (node == 0)
//   file.commit(total)               exactly one node
//
// The order in the file is the order of the offsets: node order, or any other one that the caller
// can compute, such as row * row_bytes for a raster whose rows have a fixed width. REQUIRES: the
// pieces of all nodes cover [0, total) and do not overlap; commit() notices a wrong size, not an
// overlap.
class SharedOutputFile {
 public:
  // `job_id` is equal on all nodes of the job and differs between jobs: it names the temporary
  // file.
  SharedOutputFile(const std::string& path, std::uint64_t job_id);
  SharedOutputFile(const SharedOutputFile&) = delete;
  SharedOutputFile& operator=(const SharedOutputFile&) = delete;
  // Removes the temporary file unless this object saw finish(): a failed node takes the file down.
  ~SharedOutputFile();

  void write_at(std::uint64_t offset, std::string_view bytes);

  // This node has written all of its pieces, and they are on the disk.
  void finish();

  // REQUIRES: every node has finished. Throws, and removes the file, if it is not `n_bytes_total`
  // long.
  void commit(std::uint64_t n_bytes_total);

  // Removes what was written, after some node failed. May be called on every node.
  void abandon() noexcept;

 private:
  std::string path_;
  std::string target_;
  std::string temporary_;
  int fd_ = -1;
  bool finished_ = false;
};

// The rows of one node, ascending by id, on their way into one file in id order:
//
//   SortedPart part(path, job_id, node);            each node
//   for (row : my rows by id) part.add(row.id, text);
//   part.finish();
//   all nodes agree that nobody failed              the caller's collective
//   if (node == 0) merge_parts(path, job_id, n_nodes, header)
//
// Costs a second pass over the data by one node; where rows are already in node order or have a
// fixed width, SharedOutputFile is the cheaper way.
class SortedPart {
 public:
  SortedPart(const std::string& path, std::uint64_t job_id, std::uint32_t part);
  ~SortedPart();

  // REQUIRES: `id` is greater than the one before. `text` is stored as it is, with its line end.
  void add(std::uint64_t id, std::string_view text);

  // The part is whole; from now on it belongs to merge_parts() or remove_parts().
  void finish();

 private:
  std::unique_ptr<OutputFile> file_;
  std::uint64_t last_id_ = 0;
  bool any_ = false;
};

// Writes `header` and then the rows of parts 0 .. n_parts - 1 by ascending id to `path`, and
// removes the parts, also when it throws. Memory: one row and 64 KiB for each of at most 256 parts;
// more parts are merged in rounds. Throws Error if an id stands in two parts. `rewrite`, if there
// is one, changes each row before it is written: what could not be known before all parts were.
using RewriteRow = std::function<void(std::string& row)>;
void merge_parts(const std::string& path, std::uint64_t job_id, std::uint32_t n_parts,
                 std::string_view header, const RewriteRow& rewrite = {});

// Removes the finished parts of a job that failed. Parts that do not exist are no error.
void remove_parts(const std::string& path, std::uint64_t job_id, std::uint32_t n_parts) noexcept;

}  // namespace rubato::io

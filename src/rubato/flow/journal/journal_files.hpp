#pragma once
// The files of a journal: their names, what is in them, and one file made of many. The format is in
// journal.hpp.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rubato/base/bytes.hpp"

namespace rubato::flow::journal_files {

// A file that stays open, so that what was found in it can be read when its name is gone.
class File {
 public:
  // Whether it could be opened, is_open() says.
  File(const std::string& path, int flags);
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  // False, as the others, if not all of it could be.
  [[nodiscard]] bool read(void* to, std::size_t n_bytes, std::uint64_t offset) const;
  [[nodiscard]] bool write(ByteView bytes) const;
  [[nodiscard]] bool sync() const;
  [[nodiscard]] std::uint64_t n_bytes() const;

 private:
  int descriptor_;
};

// What is to be read of a folder: a file from an offset on, which is 0 or the begin of an entry.
struct Source {
  std::string path;
  std::shared_ptr<File> file;
  std::uint64_t begin = 0;
};

// A file of a node of a run.
[[nodiscard]] std::string name_of(std::uint32_t run, std::uint32_t node);
// The files of all nodes of a run that say why tasks are done again, as a pattern.
[[nodiscard]] std::string reasons_of(std::uint32_t run);
// The last run of which a folder has a file; 0 if it has none.
[[nodiscard]] std::uint32_t last_run(const std::string& folder);
// What runs before `run` have written, in the order in which it counts: first what one of them, or
// this one, has made of many files, then what these have beyond it. Throws Error if a file cannot be
// read.
[[nodiscard]] std::vector<Source> sources(const std::string& folder, std::uint32_t run);

// The payloads of whole entries from an offset on, and where in the file they begin; what is torn at
// its end is left out. Until `visit` returns false; returns where the next one would begin. Throws
// Error if it is no journal of this version.
std::uint64_t for_each_entry(
    const Source& source, const std::function<bool(ByteView payload, std::uint64_t offset)>& visit);
// Whether an entry is none of a task, but says how much of a file is in this one.
[[nodiscard]] bool is_mark(ByteView payload);
// The begin of a file, and an entry with that payload.
[[nodiscard]] Bytes magic();
[[nodiscard]] Bytes entry_of(ByteView payload);

// Writes what sources() has into one file of this run, of each task the last entry, so that each node
// of the run has one file to read and not one of each node before. It is there as a whole or not at
// all: where it cannot be written, the nodes read what was there. The files of nodes stay, whose runs
// may still go on.
void merge(const std::string& folder, std::uint32_t run);

}  // namespace rubato::flow::journal_files

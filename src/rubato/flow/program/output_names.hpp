#pragma once
// The outputs of a program appear whole or not at all: the program writes to a hidden name beside
// the final one, which becomes the final one when the program ended well.
//
//   OutputNames outputs({"map.png", "log.txt"});           its folders are made
//   ... run("draw", "-o", outputs.temporary("map.png")) ...
//   outputs.commit();                                      else: all is removed
//
// The hidden name is `.NAME.rubato-PID-MACHINE-N` with the extension of NAME once more, since programs
// choose a format by it. It is in the same folder, so that the rename costs nothing and cannot cut
// a file; a disk that gets full or a program that dies leaves the old file as it was. A job that is
// killed leaves hidden files, which no later one takes for its own; the next process of the same
// machine that has outputs in the folder removes them (leftovers.hpp).
//
// An output that is a link stays one, and the file that it names is replaced; a device or a pipe is
// written directly. Objects are used by one thread. All calls block on the disk.

#include <cstdint>
#include <string>
#include <vector>

namespace rubato::flow {

struct OutputOptions {
  // What relative names are relative to, as ProgramCall::folder; "": where the node runs.
  std::string folder = {};
  // Whether commit() waits until the bytes are on the disk: what has to outlive a crash of the
  // machine; and some file systems say only then that they are full.
  bool durable = false;
  // Who writes them, for people.
  std::string writer = "the program";
};

class OutputNames {
 public:
  // Makes the folders. Throws Error if two outputs are one file, if an output is a folder, or if a
  // folder cannot be made.
  explicit OutputNames(const std::vector<std::string>& paths, const OutputOptions& options = {});
  OutputNames(const OutputNames&) = delete;
  OutputNames& operator=(const OutputNames&) = delete;
  // Removes what was written, unless committed.
  ~OutputNames();

  // What the program is to write in the place of `path`: relative to the folder if `path` is.
  // Throws Error with the nearest output if `path` is none of them.
  [[nodiscard]] const std::string& temporary(const std::string& path) const;

  // `path` was made anew since, and its temporary name was not written.
  [[nodiscard]] bool was_written_itself(const std::string& path) const;
  // Nothing is expected of that output any more; what was written under its temporary name goes.
  void leave(const std::string& path);

  // Gives all outputs their names. Throws Error, and removes all, if one of them was not written:
  // it names what is there in its place. Each appears whole; several do not appear at one moment.
  // To be called once.
  void commit();

 private:
  // Which file has a name, and whether it changed since.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t number = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Output {
    std::string path;       // as the caller named it
    std::string target;     // from where the node runs, links followed
    std::string temporary;  // as the program is to name it
    std::string written;    // `temporary` from where the node runs
    bool direct = false;    // the target is written itself
    Identity before;        // of the target
  };

  [[nodiscard]] static Identity identity_of(const std::string& path);
  [[nodiscard]] static Output output_of(const std::string& path, const OutputOptions& options);
  [[nodiscard]] std::size_t index_of(const std::string& path) const;
  void check_is_written(const Output& output) const;
  void rename_all();
  static void discard(const Output& output);
  void discard() noexcept;

  std::vector<Output> outputs_;
  bool durable_;
  std::string writer_;
};

}  // namespace rubato::flow

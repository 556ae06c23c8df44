#pragma once
// Journal: what tasks of a run have ended well, so that another run need not do them again.
//
// A folder. Each node of each run writes a file of its own in it, `run-0002-node-0000.journal`: an
// entry for each program and each leaf of C++ that ended well, written before
// anybody is told of its results. A later run reads what all runs and nodes before it have written:
// it makes one file of theirs, `run-0003-all.journal`, which all its nodes read, and which a run after
// it reads in place of the many, with what these have beyond it. A task is done already if there is an
// entry of the same command, or of the same leaf with the same values, and the files that it read and
// wrote are as they were then: their sizes and the times of their last change, as build tools compare
// them. The library that a leaf is in, or else the program, counts as such a file.
//
// Equal tasks are told apart by their numbers: the k-th that a run begins is the k-th of runs before
// (equal_tasks.hpp). Those that write a file with a name of its own are one task.
//
// Why a task that was done is done again stands in `run-0003-node-0000.again`, a line for each, for
// people; there is none if there is no such task.
//
// Whoever writes the journal has the lock on the file `journal.lock`, and stands in
// `journal.holder` (journal_lock.hpp).
//
// Files without a name of their own lie in `files/0002/`, of the run. As inputs they count by their
// contents; as outputs they get the names of the new run when their task is found to be done.
//
// Format of a file: 8 bytes "RUBATOJ1"; then entries: 4 bytes length, 4 bytes zero, 8 bytes XXH3 of
// the payload, payload: identity 16, task (a string: 8 bytes length and its bytes), inputs and
// outputs (8 bytes count; of each a string, its path, 8 bytes size, 8 bytes time of last change in
// ns), values (8 bytes count; each as Value::put). Little-endian. The path of an output without a name
// of its own begins with a byte 0 and goes on in `files/`, so that the folder can be moved. The
// identity is XXH3 of all that decides what the task does, and of its number if that is not 0. The
// last input of a leaf is what its code is in: a library, or with no path, the build of the program in
// place of the size. What is torn at the end of a file, by a crash or a full disk, is left out. A file
// that is made of many begins with an entry for each of these: identity 0, no task, one input: the
// file's name and how many of its bytes are in this one.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rubato/flow/store/value.hpp"

namespace rubato::flow {

namespace journal_files {
class File;
struct Source;
}  // namespace journal_files

struct JournalOptions {
  std::string folder = {};  // "": no journal
  bool resume = false;      // what is done there already is not done again; else it has to be new
  std::uint32_t run = 0;    // Journal::next_run(); 0: it is asked for
  std::string holder = {};  // what all nodes find there (journal_lock.hpp); "": anything
};

struct FileState {
  std::string path;
  std::uint64_t n_bytes = 0;
  std::int64_t changed_ns = 0;  // -1: there is no such file
  // As it is now.
  [[nodiscard]] static FileState of(const std::string& path);
  bool operator==(const FileState&) const = default;
};

// What a task is, to be found again: gathered before it runs.
class TaskIdentity {
 public:
  // `text` for people; `temporary_folder`: where files without a name of their own lie.
  TaskIdentity(std::string text, std::string temporary_folder);

  // Files first: where a part names one without a name of its own, that counts as the file.
  // Throws Error if such a file cannot be read.
  void add_input(const std::string& path);
  void add_output(const std::string& path);
  void add(std::string_view part);
  void add(const Value& value);
  // What its code is in, `called` so for people: a change is noticed, and it is the same task.
  void set_code(FileState code, std::string called);
  // Which of the equal ones of this run it is.
  void set_number(std::uint64_t number) noexcept { number_ = number; }
  // Whether there may be others that are equal: all files that it writes have no names of their own.
  [[nodiscard]] bool may_have_equals() const noexcept {
    return outputs_.size() == n_temporary_outputs_;
  }

  using Key = std::array<std::uint64_t, 2>;
  [[nodiscard]] Key key() const;
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  friend class Journal;
  // Its number, if it has no name of its own.
  [[nodiscard]] std::optional<std::size_t> temporary_number(const std::string& path);
  // Of its inputs; behind them what its code is in.
  [[nodiscard]] std::vector<FileState> input_states() const;

  std::string text_;
  std::string temporary_folder_;
  Writer parts_;
  std::vector<FileState> inputs_;
  std::vector<std::string> outputs_;
  std::map<std::string, std::size_t> temporary_;  // files without a name, and their numbers
  std::size_t n_temporary_outputs_ = 0;
  std::uint64_t number_ = 0;
  std::optional<FileState> code_;
  std::string code_called_;
};

// What was found in place of running.
struct JournalCounts {
  std::uint64_t n_done = 0;      // tasks that a run before had done
  std::uint64_t n_new = 0;       // that no run has finished before
  std::uint64_t n_again = 0;     // that were done, and are done again since something has changed
  std::vector<std::string> why;  // of these, the first
  std::string why_in;            // files that have all of them, as a pattern; "" if there are none
  std::string problem;           // why it could not be written on; "" if it could

  void add(const JournalCounts& other);
  void put(Writer& out) const;
  [[nodiscard]] static JournalCounts get(Reader& in);
};

// Of one node. Called from any thread.
class Journal {
 public:
  // The number of the next run in a folder, which is made. Throws Error if there is a run and none
  // is to be resumed, or the folder cannot be used.
  [[nodiscard]] static std::uint32_t next_run(const JournalOptions& options);
  // With that number, and the folder as it is called wherever a node runs; what runs before have
  // written is in one file then. Reads and writes it all. Throws Error as next_run().
  [[nodiscard]] static JournalOptions numbered(const JournalOptions& options);

  // Whether there is a run in the folder, if that is there.
  [[nodiscard]] static bool has_run(const std::string& folder);

  // Reads what is there. Throws Error if the folder cannot be read or written.
  Journal(const JournalOptions& options, std::uint32_t node);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  // The run did not begin: its file goes with it.
  void discard() noexcept { is_discarded_ = true; }

  // Where this run keeps files without a name of their own.
  [[nodiscard]] static std::string temporary_folder(const std::string& folder, std::uint32_t run);

  [[nodiscard]] const std::string& temporary_folder() const noexcept { return temporary_folder_; }
  // What leaves of the program itself are in: no file, but its build.
  [[nodiscard]] const FileState& program() const noexcept { return program_; }
  // How many tasks are written down there, by all nodes of all runs so far. Throws Error as
  // next_run().
  [[nodiscard]] static std::uint64_t n_tasks_in(const std::string& folder);
  // Removes what earlier runs kept, after one that ended well.
  static void drop_older_files(const JournalOptions& options);

  // The values of the task if it is done already, its outputs being where they are to be; else it is
  // to be run, and the counts say why.
  [[nodiscard]] std::optional<std::vector<Value>> find(const TaskIdentity& task);
  // It has ended well.
  void add(const TaskIdentity& task, const std::vector<Value>& values);

  [[nodiscard]] JournalCounts counts() const;

 private:
  struct Place {
    std::uint32_t file;
    std::uint64_t offset;  // of the payload
    std::uint32_t n_bytes;
  };
  struct Entry {
    std::vector<FileState> inputs;
    std::vector<FileState> outputs;
    std::vector<Value> values;
  };
  struct KeyHash {
    std::size_t operator()(const TaskIdentity::Key& key) const noexcept { return key[0]; }
  };

  void read_file(const journal_files::Source& source);
  [[nodiscard]] std::optional<Entry> entry_at(const Place& place) const;
  // Why the task has to be run; "" if the entry stands for it. Gives outputs their names.
  [[nodiscard]] std::string changed(const TaskIdentity& task, const Entry& entry) const;
  // With paths as they are for this run, wherever the journal was moved.
  [[nodiscard]] std::vector<FileState> get_outputs(Reader& in) const;
  void put_outputs(Writer& out, const std::vector<std::string>& paths) const;
  void write(const Bytes& entry);
  void count_again(const TaskIdentity& task, const std::string& why);
  void write_why(std::string text);

  std::string folder_;
  std::string temporary_folder_;
  std::string files_folder_;  // of all runs, with a '/' behind it
  FileState program_;
  std::string path_;  // of its own file
  int out_ = -1;
  std::string why_path_;
  std::unique_ptr<journal_files::File> why_out_;  // when there is something to write
  bool is_discarded_ = false;
  std::vector<std::shared_ptr<journal_files::File>> files_;  // that were read
  std::unordered_map<TaskIdentity::Key, Place, KeyHash> by_key_;
  std::unordered_map<std::string, TaskIdentity::Key> by_output_;  // its first, if it has a name
  std::string why_in_;                                            // of the run
  mutable std::mutex mutex_;
  std::uint64_t n_written_ = 0;  // bytes
  JournalCounts counts_;
};

// A task and the journal that is to know of it.
struct JournalledTask {
  Journal& journal;
  TaskIdentity task;
};

}  // namespace rubato::flow

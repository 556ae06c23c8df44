#include "rubato/flow/journal/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "rubato/core/identity.hpp"
#include "rubato/flow/journal/journal_files.hpp"
#include "rubato/flow/journal/journal_lock.hpp"

namespace rubato::flow {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWhyMost = 1000;  // in memory, and of all nodes; files have all

void put_states(Writer& out, const std::vector<FileState>& states) {
  out.put(static_cast<std::uint64_t>(states.size()));
  for (const FileState& state : states) {
    out.put_string(state.path);
    out.put(state.n_bytes);
    out.put(state.changed_ns);
  }
}
std::vector<FileState> get_states(Reader& in) {
  std::vector<FileState> states;
  const auto n = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < n; ++i) {
    FileState state{in.get_string()};
    state.n_bytes = in.get<std::uint64_t>();
    state.changed_ns = in.get<std::int64_t>();
    states.push_back(std::move(state));
  }
  return states;
}

[[noreturn]] void fail(const std::string& what) {
  throw Error("journal: " + what + ": " + std::strerror(errno), ExitCode::failed);
}

// XXH3 of a file.
std::uint64_t hash_of_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("cannot read " + path);
  XXH3_state_t* const state = XXH3_createState();
  XXH3_64bits_reset(state);
  std::vector<char> part(std::size_t{1} << 18);
  ssize_t n = 0;
  while ((n = ::read(file, part.data(), part.size())) > 0)
    XXH3_64bits_update(state, part.data(), static_cast<std::size_t>(n));
  const std::uint64_t hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  ::close(file);
  if (n < 0) fail("cannot read " + path);
  return hash;
}

}  // namespace

FileState FileState::of(const std::string& path) {
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) return {path, 0, -1};
  // What is no file, as /dev/null, has no state.
  if (!S_ISREG(now.st_mode)) return {path, 0, 0};
  return {path, static_cast<std::uint64_t>(now.st_size),
          std::int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec};
}

// --- a task

TaskIdentity::TaskIdentity(std::string text, std::string temporary_folder)
    : text_(std::move(text)), temporary_folder_(std::move(temporary_folder)) {}

std::optional<std::size_t> TaskIdentity::temporary_number(const std::string& path) {
  if (temporary_folder_.empty() || !path.starts_with(temporary_folder_ + "/")) return {};
  return temporary_.try_emplace(path, temporary_.size()).first->second;
}

void TaskIdentity::add_input(const std::string& path) {
  if (const auto number = temporary_number(path)) {
    parts_.put('c');
    parts_.put(static_cast<std::uint64_t>(*number));
    parts_.put(hash_of_file(path));
    return;
  }
  parts_.put('i');
  parts_.put_string(path);
  inputs_.push_back(FileState::of(path));
}

void TaskIdentity::add_output(const std::string& path) {
  parts_.put('o');
  if (const auto number = temporary_number(path)) {
    ++n_temporary_outputs_;
    parts_.put(static_cast<std::uint64_t>(*number));
  } else {
    parts_.put_string(path);
  }
  outputs_.push_back(path);
}

void TaskIdentity::add(std::string_view part) {
  std::string text(part);
  // From behind, so that a name comes before those that it begins with.
  for (auto at = temporary_.rbegin(); at != temporary_.rend(); ++at) {
    const auto& [path, number] = *at;
    const std::string mark = std::string(1, '\0') + std::to_string(number);
    for (std::size_t i = text.find(path); i != std::string::npos; i = text.find(path, i))
      text.replace(i, path.size(), mark);
  }
  parts_.put('t');
  parts_.put_string(text);
}

void TaskIdentity::add(const Value& value) {
  parts_.put('v');
  value.put(parts_);
}

void TaskIdentity::set_code(FileState code, std::string called) {
  code_ = std::move(code);
  code_called_ = std::move(called);
}

std::vector<FileState> TaskIdentity::input_states() const {
  std::vector<FileState> all = inputs_;
  if (code_) all.push_back(*code_);
  return all;
}

TaskIdentity::Key TaskIdentity::key() const {
  Writer all;
  all.append(parts_.view().data(), parts_.size());
  if (number_ > 0) {
    all.put('n');
    all.put(number_);
  }
  const XXH128_hash_t hash = XXH3_128bits(all.view().data(), all.size());
  return {hash.low64, hash.high64};
}

void JournalCounts::add(const JournalCounts& other) {
  n_done += other.n_done;
  n_new += other.n_new;
  n_again += other.n_again;
  const std::size_t n = std::min(other.why.size(), kWhyMost - std::min(kWhyMost, why.size()));
  why.insert(why.end(), other.why.begin(), other.why.begin() + static_cast<std::ptrdiff_t>(n));
  if (why_in.empty()) why_in = other.why_in;
  if (problem.empty()) problem = other.problem;
}

void JournalCounts::put(Writer& out) const {
  out.put(n_done);
  out.put(n_new);
  out.put(n_again);
  out.put(static_cast<std::uint64_t>(why.size()));
  for (const std::string& text : why)
    out.put_string(text);
  out.put_string(why_in);
  out.put_string(problem);
}

JournalCounts JournalCounts::get(Reader& in) {
  JournalCounts counts;
  counts.n_done = in.get<std::uint64_t>();
  counts.n_new = in.get<std::uint64_t>();
  counts.n_again = in.get<std::uint64_t>();
  const auto n_why = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < n_why; ++i)
    counts.why.push_back(in.get_string());
  counts.why_in = in.get_string();
  counts.problem = in.get_string();
  return counts;
}

// --- a folder

std::uint32_t Journal::next_run(const JournalOptions& options) {
  try {
    if (options.resume && !fs::is_directory(options.folder)) {
      throw Error("journal: found no folder " + options.folder +
                  ", expected that of a run with a journal");
    }
    fs::create_directories(options.folder);
    const std::uint32_t last = journal_files::last_run(options.folder);
    if (options.resume && last == 0) {
      throw Error("journal: found no run in " + options.folder +
                  ", expected run-0001-node-0000.journal");
    }
    if (!options.resume && last != 0) {
      throw Error("journal: found a run in " + options.folder +
                  ", expected a new folder; --resume goes on with that run");
    }
    return last + 1;
  } catch (const fs::filesystem_error& error) {
    throw Error(std::string("journal: ") + error.what());
  }
}

JournalOptions Journal::numbered(const JournalOptions& options) {
  JournalOptions result = options;
  if (result.folder.empty() || result.run != 0) return result;
  result.run = next_run(options);
  result.folder = fs::absolute(options.folder).string();
  try {
    if (options.resume) journal_files::merge(result.folder, result.run);
  } catch (const fs::filesystem_error& error) {
    throw Error(std::string("journal: ") + error.what());
  }
  return result;
}

bool Journal::has_run(const std::string& folder) {
  std::error_code ignored;
  return fs::is_directory(folder, ignored) && journal_files::last_run(folder) != 0;
}

std::string Journal::temporary_folder(const std::string& folder, std::uint32_t run) {
  std::array<char, 16> name{};
  static_cast<void>(std::snprintf(name.data(), name.size(), "%04u", run));
  return (fs::absolute(folder) / "files" / name.data()).string();
}

std::uint64_t Journal::n_tasks_in(const std::string& folder) {
  std::set<TaskIdentity::Key> tasks;
  try {
    for (const journal_files::Source& source : journal_files::sources(folder, UINT32_MAX)) {
      journal_files::for_each_entry(source, [&](ByteView payload, auto /*offset*/) {
        if (!journal_files::is_mark(payload))
          tasks.insert(Reader(payload).get<TaskIdentity::Key>());
        return true;
      });
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(std::string("journal: ") + error.what());
  }
  return tasks.size();
}

void Journal::drop_older_files(const JournalOptions& options) {
  std::error_code ignored;
  const fs::path mine = temporary_folder(options.folder, options.run);
  std::vector<fs::path> others;
  for (const fs::directory_entry& entry : fs::directory_iterator(mine.parent_path(), ignored)) {
    if (entry.path() != mine) others.push_back(entry.path());
  }
  for (const fs::path& other : others)
    fs::remove_all(other, ignored);
}

Journal::Journal(const JournalOptions& options, std::uint32_t node)
    : folder_(options.folder),
      temporary_folder_(temporary_folder(options.folder, options.run)),
      files_folder_(fs::path(temporary_folder_).parent_path().string() + "/"),
      program_{"", core::identity_of_this_process(0).build, 0} {
  if (!options.holder.empty() && JournalLock::holder_in(folder_) != options.holder) {
    throw Error("journal: node " + std::to_string(node) + " sees in " + folder_ +
                " nothing of this run, expected a folder that all nodes share");
  }
  try {
    if (options.resume) {
      for (const journal_files::Source& source : journal_files::sources(folder_, options.run))
        read_file(source);
    }
    fs::create_directories(temporary_folder_);
  } catch (const fs::filesystem_error& error) {
    throw Error(std::string("journal: ") + error.what());
  }
  path_ = (fs::path(folder_) / journal_files::name_of(options.run, node)).string();
  why_path_ = fs::path(path_).replace_extension("again").string();
  why_in_ = (fs::path(folder_) / journal_files::reasons_of(options.run)).string();
  out_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (out_ < 0) fail("cannot make " + path_);
  write(journal_files::magic());
}

Journal::~Journal() {
  ::close(out_);
  if (is_discarded_) ::unlink(path_.c_str());
}

// A later entry of the same task counts.
void Journal::read_file(const journal_files::Source& source) {
  const auto number = static_cast<std::uint32_t>(files_.size());
  files_.push_back(source.file);
  journal_files::for_each_entry(source, [&](ByteView payload, auto offset) {
    if (journal_files::is_mark(payload)) return true;
    Reader in(payload);
    const auto key = in.get<TaskIdentity::Key>();
    by_key_[key] = {number, offset, static_cast<std::uint32_t>(payload.size())};
    static_cast<void>(in.get_string());
    static_cast<void>(get_states(in));
    const std::vector<FileState> outputs = get_outputs(in);
    if (!outputs.empty()) by_output_[outputs.front().path] = key;
    return true;
  });
}

std::vector<FileState> Journal::get_outputs(Reader& in) const {
  std::vector<FileState> outputs = get_states(in);
  for (FileState& output : outputs) {
    if (output.path.starts_with('\0')) output.path.replace(0, 1, files_folder_);
  }
  return outputs;
}

void Journal::put_outputs(Writer& out, const std::vector<std::string>& paths) const {
  std::vector<FileState> outputs;
  for (const std::string& path : paths) {
    outputs.push_back(FileState::of(path));
    if (path.starts_with(files_folder_))
      outputs.back().path.replace(0, files_folder_.size(), 1, '\0');
  }
  put_states(out, outputs);
}

// Nothing, if the file cannot be read any more.
std::optional<Journal::Entry> Journal::entry_at(const Place& place) const {
  Bytes payload(place.n_bytes);
  if (!files_[place.file]->read(payload.data(), payload.size(), place.offset)) return {};
  Reader in(payload);
  static_cast<void>(in.get<TaskIdentity::Key>());
  static_cast<void>(in.get_string());
  Entry entry;
  entry.inputs = get_states(in);
  entry.outputs = get_outputs(in);
  const auto n_values = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < n_values; ++i)
    entry.values.push_back(Value::get(in));
  return entry;
}

std::string Journal::changed(const TaskIdentity& task, const Entry& entry) const {
  RUBATO_REQUIRE(task.outputs_.size() == entry.outputs.size(), task.text());
  const std::vector<FileState> inputs = task.input_states();
  if (inputs.size() != entry.inputs.size()) {
    RUBATO_REQUIRE(task.code_ && inputs.size() == entry.inputs.size() + 1, task.text());
    return "an older Rubato did not write down which build its " + task.code_called_ + " was";
  }
  for (std::size_t i = 0; i < entry.inputs.size(); ++i) {
    if (inputs[i] == entry.inputs[i]) continue;
    const bool is_code = i == task.inputs_.size();
    return "its " + (is_code ? task.code_called_ : "input " + entry.inputs[i].path) +
           " has changed";
  }
  for (std::size_t i = 0; i < entry.outputs.size(); ++i) {
    const FileState& output = entry.outputs[i];
    if (task.outputs_[i].starts_with(files_folder_) && !output.path.starts_with(files_folder_))
      return "its output " + output.path + " is in the folder of another journal";
    const FileState now = FileState::of(output.path);
    if (now.changed_ns < 0) return "its output " + output.path + " is gone";
    if (!(now == output)) return "its output " + output.path + " has changed since";
  }
  for (std::size_t i = 0; i < entry.outputs.size(); ++i) {
    const std::string& from = entry.outputs[i].path;
    const std::string& to = task.outputs_[i];
    if (from != to && std::rename(from.c_str(), to.c_str()) != 0) {
      const int problem = errno;
      return std::string("its output ").append(from) + " cannot be named " + to + ": " +
             std::strerror(problem);
    }
  }
  return "";
}

std::optional<std::vector<Value>> Journal::find(const TaskIdentity& task) {
  const auto found = by_key_.find(task.key());  // nobody changes it
  if (found == by_key_.end()) {
    const auto of_output =
        task.outputs_.empty() ? by_output_.end() : by_output_.find(task.outputs_.front());
    if (of_output != by_output_.end()) {
      count_again(task, "its command or what it is given has changed");
    } else {
      const std::lock_guard lock(mutex_);
      ++counts_.n_new;
    }
    return {};
  }
  std::optional<Entry> read = entry_at(found->second);
  if (!read) {
    count_again(task, "what was written of it cannot be read any more");
    return {};
  }
  Entry& entry = *read;
  const std::string why = changed(task, entry);
  if (!why.empty()) {
    count_again(task, why);
    return {};
  }
  {
    const std::lock_guard lock(mutex_);
    ++counts_.n_done;
  }
  // The next run finds files without a name of their own where they are now.
  const auto is_moved = [&](std::size_t i) { return task.outputs_[i] != entry.outputs[i].path; };
  for (std::size_t i = 0; i < entry.outputs.size(); ++i) {
    if (!is_moved(i)) continue;
    add(task, entry.values);
    break;
  }
  return std::move(entry.values);
}

void Journal::count_again(const TaskIdentity& task, const std::string& why) {
  const std::lock_guard lock(mutex_);
  ++counts_.n_again;
  std::string text = task.text() + ": " + why;
  if (counts_.why.size() < kWhyMost) counts_.why.push_back(text);
  write_why(std::move(text));
}

// Nobody reads it but people: where it cannot be written, nothing says that it is there.
void Journal::write_why(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  text += '\n';
  if (why_out_ == nullptr) {
    why_out_ =
        std::make_unique<journal_files::File>(why_path_, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC);
    counts_.why_in = why_in_;
  }
  if (!why_out_->is_open() || !why_out_->write(std::as_bytes(std::span(text))))
    counts_.why_in.clear();
}

void Journal::add(const TaskIdentity& task, const std::vector<Value>& values) {
  Writer payload;
  payload.put(task.key());
  payload.put_string(task.text());
  put_states(payload, task.input_states());
  put_outputs(payload, task.outputs_);
  payload.put(static_cast<std::uint64_t>(values.size()));
  for (const Value& value : values)
    value.put(payload);
  if (payload.size() > UINT32_MAX) return;  // it will be done again
  write(journal_files::entry_of(payload.view()));
}

// In one piece, so that what is torn can only be the last one. When nothing can be written any more
// the run goes on; only the next one has more to do.
void Journal::write(const Bytes& entry) {
  const std::lock_guard lock(mutex_);
  if (!counts_.problem.empty()) return;
  std::size_t n_written = 0;
  while (n_written < entry.size()) {
    const ssize_t n = ::write(out_, entry.data() + n_written, entry.size() - n_written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      counts_.problem = "journal: cannot write in " + folder_ + ": " + std::strerror(errno) +
                        "; what ended from then on will be done again";
      static_cast<void>(::ftruncate(out_, static_cast<off_t>(n_written_)));
      return;
    }
    n_written += static_cast<std::size_t>(n);
  }
  n_written_ += entry.size();
}

JournalCounts Journal::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace rubato::flow

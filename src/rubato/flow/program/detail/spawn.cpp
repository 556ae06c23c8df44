#include "rubato/flow/program/detail/spawn.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rubato/base/error.hpp"

namespace rubato::flow::program_detail {
namespace {

constexpr int kUnusable = 126;
constexpr mode_t kMode = 0666;  // less the umask

// The calling thread may be bound to one processor, and a child inherits that. For the moment of a
// start the thread gets all of the node's; posix_spawn returns when the program has its own image,
// so that nothing of the child can see the narrow set. Setting it from outside, after the start,
// would come too late for programs that count their processors first.
class AllProcessors {
 public:
  explicit AllProcessors(const cpu_set_t& all) noexcept {
    const bool known = ::sched_getaffinity(0, sizeof own_, &own_) == 0;
    changed_ = known && CPU_COUNT(&all) != 0 && !CPU_EQUAL(&own_, &all) &&
               ::sched_setaffinity(0, sizeof all, &all) == 0;
  }
  AllProcessors(const AllProcessors&) = delete;
  AllProcessors& operator=(const AllProcessors&) = delete;
  ~AllProcessors() {
    if (changed_) ::sched_setaffinity(0, sizeof own_, &own_);
  }

 private:
  cpu_set_t own_{};
  bool changed_ = false;
};

// Opens beyond the standard streams: a descriptor below 3, which a node with closed streams would
// get, could be overwritten by the redirection of another.
Descriptor open_at(int folder, const std::string& path, int flags, const char* doing) {
  Descriptor file(::openat(folder, path.c_str(), flags | O_CLOEXEC, kMode));
  if (file.open() && file.get() <= STDERR_FILENO) {
    file = Descriptor(::fcntl(file.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  }
  if (file.open()) return file;
  const StartError error = start_error(std::string(doing) + " " + path, errno);
  // 127 would say that there is no such program.
  throw StartError(error.what(), kUnusable, error.passing());
}

// Where the program runs; closed: where the node does.
Descriptor folder_of(const ProgramCall& call) {
  if (call.folder.empty()) return {};
  return open_at(AT_FDCWD, call.folder, O_PATH | O_DIRECTORY, "running in");
}
int fd_of(const Descriptor& folder) {
  return folder.open() ? folder.get() : AT_FDCWD;
}

// The descriptors of a child, open in the node from now to its start.
struct Streams {
  Descriptor folder;
  Descriptor in;
  Descriptor out;
  Descriptor errors_in;   // the child's end
  Descriptor errors_out;  // the node's end
  bool errors_with_out = false;

  Streams(const ProgramCall& call, Descriptor where) : folder(std::move(where)) {
    const bool empty = call.stdin_path.empty();
    in = open_at(folder_fd(), empty ? "/dev/null" : call.stdin_path, O_RDONLY, "reading");
    constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
    if (!call.stdout_path.empty()) {
      out = open_at(folder_fd(), call.stdout_path, kWrite, "writing");
    }
    if (call.stderr_path.empty()) {
      make_pipe();
    } else if (call.stderr_path == call.stdout_path) {
      errors_with_out = true;
    } else {
      errors_in = open_at(folder_fd(), call.stderr_path, kWrite, "writing");
    }
  }

  [[nodiscard]] int folder_fd() const noexcept { return fd_of(folder); }

 private:
  void make_pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw start_error("making a pipe", errno);
    errors_out = Descriptor(ends[0]);
    errors_in = Descriptor(ends[1]);
    if (ends[1] <= STDERR_FILENO) {
      errors_in = Descriptor(::fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    }
    if (!errors_in.open()) throw start_error("making a pipe", errno);
    // The node's end only: the two ends are two open files, and programs expect theirs to block.
    ::fcntl(errors_out.get(), F_SETFL, O_NONBLOCK);
  }
};

// posix_spawn's two objects, filled. What can fail here is memory.
class Recipe {
 public:
  explicit Recipe(const Streams& streams) {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int error = 0;
    const auto then = [&error](int result) { error = error != 0 ? error : result; };
    const auto redirect = [&](const Descriptor& from, int to) {
      if (from.open()) then(posix_spawn_file_actions_adddup2(&actions_, from.get(), to));
    };
    redirect(streams.in, STDIN_FILENO);
    redirect(streams.out, STDOUT_FILENO);
    redirect(streams.errors_in, STDERR_FILENO);
    if (streams.errors_with_out) {
      then(posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO));
    }
    if (streams.folder.open()) {
      then(posix_spawn_file_actions_addfchdir_np(&actions_, streams.folder.get()));
    }
    // Ours close themselves; those that libraries of the node opened may not.
    then(posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1));
    failure_ = error;
  }
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;
  ~Recipe() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  // An errno, or 0 and the number of the process.
  [[nodiscard]] int start(pid_t& pid, const std::string& program, char* const* words,
                          char* const* environment) const {
    if (failure_ != 0) return failure_;
    return ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_, words, environment);
  }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
  int failure_ = 0;
};

char* pointer_to(const std::string& text) {
  // exec takes words that it could change, and does not.
  return const_cast<char*>(text.c_str());
}

// The environment of one call as exec wants it: the node's strings are shared and not copied.
class Environment {
 public:
  Environment(const NodeState& node, const ProgramCall& call) : path_(&node.path) {
    own_.reserve(call.environment.size());  // pointers into it must stay
    for (const auto& [name, value] : call.environment) {
      own_.emplace_back(name).append("=").append(value);
      if (name == "PATH") path_ = &value;
    }
    pointers_.reserve(node.environment.size() + own_.size() + 1);
    for (const std::string& entry : node.environment)
      if (!is_replaced(entry, call)) pointers_.push_back(pointer_to(entry));
    for (const std::string& entry : own_)
      pointers_.push_back(pointer_to(entry));
    pointers_.push_back(nullptr);
  }

  [[nodiscard]] char* const* get() const noexcept { return pointers_.data(); }
  // Where programs of this call are looked up.
  [[nodiscard]] const std::string& path() const noexcept { return *path_; }

 private:
  static bool is_replaced(std::string_view entry, const ProgramCall& call) {
    const std::string_view name = entry.substr(0, entry.find('='));
    for (const auto& [other, value] : call.environment)
      if (name == other) return true;
    for (const std::string& other : call.environment_removed)
      if (name == other) return true;
    return false;
  }

  const std::string* path_;
  std::vector<std::string> own_;
  std::vector<char*> pointers_;
};

void check_text(const std::string& text, const char* what) {
  if (text.find('\0') != std::string::npos) {
    throw StartError(std::string("expected ") + what + " without zero bytes, found one at byte " +
                         std::to_string(text.find('\0') + 1) + " of \"" + text.c_str() + "\"",
                     kUnusable);
  }
}

}  // namespace

NodeState::NodeState(const std::vector<std::uint32_t>& allowed)
    : stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop.open()) throw Error("no descriptor for the launcher of programs", ExitCode::failed);
  // More processors than a cpu_set_t holds: the call fails, and programs inherit the set of their
  // callers.
  CPU_ZERO(&processors);
  if (allowed.empty()) ::sched_getaffinity(0, sizeof processors, &processors);
  for (const std::uint32_t processor : allowed) {
    RUBATO_REQUIRE(processor < CPU_SETSIZE, processor);
    CPU_SET(processor, &processors);
  }
  path = "/usr/local/bin:/usr/bin:/bin";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
    if (environment.back().starts_with("PATH=")) path = environment.back().substr(5);
  }
}

void check_call(const ProgramCall& call) {
  if (call.words.empty() || call.words.front().empty()) {
    throw StartError("expected the name of a program, found none", kUnusable);
  }
  for (const std::string& word : call.words)
    check_text(word, "a word");
  for (const auto* path : {&call.stdin_path, &call.stdout_path, &call.stderr_path, &call.folder})
    check_text(*path, "a path");
  for (const auto& [name, value] : call.environment) {
    check_text(name, "the name of an environment variable");
    check_text(value, "the value of an environment variable");
    if (name.empty() || name.find('=') != std::string::npos) {
      throw StartError(
          "expected the name of an environment variable without '=', found \"" + name + "\"",
          kUnusable);
    }
  }
}

Child spawn(const NodeState& node, const ProgramCall& call) {
  const std::string& name = call.words.front();
  const bool in_path = name.find('/') == std::string::npos;
  const Environment environment(node, call);
  // First, so that a missing program does not empty the files that it would have written.
  Descriptor folder = folder_of(call);
  std::string program = in_path ? node.finder.find(environment.path(), name) : name;
  if (!in_path) check_program(fd_of(folder), name);
  Streams streams(call, std::move(folder));
  const Recipe recipe(streams);
  std::vector<char*> words;
  words.reserve(call.words.size() + 1);
  for (const std::string& word : call.words)
    words.push_back(pointer_to(word));
  words.push_back(nullptr);
  Child child;
  int error = 0;
  {
    const AllProcessors all(node.processors);
    error = recipe.start(child.pid, program, words.data(), environment.get());
    if (error == ENOENT && in_path) {
      // It was moved since it was found.
      node.finder.forget(environment.path(), name);
      program = node.finder.find(environment.path(), name);
      error = recipe.start(child.pid, program, words.data(), environment.get());
    }
  }
  if (error != 0) {
    const StartError plain = start_error("", error);
    throw StartError("starting " + program + ": " + refusal_of(streams.folder_fd(), program, error),
                     kUnusable, plain.passing());
  }
  child.errors = std::move(streams.errors_out);
  child.end = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  return child;
}

}  // namespace rubato::flow::program_detail

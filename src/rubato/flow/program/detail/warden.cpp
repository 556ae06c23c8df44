#include "rubato/flow/program/detail/warden.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rubato::flow::program_detail {
namespace {

constexpr const char* kIsWarden = "RUBATO_IS_WARDEN=1";
constexpr const char* kName = "RUBATO_IS_WARDEN";
// Of the warden.
constexpr int kPipe = 3;
constexpr int kGroups = 4;
// What is copied to these two must not be one of them.
constexpr int kBeyond = 10;

static_assert(std::atomic<pid_t>::is_always_lock_free);

[[noreturn]] void watch_over_node() {
  char byte = 0;
  while (::read(kPipe, &byte, 1) < 0 && errno == EINTR) {
  }
  struct stat info {};
  if (::fstat(kGroups, &info) != 0) ::_exit(1);
  const auto n_bytes = static_cast<std::size_t>(info.st_size);
  void* const memory = ::mmap(nullptr, n_bytes, PROT_READ, MAP_SHARED, kGroups, 0);
  if (memory == MAP_FAILED) ::_exit(1);
  const auto* const groups = static_cast<const std::atomic<pid_t>*>(memory);
  for (std::size_t i = 0; i < n_bytes / sizeof(pid_t); ++i) {
    const pid_t group = groups[i].load(std::memory_order_relaxed);
    if (group > 1) ::kill(-group, SIGKILL);
  }
  ::_exit(0);
}

// Before all that the executable does else: a warden needs none of it.
[[gnu::constructor(101)]] void be_warden() {
  if (std::getenv(kName) != nullptr) watch_over_node();  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace

Warden::Warden(std::uint32_t n_programs) {
  start(n_programs);
  if (is_there() || groups_ == nullptr) return;
  ::munmap(groups_, n_bytes_);
  groups_ = nullptr;
}

void Warden::start(std::uint32_t n_programs) {
  const Descriptor memory(::memfd_create("programs of a node", MFD_CLOEXEC));
  n_bytes_ = std::size_t{n_programs} * sizeof(pid_t);
  if (!memory.open() || ::ftruncate(memory.get(), static_cast<off_t>(n_bytes_)) != 0) return;
  void* const mapped =
      ::mmap(nullptr, n_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (mapped == MAP_FAILED) return;
  groups_ = static_cast<std::atomic<pid_t>*>(mapped);
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const Descriptor near(ends[0]);
  alive_ = Descriptor(ends[1]);
  const Descriptor pipe(::fcntl(near.get(), F_DUPFD_CLOEXEC, kBeyond));
  const Descriptor groups(::fcntl(memory.get(), F_DUPFD_CLOEXEC, kBeyond));
  if (!pipe.open() || !groups.open()) return;

  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  // In a group of its own, and deaf: what ends the node must not end it first.
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  // The node's streams would stay open with it, for whose end others wait.
  int error = 0;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    error |= posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  error |= posix_spawn_file_actions_adddup2(&actions, pipe.get(), kPipe);
  error |= posix_spawn_file_actions_adddup2(&actions, groups.get(), kGroups);
  error |= posix_spawn_file_actions_addclosefrom_np(&actions, kGroups + 1);
  std::string name = "rubato: warden of the programs of " + std::to_string(::getpid());
  std::string is_warden = kIsWarden;
  const std::array<char*, 2> words{name.data(), nullptr};
  const std::array<char*, 2> environment{is_warden.data(), nullptr};
  pid_t process = -1;
  if (error == 0 && ::posix_spawn(&process, "/proc/self/exe", &actions, &attributes, words.data(),
                                  environment.data()) == 0) {
    process_ = process;
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
}

Warden::~Warden() {
  if (!is_there()) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::munmap(groups_, n_bytes_);
}

}  // namespace rubato::flow::program_detail

#include "rubato/tools/process.hpp"

#include <cerrno>
#include <cstdlib>
#include <sstream>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/base/error.hpp"

namespace rubato::tools {
namespace {

constexpr std::size_t kOutputBytesMax = 64 << 10;
constexpr std::size_t kProgramOutputBytesMax = 64 << 20;

bool is_executable_file(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// The form that exec wants. Valid as long as `words`.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words)
    pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string read_to_end(int fd, std::size_t bytes_max) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    if (text.size() < bytes_max) text.append(buffer, static_cast<std::size_t>(n));
  }
}

// Of no stream of ours, and with no signal blocked; 0 if it cannot be run.
pid_t spawn_silent(const std::vector<std::string>& words) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, words[0].c_str(), &actions, &attributes,
                                 pointers_to(words).data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : 0;
}

// A signal that is blocked, and is to end this process.
bool is_end_pending() {
  sigset_t pending;
  return sigpending(&pending) == 0 &&
         (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
          sigismember(&pending, SIGHUP) == 1);
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_executable_file(name) ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (is_executable_file(candidate)) return candidate;
  }
  return "";
}

std::string own_path() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  RUBATO_ASSERT(n > 0 && static_cast<std::size_t>(n) < sizeof path, n);
  return {path, static_cast<std::size_t>(n)};
}

std::string output_of(const std::vector<std::string>& words) {
  RUBATO_REQUIRE(!words.empty());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, words[0].c_str(), &actions, nullptr, pointers_to(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  if (error == 0) {
    text = read_to_end(ends[0], kOutputBytesMax);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  return text;
}

Finished run_program(const std::vector<std::string>& words) {
  RUBATO_REQUIRE(!words.empty());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error("no pipe for " + words[0], ExitCode::failed);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    throw Error("no process for " + words[0], ExitCode::failed);
  }
  if (child == 0) {
    // The parent may have died before the kernel was told to tell us.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(128 + SIGTERM);
    dup2(ends[1], STDOUT_FILENO);
    execute(words);
    _exit(127);
  }
  close(ends[1]);
  Finished finished;
  finished.out = read_to_end(ends[0], kProgramOutputBytesMax);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  finished.code = exit_code_of(status);
  return finished;
}

std::vector<int> codes_of(const std::vector<std::vector<std::string>>& calls, Nanos most) {
  constexpr std::size_t kAtOnce = 32;
  constexpr Nanos kLook = 5 * kMillisecond;
  struct Running {
    std::size_t call = 0;
    pid_t pid = 0;
    Nanos since = 0;
  };
  std::vector<int> codes(calls.size(), -1);
  std::vector<Running> running;
  std::size_t next = 0;
  while (next < calls.size() || !running.empty()) {
    const bool is_told = is_end_pending();
    if (is_told) next = calls.size();
    for (; next < calls.size() && running.size() < kAtOnce; ++next) {
      RUBATO_REQUIRE(!calls[next].empty());
      if (const pid_t pid = spawn_silent(calls[next])) running.push_back({next, pid, steady_now()});
    }
    const Nanos now = steady_now();
    std::erase_if(running, [&](const Running& each) {
      int status = 0;
      const bool is_late = is_told || now - each.since >= most;
      if (is_late) kill(each.pid, SIGKILL);
      const pid_t ended = waitpid(each.pid, &status, is_late ? 0 : WNOHANG);
      if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
      if (!is_late && ended > 0) codes[each.call] = exit_code_of(status);
      return true;
    });
    if (!running.empty()) nap(kLook);
  }
  return codes;
}

void execute(const std::vector<std::string>& words) noexcept {
  execvp(words[0].c_str(), pointers_to(words).data());
}

int exit_code_of(int wait_status) noexcept {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace rubato::tools

#include "bench/baselines/spawn_programs.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/base/error.hpp"

namespace rubato::bench {
namespace {

// False if it could not be started, or did not end with 0.
bool run_once(const std::string& path) {
  std::string name = path;
  char* words[] = {name.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, path.c_str(), &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return error == 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

[[noreturn]] void throw_failed(const std::string& path) {
  throw Error("running " + path + ": expected that it ends with 0", ExitCode::failed);
}

}  // namespace

double spawn_rate(const std::string& path, std::uint32_t n_threads, std::uint64_t n_programs) {
  std::atomic<std::uint64_t> n_begun{0};
  std::atomic<bool> failed{false};
  const Nanos begin = steady_now();
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < n_threads; ++i) {
    threads.emplace_back([&] {
      while (n_begun.fetch_add(1) < n_programs) {
        if (!run_once(path)) failed = true;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  if (failed) throw_failed(path);
  return static_cast<double>(n_programs) * kSecond / static_cast<double>(steady_now() - begin);
}

Nanos spawn_time(const std::string& path) {
  const Nanos begin = steady_now();
  if (!run_once(path)) throw_failed(path);
  return steady_now() - begin;
}

}  // namespace rubato::bench

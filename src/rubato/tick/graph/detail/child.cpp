#include "rubato/tick/graph/detail/child.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/core/signals.hpp"

namespace rubato::tick::detail {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  void close() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

// Ends and buries the child.
class Child {
 public:
  explicit Child(pid_t pid) noexcept : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

 private:
  pid_t pid_;
};

[[noreturn]] void fail(const char* what) {
  throw Error(std::string(what) + ": " + std::strerror(errno), ExitCode::failed);
}

void write_all(int fd, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // nobody listens any more
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

[[noreturn]] void be_child(const std::function<Bytes()>& compute, int to, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  std::signal(SIGINT, SIG_IGN);  // a terminal sends it to the child too: the parent ends it
  std::signal(SIGHUP, SIG_IGN);  // as one that is gone does
  std::signal(SIGTERM, SIG_DFL);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  try {
    write_all(to, compute());
  } catch (const std::exception&) {
    _exit(1);  // the parent misses the result
  }
  _exit(0);
}

Bytes read_all(int from) {
  constexpr int kLookMs = 50;
  constexpr std::size_t kPiece = 1 << 16;
  Bytes all;
  while (true) {
    core::throw_if_signalled();
    pollfd event = {.fd = from, .events = POLLIN, .revents = 0};
    if (poll(&event, 1, kLookMs) <= 0) continue;
    const std::size_t n_before = all.size();
    all.resize(n_before + kPiece);
    const ssize_t n = ::read(from, all.data() + n_before, kPiece);
    all.resize(n_before + static_cast<std::size_t>(n > 0 ? n : 0));
    if (n == 0 || (n < 0 && errno != EINTR)) return all;
  }
}

}  // namespace

Bytes compute_in_child(const std::function<Bytes()>& compute) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("a pipe to a process");
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) fail("a process");
  if (pid == 0) be_child(compute, to.get(), parent);
  const Child child(pid);
  to.close();
  return read_all(from.get());
}

}  // namespace rubato::tick::detail

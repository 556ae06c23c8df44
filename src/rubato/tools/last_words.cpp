#include "rubato/tools/last_words.hpp"

#include <array>
#include <cstring>

#include <signal.h>
#include <unistd.h>

#include "rubato/base/error.hpp"

namespace rubato::tools {
namespace {

// Made before a signal may come: a handler can neither allocate nor format.
std::array<char, 256> interrupted;
std::array<char, 256> terminated;

void on_signal(int number) {
  const char* text = number == SIGINT ? interrupted.data() : terminated.data();
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text, std::strlen(text));
  _exit(static_cast<int>(number == SIGINT ? ExitCode::interrupted : ExitCode::terminated));
}

void set(std::array<char, 256>& text, const std::string& words) {
  words.copy(text.data(), text.size() - 1);
}

void handle(int number) {
  struct sigaction former = {};
  sigaction(number, nullptr, &former);
  // Whoever ignores SIGINT (a background job of a shell) or SIGHUP (nohup) goes on ignoring it.
  if (former.sa_handler != SIG_DFL) return;
  struct sigaction ours = {};
  ours.sa_handler = on_signal;
  sigaction(number, &ours, nullptr);
}

}  // namespace

void outlive_file_limits() {
  struct sigaction former = {};
  sigaction(SIGXFSZ, nullptr, &former);
  if (former.sa_handler != SIG_DFL) return;
  struct sigaction ours = {};
  ours.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &ours, nullptr);
}

void say_last_words(const std::string& name) {
  if (interrupted[0] != 0) return;
  // A progress line may stand there without its end.
  const std::string begin = isatty(STDERR_FILENO) != 0 ? "\n" : "";
  set(interrupted, begin + name + ": interrupted\n");
  set(terminated, begin + name + ": terminated\n");
  handle(SIGINT);
  handle(SIGTERM);
  handle(SIGHUP);
}

}  // namespace rubato::tools

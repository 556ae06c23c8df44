#include "rubato/tools/terminal.hpp"

#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace rubato::tools {

bool is_terminal(int fd) noexcept {
  return isatty(fd) == 1;
}

bool wants_color(int fd) noexcept {
  const char* off = std::getenv("NO_COLOR");
  if (off != nullptr && *off != '\0') return false;
  const char* kind = std::getenv("TERM");
  if (kind == nullptr || std::string_view(kind) == "dumb") return false;
  return is_terminal(fd);
}

void refuse_color_for_nodes() noexcept {
  if (!is_terminal(STDOUT_FILENO)) setenv("NO_COLOR", "1", 0);
}

int terminal_columns(int fd) noexcept {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace rubato::tools

#pragma once
// Where programs are: the lookup in PATH, done once for each name, and what to say of a program
// that is not there. Private to flow/program.

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/base/error.hpp"

namespace rubato::flow::program_detail {

// A program that cannot be started. Thrown and caught within a launcher.
class StartError final : public Error {
 public:
  // `code` as a shell's; `passing`: the same start may work a little later.
  StartError(const std::string& message, int code, bool passing = false)
      : Error(message, ExitCode::some_tasks_failed), code_(code), passing_(passing) {}

  [[nodiscard]] int exit_code() const noexcept { return code_; }
  [[nodiscard]] bool passing() const noexcept { return passing_; }

 private:
  int code_;
  bool passing_;
};

// From an errno: `what` and the cause.
[[nodiscard]] StartError start_error(const std::string& what, int error);

// Finds programs in lists of folders such as PATH. Any thread.
class ProgramFinder {
 public:
  // The absolute path of `name`, which has no slash, in the folders of `path`. Throws StartError
  // with the nearest name that is there.
  [[nodiscard]] std::string find(const std::string& path, const std::string& name) const;

  // Looks again next time: the file has gone.
  void forget(const std::string& path, const std::string& name) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::string, std::string>, std::string> found_;
};

// Throws StartError unless `name`, relative to the open folder `folder_fd`, is a file that may be
// executed.
void check_program(int folder_fd, const std::string& name);

// Why the kernel did not take the file at `path` with `error`: a missing interpreter, no #! line.
[[nodiscard]] std::string refusal_of(int folder_fd, const std::string& path, int error);

}  // namespace rubato::flow::program_detail

#pragma once
// The wait for a program: its end, its time-out, its last errors, the end of the run. Private to
// flow/program.

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

#include <sys/resource.h>

#include "rubato/base/time.hpp"
#include "rubato/flow/program/detail/spawn.hpp"

namespace rubato::flow::program_detail {

struct WatchPlan {
  Nanos deadline = kNever;  // by `clock`
  int stop_fd = -1;         // readable: end the program
  const std::atomic<Nanos>* grace = nullptr;
  bool errors_passed_on = true;
  Nanos (*clock)() noexcept = steady_now;
  std::function<bool()> has_enough = {};  // asked now and then: kill the program
};

struct Watched {
  bool known = false;  // false: somebody else took the program's end
  int status = 0;      // as of wait4
  rusage usage{};
  bool timed_out = false;
  bool stopped = false;
  bool had_enough = false;
  std::string last_errors;
};

inline constexpr std::size_t kLastErrorsBytes = 4096;

// Blocks until `child` and its group have ended, and reaps it.
[[nodiscard]] Watched watch(Child& child, const WatchPlan& plan);

// The last whole lines of `text` that fit into `n_bytes`; of a longer last line its end.
[[nodiscard]] std::string last_lines(const std::string& text, std::size_t n_bytes);

}  // namespace rubato::flow::program_detail

#pragma once
// Errors, the three kinds of them [docs/conventions: errors].
//
//   a bug             RUBATO_REQUIRE / RUBATO_ASSERT: prints what was found and ends the whole job
//   bad input         throw Error: a chain of context, caught once in main, exit code 2 or 3
//   a normal outcome  std::optional, bool try_x(), Result<T, E> (result.hpp)
//
// An Error reads like a sentence with its context in front, outermost first:
//   reading start.csv: line 7, column 3: expected a number for 'vx', found "abc"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

// What the process returns to its caller.
enum class ExitCode : int {
  ok = 0,
  failed = 1,
  usage = 2,
  bad_input = 3,
  some_tasks_failed = 4,
  node_lost = 5,
  checkpointed = 75,
  interrupted = 130,
  terminated = 143,
};

namespace detail {
// Zero bytes as \x00: what() is a string of C, which they would end.
[[nodiscard]] std::string without_zeros(const std::string& text);
}  // namespace detail

// Bad input or a failed run, for people. Copyable, so that a failure can travel between nodes.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ExitCode code = ExitCode::bad_input)
      : std::runtime_error(detail::without_zeros(message)), code_(code) {}

  [[nodiscard]] ExitCode code() const noexcept { return code_; }

  // The same error with `context` in front, for a catch-and-rethrow on the way up.
  [[nodiscard]] Error in(std::string_view context) const {
    return Error(std::string(context) + ": " + what(), code_);
  }

 private:
  ExitCode code_;
};

// The candidate nearest to `word` by edit distance, or "" if none is near: "did you mean ...?".
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

// ` (did you mean "x"?)` or "", ready to append to a message.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& candidates);

// Called once, with the message, when an assertion fails, before the process aborts: the job uses
// it to take the other nodes down. The default prints and does nothing else.
void set_fatal_hook(std::function<void(const std::string&)> hook);

// Says which node and core the failing code runs for, e.g. "node 2 core 1". Set by the scheduler at
// every switch. `text` must outlive its use.
void set_fatal_place(const char* text) noexcept;

namespace detail {

// A value as the assertion macros print it.
[[nodiscard]] inline std::string shown(std::string_view v) {
  return std::string(v);
}
template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T>
[[nodiscard]] std::string shown(T v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<std::int64_t>(v));
  } else {
    return std::to_string(v);
  }
}

[[noreturn]] void fail_assertion(const char* kind, const char* condition, const char* file,
                                 int line, const std::string* values, std::size_t n) noexcept;

template <class... T>
[[noreturn, gnu::cold, gnu::noinline]] void fail_with(const char* kind, const char* condition,
                                                      const char* file, int line,
                                                      const T&... values) noexcept {
  const std::array<std::string, sizeof...(T)> texts{shown(values)...};
  fail_assertion(kind, condition, file, line, texts.data(), texts.size());
}

}  // namespace detail
}  // namespace rubato

// A precondition of a public function: RUBATO_REQUIRE(k <= m + 1, k, m).
#define RUBATO_REQUIRE(condition, ...)                                     \
  (static_cast<bool>(condition)                                            \
       ? static_cast<void>(0)                                              \
       : ::rubato::detail::fail_with("precondition", #condition, __FILE__, \
                                     __LINE__ __VA_OPT__(, ) __VA_ARGS__))
// An invariant of our own.
#define RUBATO_ASSERT(condition, ...)                                   \
  (static_cast<bool>(condition)                                         \
       ? static_cast<void>(0)                                           \
       : ::rubato::detail::fail_with("invariant", #condition, __FILE__, \
                                     __LINE__ __VA_OPT__(, ) __VA_ARGS__))
// The same in hot loops: checked builds only.
#ifdef NDEBUG
#define RUBATO_DASSERT(condition, ...) static_cast<void>(0)
#else
#define RUBATO_DASSERT(condition, ...) RUBATO_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#endif

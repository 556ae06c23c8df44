#pragma once
// What stands behind a file descriptor, for output meant for people.

namespace rubato::tools {

// True if `fd` is a terminal.
[[nodiscard]] bool is_terminal(int fd) noexcept;

// True if colour may be written to `fd`: a terminal, not a dumb one, and NO_COLOR unset or empty
// (https://no-color.org).
[[nodiscard]] bool wants_color(int fd) noexcept;

// Width of the terminal behind `fd` in columns; 80 where there is none.
[[nodiscard]] int terminal_columns(int fd) noexcept;

}  // namespace rubato::tools

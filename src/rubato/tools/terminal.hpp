#pragma once
// What stands behind a file descriptor, for output meant for people.

namespace rubato::tools {

// True if `fd` is a terminal.
[[nodiscard]] bool is_terminal(int fd) noexcept;

// True if colour may be written to `fd`: a terminal, not a dumb one, and NO_COLOR unset or empty
// (https://no-color.org).
[[nodiscard]] bool wants_color(int fd) noexcept;

// For a launcher whose nodes write to a terminal of their own (Open MPI gives them one) although
// ours is none: they get NO_COLOR.
void refuse_color_for_nodes() noexcept;

// Width of the terminal behind `fd` in columns; 80 where there is none.
[[nodiscard]] int terminal_columns(int fd) noexcept;

}  // namespace rubato::tools

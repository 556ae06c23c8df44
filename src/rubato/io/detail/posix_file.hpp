#pragma once
// What the files of this layer share below the C++ library: whole writes, causes as text, names of
// temporary files. Private to io.

#include <cstdint>
#include <string>
#include <string_view>

#include "rubato/base/error.hpp"

namespace rubato::io::detail {

// `writing out.csv: No space left on device`, from the current errno: ExitCode::failed if the disk is full
// or broken, else bad_input.
[[nodiscard]] Error system_error(std::string_view what, const std::string& path);

// Why `path` cannot be read; a path that does not exist gets the nearest name in its folder.
[[nodiscard]] Error open_error(const std::string& path);

// Writes all bytes at the file position, or throws. `path` is for the message.
void write_all(int fd, std::string_view bytes, const std::string& path);
// The same at `offset`.
void write_all_at(int fd, std::string_view bytes, std::uint64_t offset, const std::string& path);

// The file that `path` names once its links are followed.
[[nodiscard]] std::string resolve_links(const std::string& path);

// True if `path` exists and is neither a file nor a folder.
[[nodiscard]] bool is_special(const std::string& path) noexcept;

// A hidden name beside `target`: ".out.csv.<suffix>".
[[nodiscard]] std::string beside(const std::string& target, const std::string& suffix);

// Makes a rename in the folder of `target` durable.
void sync_folder_of(const std::string& target) noexcept;

struct Rename {
  std::string temporary;
  std::string target;
  std::string shown;  // the name for messages
  bool durable;
};

// Renames `temporary`, open as `fd`, over `target`. If durable, syncs the file before and the
// folder after: after a crash of the machine there is the old file or the whole new one. Closes
// `fd` in every case.
void commit_by_rename(int fd, const Rename& names);

}  // namespace rubato::io::detail

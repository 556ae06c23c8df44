#pragma once
// SourcePlace: a line of a program, taken where a function is called that has it as a default argument.
// What std::source_location is for, in 16 bytes and for clang 14 too. Places in scripts have columns.

#include <cstdint>
#include <string>

namespace rubato {

struct SourcePlace {
  const char* file = "";  // lives as long as the program
  int line = 0;
  int column = 0;  // 0: none

  [[nodiscard]] static constexpr SourcePlace here(const char* file = __builtin_FILE(),
                                                  int line = __builtin_LINE()) noexcept {
    return {file, line, 0};
  }
  // "file:line" or "file:line:column".
  [[nodiscard]] std::string text() const {
    const std::string text = std::string(file).append(":").append(std::to_string(line));
    return column == 0 ? text : text + ":" + std::to_string(column);
  }
};

namespace detail {
inline constexpr char kAnchor = 0;
}

// The same for another process that runs the same executable, where it may lie elsewhere in memory. Of
// places in the executable itself, not in a library that it loads.
class PortablePlace {
 public:
  PortablePlace() = default;
  explicit PortablePlace(SourcePlace place) noexcept
      : file_(address_of(place.file) - address_of(&detail::kAnchor)),
        line_(place.line),
        column_(place.column) {}
  [[nodiscard]] SourcePlace place() const noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it was one
    return {reinterpret_cast<const char*>(address_of(&detail::kAnchor) + file_), line_, column_};
  }
  bool operator==(const PortablePlace&) const = default;

 private:
  // As numbers: behind a pointer into the anchor a compiler may expect nothing but the anchor.
  [[nodiscard]] static std::intptr_t address_of(const char* at) noexcept {
    return reinterpret_cast<std::intptr_t>(at);
  }

  std::intptr_t file_ = 0;
  int line_ = 0;
  int column_ = 0;
};

}  // namespace rubato

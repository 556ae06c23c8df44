#pragma once
// SourcePlace: a line of a program, taken where a function is called that has it as a default argument.
// What std::source_location is for, in 16 bytes and for clang 14 too.

#include <bit>
#include <cstdint>
#include <string>

namespace rubato {

struct SourcePlace {
  const char* file = "";  // lives as long as the program
  int line = 0;

  [[nodiscard]] static constexpr SourcePlace here(const char* file = __builtin_FILE(),
                                                  int line = __builtin_LINE()) noexcept {
    return {file, line};
  }
  // "file:line".
  [[nodiscard]] std::string text() const {
    return std::string(file).append(":").append(std::to_string(line));
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
      : file_(address_of(place.file) - address_of(&detail::kAnchor)), line_(place.line) {}
  [[nodiscard]] SourcePlace place() const noexcept {
    return {std::bit_cast<const char*>(address_of(&detail::kAnchor) + file_), line_};
  }
  bool operator==(const PortablePlace&) const = default;

 private:
  // As numbers: a difference of pointers into two objects has no value that a compiler must keep.
  [[nodiscard]] static std::intptr_t address_of(const char* at) noexcept {
    return std::bit_cast<std::intptr_t>(at);
  }

  std::intptr_t file_ = 0;
  int line_ = 0;
};

}  // namespace rubato

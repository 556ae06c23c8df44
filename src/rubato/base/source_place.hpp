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
inline constexpr char kAnchor = 0;  // an empty text, too
}

// A text of the program, a literal, whose bytes mean the same in another process that runs the same
// executable, where it may lie elsewhere in memory. Of the executable itself, not of a library that
// it loads.
class PortableText {
 public:
  PortableText() = default;                   // empty
  PortableText(const char* literal) noexcept  // NOLINT(google-explicit-constructor): is one
      : offset_(address_of(literal) - address_of(&detail::kAnchor)) {}
  [[nodiscard]] const char* c_str() const noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it was one
    return reinterpret_cast<const char*>(address_of(&detail::kAnchor) + offset_);
  }
  [[nodiscard]] bool empty() const noexcept { return *c_str() == '\0'; }
  bool operator==(const PortableText&) const = default;  // the same literal

 private:
  // As numbers: behind a pointer into the anchor a compiler may expect nothing but the anchor.
  [[nodiscard]] static std::intptr_t address_of(const char* at) noexcept {
    return reinterpret_cast<std::intptr_t>(at);
  }

  std::intptr_t offset_ = 0;
};

// The same of a place.
class PortablePlace {
 public:
  PortablePlace() = default;
  explicit PortablePlace(SourcePlace place) noexcept
      : file_(place.file), line_(place.line), column_(place.column) {}
  [[nodiscard]] SourcePlace place() const noexcept { return {file_.c_str(), line_, column_}; }
  bool operator==(const PortablePlace&) const = default;

 private:
  PortableText file_;
  int line_ = 0;
  int column_ = 0;
};

}  // namespace rubato

#pragma once
// A bitmap font for labels in pictures: the printable ASCII characters, 5 pixels wide, capitals 7
// high, two rows more for what hangs below the line. Drawn for this project. Private to io.

#include <array>
#include <cstddef>
#include <cstdint>

namespace rubato::io::detail {

inline constexpr std::size_t kGlyphWidth = 5;
inline constexpr std::size_t kGlyphHeight = 9;
inline constexpr std::size_t kGlyphAdvance = 6;

// Rows from the top; bit 4 is the leftmost pixel.
using Glyph = std::array<std::uint8_t, kGlyphHeight>;

// Characters outside of ' ' .. '~' are shown as '?'.
[[nodiscard]] const Glyph& glyph_of(char c) noexcept;

}  // namespace rubato::io::detail

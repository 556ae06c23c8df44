#include "rubato/io/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace rubato::io {
namespace {

// std::from_chars reports underflow and overflow alike. An underflow has a well-defined nearest
// value, zero, so a column of tiny floats must not end a run. long double has room enough to tell
// them apart.
template <class T>
Result<T, NumberError> resolve_range(std::string_view text) {
  long double wide = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), wide);
  if (code != std::errc{} || std::fabs(wide) > 1) return Unexpected{NumberError::out_of_range};
  return static_cast<T>(wide);
}

}  // namespace

template <Number T>
void append_number(std::string& text, T value) {
  std::array<char, 32> buffer;
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  text.append(buffer.data(), end);
}

template <Number T>
Result<T, NumberError> parse_number(std::string_view text, bool allow_nonfinite) {
  // from_chars refuses a plus sign, which spreadsheets write; "+-1" stays malformed.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, value);
  if (code == std::errc::invalid_argument || end != last || text.empty()) {
    return Unexpected{NumberError::malformed};
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (code == std::errc::result_out_of_range) return resolve_range<T>(text);
    if (!allow_nonfinite && !std::isfinite(value)) return Unexpected{NumberError::not_finite};
  } else {
    if (code == std::errc::result_out_of_range) return Unexpected{NumberError::out_of_range};
  }
  return value;
}

template <Number T>
std::string expected_number() {
  if constexpr (std::is_floating_point_v<T>) {
    return "a number";
  } else {
    return "an integer from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
           std::to_string(std::numeric_limits<T>::max());
  }
}

#define RUBATO_INSTANTIATE(T)                                              \
  template void append_number<T>(std::string&, T);                         \
  template Result<T, NumberError> parse_number<T>(std::string_view, bool); \
  template std::string expected_number<T>();
RUBATO_INSTANTIATE(float)
RUBATO_INSTANTIATE(double)
RUBATO_INSTANTIATE(std::int32_t)
RUBATO_INSTANTIATE(std::int64_t)
RUBATO_INSTANTIATE(std::uint8_t)
RUBATO_INSTANTIATE(std::uint16_t)
RUBATO_INSTANTIATE(std::uint32_t)
RUBATO_INSTANTIATE(std::uint64_t)
#undef RUBATO_INSTANTIATE

std::string shown(std::string_view text) {
  constexpr std::size_t kShownMax = 48;
  constexpr const char* kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, kShownMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + (text.size() > kShownMax ? "...\"" : "\"");
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return text.substr(0, 0);
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace rubato::io

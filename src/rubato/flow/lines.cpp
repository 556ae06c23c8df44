#include "rubato/flow/lines.hpp"

#include <algorithm>
#include <string_view>

namespace rubato::flow {

namespace {

bool steers(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

}  // namespace

std::string printable(std::string text) {
  if (std::ranges::none_of(text, steers)) return text;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string all;
  all.reserve(text.size());
  for (const char c : text) {
    if (steers(c)) {
      const auto byte = static_cast<unsigned char>(c);
      all.append("\\x").append({kDigits[byte / 16], kDigits[byte % 16]});
    } else {
      all += c;
    }
  }
  return all;
}

void say_line(core::CoreContext& here, std::FILE* to, std::string line) {
  line += '\n';
  if (LineSink* const sink = here.local_or_make<LinePlace>().sink) return sink->say(to, line);
  // In one piece, so that lines of several cores are not mixed.
  std::fwrite(line.data(), 1, line.size(), to);
  std::fflush(to);
}

}  // namespace rubato::flow

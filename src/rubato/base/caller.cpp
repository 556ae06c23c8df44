#include "rubato/base/caller.hpp"

// What reads the code with other headers than the compiler's finds none.
#if defined(RUBATO_HAS_BACKTRACE) && __has_include(<backtrace.h>)
#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <thread>

#include <backtrace.h>
#endif

namespace rubato {
#if defined(RUBATO_HAS_BACKTRACE) && __has_include(<backtrace.h>)
namespace {

// Of the library: its sources and headers, but not its tests, which call it as users do.
bool is_inside(std::string_view file) {
  static constexpr std::array kInside{"/rubato/base/", "/rubato/io/",      "/rubato/net/",
                                      "/rubato/core/", "/rubato/observe/", "/rubato/flow/",
                                      "/rubato/tick/", "/rubato/global/",  "/include/c++/"};
  if (file.find("_test.") != std::string_view::npos) return false;
  return std::ranges::any_of(
      kInside, [&](const char* part) { return file.find(part) != std::string_view::npos; });
}

struct Frames {
  std::array<std::uintptr_t, 64> calls{};
  std::size_t n = 0;
};

void ignore(void* /*data*/, const char* /*what*/, int /*error*/) {}

int note(void* data, std::uintptr_t call) {
  auto& frames = *static_cast<Frames*>(data);
  frames.calls[frames.n++] = call;
  return frames.n == frames.calls.size() ? 1 : 0;
}

// Of a call and what is inlined there, the innermost first.
int look(void* data, std::uintptr_t /*call*/, const char* file, int line,
         const char* /*function*/) {
  if (file == nullptr || is_inside(file)) return 0;
  *static_cast<std::string*>(data) = std::string(file) + ":" + std::to_string(line);
  return 1;
}

}  // namespace

std::string user_caller() {
  // It is never freed: libbacktrace keeps what it has read.
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, ignore, nullptr);
  if (state == nullptr) return "";
  Frames frames;
  backtrace_simple(state, 1, note, ignore, &frames);
  std::string found;
  // Debug information is read with more stack than a small task has left.
  std::thread([&] {
    for (std::size_t i = 0; i < frames.n && found.empty(); ++i)
      backtrace_pcinfo(state, frames.calls[i], look, ignore, &found);
  }).join();
  return found;
}
#else
std::string user_caller() {
  return "";
}
#endif

}  // namespace rubato

#include "rubato/base/caller.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#ifdef RUBATO_HAS_BACKTRACE
#include <backtrace.h>
#endif

namespace rubato {
#ifdef RUBATO_HAS_BACKTRACE
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

}  // namespace

std::string user_caller() {
  // It is never freed: libbacktrace keeps what it has read.
  static backtrace_state* const state = backtrace_create_state(
      nullptr, 1, [](void*, const char*, int) {}, nullptr);
  if (state == nullptr) return "";
  std::string found;
  // Ends the walk at the first frame of a user, before the end of a task's stack.
  const auto look = [](void* data, std::uintptr_t, const char* file, int line, const char*) {
    if (file == nullptr || is_inside(file)) return 0;
    *static_cast<std::string*>(data) = std::string(file) + ":" + std::to_string(line);
    return 1;
  };
  backtrace_full(
      state, 1, look, [](void*, const char*, int) {}, &found);
  return found;
}
#else
std::string user_caller() {
  return "";
}
#endif

}  // namespace rubato

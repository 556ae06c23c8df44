#include "rubato/flow/loop.hpp"

#include <algorithm>

namespace rubato::flow::detail {
namespace {

constexpr std::uint64_t kGrainMost = 256;
constexpr std::uint64_t kTasksACore = 16;

}  // namespace

std::uint64_t grain_for(std::uint64_t n, std::uint64_t n_cores, std::uint32_t asked) {
  if (asked != 0) return asked;
  return std::clamp<std::uint64_t>(n / (n_cores * kTasksACore), 1, kGrainMost);
}

void BodyFailures::note(const Value& key, const char* what) {
  std::string text = rule_.text() + ", iteration " + key_text(key) + ": " + what;
  if (!first_.is_failed()) first_ = Value::failed(text);
  flow_.note_failed_body(std::move(text));
}

void BodyFailures::settle() {
  if (first_.is_failed()) flow_.give_back(rule_, &first_);
}

}  // namespace rubato::flow::detail

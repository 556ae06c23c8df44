#include "rubato/base/error.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>

#include "rubato/base/signal_text.hpp"

namespace rubato {
namespace {

std::mutex& hook_mutex() {
  static std::mutex m;
  return m;
}
std::function<void(const std::string&)>& hook() {
  static std::function<void(const std::string&)> h;
  return h;
}
thread_local const char* place = nullptr;

// Edit distance in which swapped neighbours count once (optimal string alignment), with three rows;
// words here are short.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string detail::without_zeros(const std::string& text) {
  std::string all = text;
  for (std::size_t at = all.find('\0'); at != std::string::npos; at = all.find('\0', at))
    all.replace(at, 1, "\\x00");
  return all;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  // A third of the letters may differ: farther words confuse more than they help.
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string word_near = nearest(word, candidates);
  return word_near.empty() ? "" : " (did you mean \"" + word_near + "\"?)";
}

void set_fatal_hook(std::function<void(const std::string&)> new_hook) {
  const std::lock_guard lock(hook_mutex());
  hook() = std::move(new_hook);
}

void set_fatal_place(const char* text) noexcept {
  place = text;
}

void SignalText::add_fatal_place() noexcept {
  if (place != nullptr) add(", ").add(place);
}

namespace detail {

void fail_assertion(const char* kind, const char* condition, const char* file, int line,
                    const std::string* values, std::size_t n) noexcept {
  static std::atomic<bool> failing{false};
  std::string message = std::string("broken ") + kind + ": " + condition;
  for (std::size_t i = 0; i < n; ++i)
    message += (i == 0 ? " [" : ", ") + values[i];
  if (n != 0) message += "]";
  message += std::string(" at ") + file + ":" + std::to_string(line);
  if (place != nullptr) message += std::string(", ") + place;
  // A hook that fails itself must not come back here.
  if (!failing.exchange(true)) {
    const std::lock_guard lock(hook_mutex());
    if (hook()) {
      hook()(message);
      std::abort();
    }
  }
  std::fprintf(stderr, "rubato: %s\n", message.c_str());
  std::abort();
}

}  // namespace detail
}  // namespace rubato

#include "rubato/core/watchdog.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace rubato::core {
namespace {

// Beside cores that have work, so many times the age: something goes on, and what takes long may be
// meant to. But cores that wait by asking again and again have work, too.
constexpr Nanos kPatience = 8;
constexpr std::size_t kKindsMost = 256;

double seconds(Nanos age) noexcept {
  return static_cast<double>(age) / kSecond;
}

void double_beyond(Nanos& next_age, Nanos age) noexcept {
  while (next_age <= age)
    next_age *= 2;
}

}  // namespace

std::string Watchdog::look(std::uint32_t core, Nanos since, const Work& work, Nanos now,
                           const Engine& engine) {
  Core& known = cores_[core];
  if (known.since != since) known = {since, busy_after_};
  if (since == kNever || now - since < known.next_age) return "";
  const Nanos age = now - since;
  double_beyond(known.next_age, age);
  return fmt::format("core {} is busy with {} for {:.1f} s", core, engine.work_name(work),
                     seconds(age));
}

std::vector<std::string> Watchdog::look_beside(Nanos now, bool cores_work, const Engine& engine) {
  struct Kind {
    Nanos since = kNever;  // the oldest
    std::size_t n = 0;
  };
  std::map<std::string, Kind> kinds;
  for (const WorkBeside& work : engine.work_beside(now - busy_after_)) {
    Kind& kind = kinds[work.name];
    kind.since = std::min(kind.since, work.since);
    ++kind.n;
  }
  std::vector<std::string> lines;
  for (const auto& [name, kind] : kinds) {
    const Nanos age = now - kind.since;
    Nanos& next_age = next_age_of(name);
    if (age < (cores_work ? kPatience * next_age : next_age)) continue;
    double_beyond(next_age, age);
    const std::string of_kind = kind.n == 1 ? "" : fmt::format(", the oldest of {},", kind.n);
    lines.push_back(fmt::format(
        "{} has run for {:.1f} s{} {}", name, seconds(age), of_kind,
        cores_work ? "beside cores that work" : "while all cores of the node are idle"));
  }
  return lines;
}

Nanos& Watchdog::next_age_of(const std::string& kind) {
  const bool is_kept = next_ages_.size() < kKindsMost || next_ages_.contains(kind);
  return next_ages_.try_emplace(is_kept ? kind : "", busy_after_).first->second;
}

}  // namespace rubato::core

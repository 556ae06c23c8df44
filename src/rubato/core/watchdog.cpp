#include "rubato/core/watchdog.hpp"

#include <fmt/format.h>

namespace rubato::core {

std::string Watchdog::look(std::uint32_t core, Nanos since, const Work& work, Nanos now,
                           const Engine& engine) {
  Core& known = cores_[core];
  if (known.since != since) known = {since, busy_after_};
  if (since == kNever || now - since < known.next_age) return "";
  const Nanos age = now - since;
  while (known.next_age <= age)
    known.next_age *= 2;
  return fmt::format("core {} is busy with {} for {:.1f} s", core, engine.work_name(work),
                     static_cast<double>(age) / kSecond);
}

}  // namespace rubato::core

#include "rubato/base/time.hpp"

#include <ctime>

namespace rubato {

Nanos steady_now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Nanos{t.tv_sec} * kSecond + t.tv_nsec;
}

void nap(Nanos duration) noexcept {
  timespec t{};
  t.tv_sec = duration / kSecond;
  t.tv_nsec = duration % kSecond;
  nanosleep(&t, nullptr);
}

}  // namespace rubato

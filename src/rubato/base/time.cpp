#include "rubato/base/time.hpp"

#include <ctime>
#include <fstream>

#include <sys/stat.h>

namespace rubato {

Nanos steady_now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Nanos{t.tv_sec} * kSecond + t.tv_nsec;
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string clock_name() {
  std::string boot = boot_id();
  struct stat space {};  // may shift the clock
  if (boot.empty() || ::stat("/proc/self/ns/time", &space) != 0) return boot;
  return boot + " " + std::to_string(space.st_ino);
}

void nap(Nanos duration) noexcept {
  timespec t{};
  t.tv_sec = duration / kSecond;
  t.tv_nsec = duration % kSecond;
  nanosleep(&t, nullptr);
}

}  // namespace rubato

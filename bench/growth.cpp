#include "bench/growth.hpp"

#include <fstream>
#include <string>

#include "rubato/base/error.hpp"

namespace rubato::bench {
namespace {

// Of this process, in KiB; `VmHWM` since it was asked to forget.
double status_kib(const std::string& name) {
  std::ifstream file("/proc/self/status");
  std::string word;
  double kib = 0;
  while (file >> word) {
    if (word == name + ":" && file >> kib) return kib;
  }
  throw Error("no " + name + " in /proc/self/status", ExitCode::failed);
}

}  // namespace

Growth::Growth() : kib_before_(status_kib("VmRSS")) {
  std::ofstream("/proc/self/clear_refs") << "5";
}

double Growth::mib() const {
  return (status_kib("VmHWM") - kib_before_) / 1024;
}

}  // namespace rubato::bench

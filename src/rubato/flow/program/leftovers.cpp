#include "rubato/flow/program/leftovers.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <functional>
#include <vector>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rubato/base/time.hpp"

namespace rubato::flow {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMachineDigits = 8;

// "" if the machine does not say when it was started: then nobody's files are ours to remove.
std::string machine_text() {
  const std::string start = boot_id();
  struct stat space {};
  if (start.empty() || ::stat("/proc/self/ns/pid", &space) != 0) return "";
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return start + " " + host.data() + " " + std::to_string(space.st_ino);
}

struct Machine {
  std::string digits = std::string(kMachineDigits, '0');
  bool is_known = false;

  Machine() {
    const std::string text = machine_text();
    is_known = !text.empty();
    std::uint64_t hash = std::hash<std::string>()(text);
    for (std::size_t i = 0; is_known && i < kMachineDigits; ++i, hash >>= 4U)
      digits[i] = "0123456789abcdef"[hash & 15U];
  }
};

const Machine& machine() {
  static const Machine ours;
  return ours;
}

bool is_gone(pid_t process) {
  return ::kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace

const std::string& process_mark() {
  static const std::string mark = std::to_string(::getpid()) + "-" + machine().digits;
  return mark;
}

bool is_leftover(std::string_view name, std::string_view tag) {
  const std::size_t at = name.rfind(tag);
  if (at == std::string_view::npos || !machine().is_known) return false;
  const std::string_view mark = name.substr(at + tag.size());
  pid_t process = 0;
  const auto [end, error] = std::from_chars(mark.data(), mark.data() + mark.size(), process);
  if (error != std::errc() || process <= 0) return false;
  const std::string_view rest = mark.substr(static_cast<std::size_t>(end - mark.data()));
  return rest.starts_with("-" + machine().digits + "-") && is_gone(process);
}

void remove_leftovers(const fs::path& folder, std::string_view tag) {
  std::error_code ignored;
  std::vector<fs::path> found;
  fs::directory_iterator entries(folder.empty() ? "." : folder, ignored);
  for (; entries != fs::directory_iterator(); entries.increment(ignored)) {
    if (is_leftover(entries->path().filename().string(), tag)) found.push_back(entries->path());
  }
  for (const fs::path& path : found)
    fs::remove_all(path, ignored);
}

}  // namespace rubato::flow

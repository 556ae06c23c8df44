#include "rubato/flow/program/detail/process_tree.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "rubato/flow/program/detail/descriptor.hpp"

namespace rubato::flow::program_detail {
namespace {

struct Process {
  pid_t number = 0;
  pid_t parent = 0;
  pid_t group = 0;
  std::uint64_t began = 0;  // ticks since the machine's start
  bool lives = false;       // it is no zombie
};

// Of /proc/`name`/stat; nothing if there is no such process any more.
std::optional<Process> process_of(const std::string& name) {
  std::array<char, 1024> text{};
  const Descriptor file(::open(("/proc/" + name + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return {};
  const ssize_t n = ::read(file.get(), text.data(), text.size() - 1);
  if (n <= 0) return {};
  // pid (name) state parent group ...: the name may hold anything, a ')' too.
  const std::string_view all(text.data(), static_cast<std::size_t>(n));
  const std::size_t close = all.rfind(')');
  if (close == std::string_view::npos || close + 4 >= all.size()) return {};
  const char state = all[close + 2];
  // From the parent, the 4th word of the line, to when it began, the 22nd.
  std::array<std::uint64_t, 19> words{};
  char* next = text.data() + close + 3;
  for (std::uint64_t& word : words)
    word = std::strtoull(next, &next, 10);
  Process process;
  process.number = static_cast<pid_t>(std::strtol(text.data(), nullptr, 10));
  process.parent = static_cast<pid_t>(words[0]);
  process.group = static_cast<pid_t>(words[1]);
  process.began = words.back();
  process.lives = state != 'Z' && state != 'X';
  return process;
}

// Calls f(process) for each until it says that it has seen enough.
template <class F>
void for_each_process(F f) {
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return;
  while (const dirent* entry = ::readdir(processes)) {  // NOLINT(concurrency-mt-unsafe)
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const std::optional<Process> process = process_of(entry->d_name);
    if (process && f(*process)) break;
  }
  ::closedir(processes);
}

}  // namespace

bool group_lives(pid_t group) {
  bool lives = false;
  for_each_process([&](const Process& process) {
    lives = process.lives && process.group == group;
    return lives;
  });
  return lives;
}

void Strays::look() {
  std::multimap<pid_t, Process> of_parent;
  for_each_process([&](const Process& process) {
    of_parent.emplace(process.parent, process);
    return false;
  });
  std::set<pid_t> seen{program_};
  std::vector<pid_t> to_look_at{program_};
  for (const Known& known : known_) {
    if (!lives(known)) continue;
    seen.insert(known.process);
    to_look_at.push_back(known.process);
  }
  while (!to_look_at.empty()) {
    const auto [first, last] = of_parent.equal_range(to_look_at.back());
    to_look_at.pop_back();
    for (auto at = first; at != last; ++at) {
      const Process& child = at->second;
      if (!seen.insert(child.number).second) continue;
      to_look_at.push_back(child.number);
      if (child.group != program_ && child.lives) known_.push_back({child.number, child.began});
    }
  }
}

void Strays::send(int signal) const {
  for (const Known& known : known_) {
    if (lives(known)) ::kill(known.process, signal);
  }
}

bool Strays::live() const {
  return std::ranges::any_of(known_, &Strays::lives);
}

bool Strays::lives(const Known& known) {
  const std::optional<Process> now = process_of(std::to_string(known.process));
  return now && now->lives && now->began == known.began;
}

}  // namespace rubato::flow::program_detail

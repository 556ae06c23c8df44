#include "rubato/tools/launch/hosts.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "rubato/base/error.hpp"
#include "rubato/base/time.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::tools {
namespace {

std::optional<std::uint32_t> positive_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

Host parse_host(std::string first, const std::string& second) {
  std::string slots = "1";
  const std::size_t colon = first.find(':');
  if (colon != std::string::npos) {
    slots = first.substr(colon + 1);
    first.resize(colon);
  }
  if (!second.empty()) {
    if (second.rfind("slots=", 0) != 0) {
      throw Error("expected slots=N behind the host, found \"" + second + "\"");
    }
    slots = second.substr(6);
  }
  const auto n_slots = positive_number(slots);
  if (!n_slots) throw Error("expected a positive number of slots, found \"" + slots + "\"");
  return {.name = std::move(first), .n_slots = *n_slots};
}

// Why each name has no address, "" of those that have one. By processes: the C library's own way to ask for
// many names at once, getaddrinfo_a, does not survive a caller who waits no longer.
std::vector<std::string> address_failures(const std::vector<std::string>& names) {
  constexpr Nanos kMost = 4 * kSecond;
  constexpr int kUnknown = 2;  // of getent
  std::vector<std::vector<std::string>> calls;
  calls.reserve(names.size());
  for (const std::string& name : names)
    calls.push_back({"getent", "ahosts", "--", name});
  std::vector<std::string> failures;
  for (const int code : codes_of(calls, kMost)) {
    failures.push_back(code == 0          ? ""
                       : code == kUnknown ? "no such name"
                                          : fmt::format("no answer within {} s", kMost / kSecond));
  }
  return failures;
}

// The name that ssh's configuration has for a host, which may be an alias.
std::string name_for_ssh(const std::string& name) {
  std::istringstream lines(name.starts_with("-") ? "" : output_of({"ssh", "-G", name}));
  for (std::string key, value; lines >> key && std::getline(lines >> std::ws, value);) {
    if (key == "hostname") return value;
  }
  return name;
}

}  // namespace

std::vector<Host> read_hostfile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error("cannot read the hostfile " + path + ": Is a directory");
  }
  std::ifstream file(path);
  if (!file) throw Error("cannot read the hostfile " + path);
  std::vector<Host> hosts;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    std::string slots;
    std::string rest;
    if (!(words >> name)) continue;
    words >> slots >> rest;
    const std::string place = path + ":" + std::to_string(number);
    if (!rest.empty()) {
      throw Error(fmt::format("{}: expected HOST [slots=N], found \"{}\"", place, line));
    }
    try {
      Host host = parse_host(name, slots);
      host.place = place;
      const auto old = std::find_if(hosts.begin(), hosts.end(),
                                    [&](const Host& other) { return other.name == host.name; });
      old == hosts.end() ? hosts.push_back(host) : void(old->n_slots += host.n_slots);
    } catch (const Error& error) {
      throw error.in(place);
    }
  }
  if (hosts.empty()) throw Error(path + ": expected a line HOST [slots=N], found none");
  return hosts;
}

void check_hosts(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const Host& host : hosts)
    names.push_back(host.name);
  if (find_program("getent").empty()) return;  // nothing is known of them
  const std::vector<std::string> failures = address_failures(names);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (failures[i].empty()) continue;
    const std::string alias = name_for_ssh(names[i]);
    if (alias != names[i] && address_failures({alias})[0].empty()) continue;
    throw Error(hosts[i].place + ": cannot find the host " + names[i] + ": " + failures[i]);
  }
}

std::vector<bool> hosts_that_answer(const std::vector<Host>& hosts) {
  constexpr Nanos kMost = 10 * kSecond;
  constexpr int kTries = 2;
  std::vector<bool> answers(hosts.size(), false);
  for (int i = 0; i < kTries; ++i) {
    std::vector<std::vector<std::string>> calls;
    std::vector<std::size_t> asked;
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      if (answers[host]) continue;
      asked.push_back(host);
      // By a connection of its own. After "--" a name that begins with "-" is none of ssh's options.
      calls.push_back({"ssh", "-x", "-n", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o",
                       "ControlPath=none", "--", hosts[host].name, "true"});
    }
    const std::vector<int> codes = codes_of(calls, kMost);
    for (std::size_t at = 0; at < codes.size(); ++at)
      answers[asked[at]] = codes[at] == 0;
  }
  return answers;
}

std::uint32_t nodes_for(std::uint32_t n_nodes, std::uint64_t n_slots, std::uint64_t n_slots_left) {
  const std::uint64_t in_proportion = n_nodes * n_slots_left / n_slots;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(n_nodes, std::max(n_slots_left, in_proportion)));
}

}  // namespace rubato::tools

#include "rubato/tools/launch/mpirun.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <netdb.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/base/time.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::tools {
namespace {

struct MpiTraits {
  MpiKind kind;
  const char* name;
  const char* launchers[2];  // Debian's name first, since both are called mpirun
  const char* banner;        // in the output of `mpirun --version`
  const char* packages;
};
constexpr MpiTraits kMpis[] = {
    {MpiKind::open_mpi, "openmpi", {"mpirun.openmpi", "mpirun"}, "Open MPI", "openmpi-bin"},
    {MpiKind::mpich, "mpich", {"mpirun.mpich", "mpirun"}, "HYDRA", "mpich"}};

// The launcher of an MPI, or "" if it is not installed.
std::string find_launcher(const MpiTraits& mpi) {
  std::string own = find_program(mpi.launchers[0]);
  if (!own.empty()) return own;
  std::string any = find_program(mpi.launchers[1]);
  if (any.empty() || output_of({any, "--version"}).find(mpi.banner) == std::string::npos) return "";
  return any;
}

bool in_container() {
  return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

// "a:2,b:1", which both launchers understand.
std::string host_list(const std::vector<Host>& hosts) {
  std::string list;
  for (const Host& host : hosts) {
    list.append(list.empty() ? "" : ",").append(host.name).append(":");
    list += std::to_string(host.n_slots);
  }
  return list;
}

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

// Names of hosts on their way to addresses, all at once; what has no answer in time is cancelled.
class Lookup {
 public:
  explicit Lookup(const std::vector<std::string>& names) : requests_(names.size()) {
    std::vector<gaicb*> list;
    for (std::size_t i = 0; i < names.size(); ++i) {
      requests_[i].ar_name = names[i].c_str();
      list.push_back(&requests_[i]);
    }
    if (list.empty()) return;
    const int size = static_cast<int>(list.size());
    if (getaddrinfo_a(GAI_NOWAIT, list.data(), size, nullptr) != 0) return;
    const Nanos begin = steady_now();
    while (any_waits() && steady_now() - begin < kLookupMost) {
      const timespec nap = {.tv_sec = 0, .tv_nsec = 100 * kMillisecond};
      gai_suspend(list.data(), size, &nap);
    }
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;
  ~Lookup() {
    for (gaicb& request : requests_) {
      // One that cannot be cancelled goes on to write to its request.
      while (gai_cancel(&request) == EAI_NOTCANCELED && gai_error(&request) == EAI_INPROGRESS) {
        const gaicb* one = &request;
        gai_suspend(&one, 1, nullptr);
      }
      if (request.ar_result != nullptr) freeaddrinfo(request.ar_result);
    }
  }

  // Why a name has no address, or "".
  [[nodiscard]] std::string failure(std::size_t i) {
    const int code = gai_error(&requests_[i]);
    if (code == 0) return "";
    return code == EAI_INPROGRESS
               ? "no answer within " + std::to_string(kLookupMost / kSecond) + " s"
               : gai_strerror(code);
  }

 private:
  static constexpr Nanos kLookupMost = 4 * kSecond;

  [[nodiscard]] bool any_waits() {
    return std::ranges::any_of(requests_, [](gaicb& r) { return gai_error(&r) == EAI_INPROGRESS; });
  }

  std::vector<gaicb> requests_;
};

// The name that ssh's configuration has for a host, which may be an alias.
std::string name_for_ssh(const std::string& name) {
  std::istringstream lines(name.starts_with("-") ? "" : output_of({"ssh", "-G", name}));
  for (std::string key, value; lines >> key && std::getline(lines >> std::ws, value);) {
    if (key == "hostname") return value;
  }
  return name;
}

std::vector<std::string> open_mpi_words(const JobPlan& plan) {
  std::vector<std::string> words = {plan.launcher, "-np", std::to_string(plan.n_nodes),
                                    // More nodes than cores are welcome; cores are pinned by the
                                    // program itself, and a waiting node must yield to the others.
                                    "--oversubscribe", "--bind-to", "none", "--mca",
                                    "mpi_yield_when_idle", "1"};
  if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
  if (in_container()) {
    // Containers forbid reading another process's memory, which Open MPI finds out by failing.
    words.insert(words.end(), {"--mca", "btl_vader_single_copy_mechanism", "none"});
  }
  if (!plan.hosts.empty()) words.insert(words.end(), {"--host", host_list(plan.hosts)});
  if (plan.hosts.empty() && find_program("ssh").empty()) {
    words.insert(words.end(), {"--mca", "plm", "isolated"});  // else it insists on an ssh
  }
  // Hydra hands over the whole environment; Open MPI must be asked for what other machines lack.
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (!variable.starts_with("RUBATO_") && !variable.starts_with("NO_COLOR=")) continue;
    words.insert(words.end(), {"-x", std::string(variable.substr(0, variable.find('=')))});
  }
  return words;
}

std::vector<std::string> mpich_words(const JobPlan& plan) {
  std::vector<std::string> words = {plan.launcher, "-np", std::to_string(plan.n_nodes), "-bind-to",
                                    "none"};
  if (!plan.hosts.empty()) words.insert(words.end(), {"-hosts", host_list(plan.hosts)});
  return words;
}

}  // namespace

void choose_mpi(std::string_view name, JobPlan& plan) {
  std::vector<std::string> names;
  std::string packages;
  for (const MpiTraits& mpi : kMpis) {
    names.emplace_back(mpi.name);
    if (!name.empty() && name != mpi.name) continue;
    packages.append(packages.empty() ? "" : " or ").append(mpi.packages);
    plan.launcher = find_launcher(mpi);
    plan.mpi = mpi.kind;
    if (!plan.launcher.empty()) return;
  }
  if (packages.empty()) {
    throw Error("unknown MPI \"" + std::string(name) + "\"" + did_you_mean(name, names) +
                    ", expected openmpi or mpich",
                ExitCode::usage);
  }
  throw Error("no MPI found: apt install " + packages, ExitCode::failed);
}

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
  Lookup lookup(names);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string why = lookup.failure(i);
    if (why.empty()) continue;
    const std::vector<std::string> alias{name_for_ssh(names[i])};
    if (alias[0] != names[i] && Lookup(alias).failure(0).empty()) continue;
    throw Error(hosts[i].place + ": cannot find the host " + names[i] + ": " + why);
  }
}

std::vector<std::string> mpirun_words(const JobPlan& plan) {
  std::vector<std::string> words =
      plan.mpi == MpiKind::open_mpi ? open_mpi_words(plan) : mpich_words(plan);
  words.insert(words.end(), plan.launcher_options.begin(), plan.launcher_options.end());
  words.insert(words.end(), plan.program.begin(), plan.program.end());
  return words;
}

}  // namespace rubato::tools

#include "rubato/tools/launch/mpirun.hpp"

#include <unistd.h>

#include "rubato/base/error.hpp"
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

std::vector<std::string> mpirun_words(const JobPlan& plan) {
  std::vector<std::string> words =
      plan.mpi == MpiKind::open_mpi ? open_mpi_words(plan) : mpich_words(plan);
  words.insert(words.end(), plan.launcher_options.begin(), plan.launcher_options.end());
  words.insert(words.end(), plan.program.begin(), plan.program.end());
  return words;
}

}  // namespace rubato::tools

#include "rubato/tools/doctor/probe.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/net/mpi.hpp"
#include "rubato/tools/proc_files.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::tools {
namespace {

std::string gib(double bytes) {
  return fmt::format("{:.1f} GiB", bytes / (1U << 30));
}

// Runs `attempt` in a child of its own, so that a namespace or a priority dies with it.
// Returns 0, or the errno of the failure.
int errno_of_attempt(const std::function<bool()>& attempt) {
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) _exit(attempt() ? 0 : errno & 0xff);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
}

Finding from_attempt(const std::string& name, const std::string& hint,
                     const std::function<bool()>& attempt) {
  const int error = errno_of_attempt(attempt);
  if (error == 0) return {name, Verdict::ok, "allowed", ""};
  return {name, Verdict::missing, std::strerror(error), hint};
}

Finding probe_mpi(const std::string& name, const std::string& launcher, const std::string& package,
                  net::Mpi mpi) {
  const std::string path = find_program(launcher);
  if (path.empty()) {
    return {name, Verdict::missing, "not installed",
            "apt install " + package + "  (only a job of several machines needs it)"};
  }
  std::istringstream text(output_of({path, "--version"}));
  std::string line;
  std::string version;
  while (std::getline(text, line) && version.empty()) {
    // "mpirun.openmpi (OpenRTE) 4.1.4", and in Hydra's details "    Version:      4.0.2".
    if (line.rfind("mpirun", 0) == 0 || line.find("Version:") != std::string::npos) {
      version = line.substr(line.find_last_of(" \t") + 1);
    }
  }
  const bool has_plugin = !net::find_mpi_plugin(mpi).empty();
  return {name, has_plugin ? Verdict::ok : Verdict::limited,
          (version.empty() ? "found" : version) + ", " + path +
              (has_plugin ? "" : ", but this build has no plugin for it"),
          has_plugin ? "" : "apt install " + package + ", then build again: ./rubato doctor"};
}

Finding probe_free_space(const std::string& name, const std::string& path, double bytes_wanted,
                         const std::string& hint) {
  struct statvfs stat {};
  if (statvfs(path.c_str(), &stat) != 0) {
    return {name, Verdict::missing, path + ": " + std::strerror(errno), hint};
  }
  const double free = static_cast<double>(stat.f_bavail) * static_cast<double>(stat.f_frsize);
  const bool enough = free >= bytes_wanted;
  return {name, enough ? Verdict::ok : Verdict::limited, gib(free) + " free in " + path,
          enough ? "" : hint};
}

}  // namespace

const char* to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::limited:
      return "limited";
    case Verdict::missing:
      return "missing";
  }
  return "?";
}

std::vector<Finding> probe_processors() {
  std::vector<Finding> findings;
  utsname system{};
  uname(&system);
  findings.push_back(
      {"system", Verdict::ok,
       fmt::format("{} {}, host {}", system.sysname, system.release, system.nodename), ""});
  const unsigned n_cores = std::max(1U, std::thread::hardware_concurrency());
  const long n_online = sysconf(_SC_NPROCESSORS_ONLN);
  findings.push_back(
      {"cores", Verdict::ok,
       fmt::format("{} online, {}", n_online, value_of("/proc/cpuinfo", "model name")), ""});
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const int n_allowed = known ? CPU_COUNT(&allowed) : static_cast<int>(n_cores);
  const bool all = n_allowed >= n_online;
  findings.push_back({"affinity", all ? Verdict::ok : Verdict::limited,
                      fmt::format("may run on {} of {} cores", n_allowed, n_online),
                      all ? "" : "a launcher or taskset has bound this shell"});
  std::istringstream quota(first_line("/sys/fs/cgroup/cpu.max"));
  double limit_us = 0;
  double period_us = 0;
  if (quota >> limit_us >> period_us && period_us > 0) {
    const double n_quota = limit_us / period_us;
    const bool enough = n_quota >= n_allowed;
    findings.push_back({"cpu-quota", enough ? Verdict::ok : Verdict::limited,
                        fmt::format("{:.1f} cores' worth of time", n_quota),
                        enough ? "" : "the container is throttled: use that many cores"});
  }
  return findings;
}

std::vector<Finding> probe_memory() {
  std::vector<Finding> findings;
  const double n_total = std::strtod(value_of("/proc/meminfo", "MemTotal").c_str(), nullptr) * 1024;
  const double n_free =
      std::strtod(value_of("/proc/meminfo", "MemAvailable").c_str(), nullptr) * 1024;
  findings.push_back({"memory", Verdict::ok, gib(n_free) + " available of " + gib(n_total), ""});
  const std::string limit = first_line("/sys/fs/cgroup/memory.max");
  if (!limit.empty() && limit != "max") {
    findings.push_back({"memory-limit", Verdict::ok,
                        gib(std::strtod(limit.c_str(), nullptr)) + " for this container", ""});
  }
  const std::string pages = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t open = pages.find('[');
  const std::size_t close = pages.find(']');
  const std::string chosen =
      close > open && close != std::string::npos ? pages.substr(open + 1, close - open - 1) : "";
  const bool huge = chosen == "always" || chosen == "madvise";
  findings.push_back({"huge-pages", huge ? Verdict::ok : Verdict::limited,
                      chosen.empty() ? "unknown" : "transparent: " + chosen,
                      huge ? ""
                           : "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled "
                             "(large states walk faster)"});
  const double n_maps = std::strtod(first_line("/proc/sys/vm/max_map_count").c_str(), nullptr);
  findings.push_back({"memory-maps", n_maps >= 65530 ? Verdict::ok : Verdict::limited,
                      fmt::format("{:.0f}", n_maps),
                      n_maps >= 65530 ? "" : "sysctl vm.max_map_count=65530 (tasks with stacks)"});
  return findings;
}

std::vector<Finding> probe_disk() {
  constexpr double kGiB = 1 << 30;
  char folder[4096];
  const std::string here = getcwd(folder, sizeof folder) != nullptr ? folder : ".";
  return {
      probe_free_space("disk", here, kGiB, "make room: outputs are written whole, then renamed"),
      probe_free_space("disk-temporary", "/tmp", kGiB / 4, "set TMPDIR to a larger file system"),
      probe_free_space("shared-memory", "/dev/shm", kGiB / 4,
                       "start the container with --shm-size=1g (MPI of one host uses it)")};
}

std::vector<Finding> probe_permissions() {
  std::vector<Finding> findings;
  const bool is_root = geteuid() == 0;
  findings.push_back(
      {"user", Verdict::ok, is_root ? "root" : fmt::format("uid {}", geteuid()), ""});
  const std::string lab = "'rubato lab' needs it: run as root, in a container with --privileged";
  findings.push_back(
      from_attempt("network-namespaces", lab, [] { return unshare(CLONE_NEWNET) == 0; }));
  findings.push_back(
      from_attempt("uts-namespaces", lab, [] { return unshare(CLONE_NEWUTS) == 0; }));
  findings.push_back(
      from_attempt("mount-namespaces", lab, [] { return unshare(CLONE_NEWNS) == 0; }));
  findings.push_back(from_attempt("tun-device", lab + " --device /dev/net/tun",
                                  [] { return open("/dev/net/tun", O_RDWR | O_CLOEXEC) >= 0; }));
  findings.push_back(from_attempt("real-time-priority",
                                  "the lab's delays are less exact without it (CAP_SYS_NICE)", [] {
                                    const sched_param parameter{.sched_priority = 1};
                                    return sched_setscheduler(0, SCHED_FIFO, &parameter) == 0;
                                  }));
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  findings.push_back({"open-files", files.rlim_cur >= 1024 ? Verdict::ok : Verdict::limited,
                      fmt::format("{} (at most {})", files.rlim_cur, files.rlim_max),
                      files.rlim_cur >= 1024 ? "" : "ulimit -n 4096"});
  return findings;
}

std::vector<Finding> probe_launchers() {
  std::vector<Finding> findings = {
      probe_mpi("open-mpi", "mpirun.openmpi", "openmpi-bin libopenmpi-dev", net::Mpi::openmpi),
      probe_mpi("mpich", "mpirun.mpich", "mpich libmpich-dev", net::Mpi::mpich)};
  const std::string srun = find_program("srun");
  findings.push_back({"slurm", Verdict::ok, srun.empty() ? "no srun (not a cluster)" : srun, ""});
  const std::string ssh = find_program("ssh");
  findings.push_back(
      {"ssh", ssh.empty() ? Verdict::limited : Verdict::ok, ssh.empty() ? "not installed" : ssh,
       ssh.empty() ? "apt install openssh-client  (mpirun starts other machines by it)" : ""});
  return findings;
}

std::vector<Finding> probe_machine() {
  std::vector<Finding> all;
  for (auto* probe :
       {probe_processors, probe_memory, probe_disk, probe_permissions, probe_launchers}) {
    std::vector<Finding> some = probe();
    all.insert(all.end(), std::make_move_iterator(some.begin()),
               std::make_move_iterator(some.end()));
  }
  return all;
}

}  // namespace rubato::tools

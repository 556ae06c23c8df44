// rubato lab: a jittery cluster on one machine. Makes the hosts (hosts.hpp), is the switch between
// them (switch.hpp), and runs a program on them under Open MPI, whose launcher goes from host to
// host by `rubato lab-rsh` instead of ssh.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/net/profile.hpp"
#include "rubato/tools/commands.hpp"
#include "rubato/tools/lab/hosts.hpp"
#include "rubato/tools/lab/pingpong.hpp"
#include "rubato/tools/lab/switch.hpp"
#include "rubato/tools/launch/mpirun.hpp"
#include "rubato/tools/launch/supervise.hpp"
#include "rubato/tools/process.hpp"
#include "rubato/tools/terminal.hpp"

namespace rubato::tools {
namespace {

constexpr const char* kPidVariable = "RUBATO_LAB_PID";

struct LabOptions {
  int n_hosts = 2;
  std::string profile = "none";
  std::vector<std::pair<std::string, std::vector<std::string>>> overrides;  // key, values
  std::uint64_t seed = 1;
  int mtu = 65000;
  bool no_real_time = false;
  bool bare = false;
  std::string pingpong;  // COUNT[:BYTES]
  bool quiet = false;
};

void set_value(net::Profile& profile, const std::string& key, const std::string& value) {
  try {
    net::set_profile_value(profile, key, value);
  } catch (const Error& error) {
    throw Error(std::string("--") + error.what(), ExitCode::usage);
  }
}

net::Profile profile_of(const LabOptions& options) {
  net::Profile profile = net::parse_profile(options.profile, "--profile");
  for (const auto& [key, values] : options.overrides) {
    for (const std::string& value : values)
      set_value(profile, key, value);
  }
  return profile;
}

// The Open MPI call that the README of this folder explains.
std::vector<std::string> words_in_lab(int n_hosts, const std::vector<std::string>& program) {
  const std::string self = own_path();
  if (self.find(' ') != std::string::npos) {
    throw Error("lab: Open MPI cannot start \"" + self + "\": its path has a space",
                ExitCode::failed);
  }
  JobPlan plan;
  choose_mpi("openmpi", plan);  // MPICH hangs at the end of every other run in the lab
  plan.n_nodes = static_cast<std::uint32_t>(n_hosts);
  for (int host = 1; host <= n_hosts; ++host) {
    plan.hosts.push_back({.name = "10.78.0." + std::to_string(host), .n_slots = 1});
  }
  plan.launcher_options = {"--map-by",
                           "node",
                           "--mca",
                           "plm",
                           "rsh",
                           "--mca",
                           "plm_rsh_agent",
                           self + " lab-rsh",
                           "--mca",
                           "pml",
                           "ob1",
                           "--mca",
                           "btl",
                           "tcp,self",
                           "--mca",
                           "btl_tcp_if_include",
                           "10.77.0.0/24",
                           "--mca",
                           "oob_tcp_if_include",
                           "10.78.0.0/24",
                           "--mca",
                           "orte_keep_fqdn_hostnames",
                           "1"};
  plan.program = {self, "guard", "--"};
  plan.program.insert(plan.program.end(), program.begin(), program.end());
  return mpirun_words(plan);
}

void print_round_trips(std::vector<Nanos> samples, int n_bytes, const Context& context) {
  std::sort(samples.begin(), samples.end());
  const auto ms = [&](double part) {
    const auto at = static_cast<std::size_t>(part * static_cast<double>(samples.size()));
    return static_cast<double>(samples[std::min(at, samples.size() - 1)]) * 1e-6;
  };
  nlohmann::ordered_json report = {{"bytes", n_bytes}, {"samples", samples.size()}};
  for (const auto& [name, part] : {std::pair{"min", 0.0},
                                   {"p50", .5},
                                   {"p90", .9},
                                   {"p99", .99},
                                   {"p99.9", .999},
                                   {"max", 1.0}}) {
    report["rtt_ms"][name] = ms(part);
  }
  if (context.json) {
    context.out << report.dump() << '\n';
    return;
  }
  context.out << fmt::format("round trips of {} bytes in ms, {} samples:", n_bytes, samples.size());
  for (const auto& [name, value] : report["rtt_ms"].items()) {
    context.out << fmt::format("  {} {:.3f}", name, value.get<double>());
  }
  context.out << '\n';
}

int pingpong(const lab::Hosts& hosts, const std::string& text, const Context& context) {
  int n_rounds = 0;
  int n_bytes = 16384;
  if (std::sscanf(text.c_str(), "%d:%d", &n_rounds, &n_bytes) < 1 || n_rounds < 1 || n_bytes < 1) {
    throw Error("--pingpong: expected COUNT[:BYTES], found \"" + text + "\"", ExitCode::usage);
  }
  print_round_trips(lab::measure_round_trips(hosts, n_rounds, n_bytes), n_bytes, context);
  return 0;
}

// What runs inside the lab, as a child of the switch. Returns the exit code.
int run_inside(const lab::Hosts& hosts, const LabOptions& options, const Context& context) {
  if (!options.pingpong.empty()) return pingpong(hosts, options.pingpong, context);
  hosts.enter(1);
  lab::refresh_sysfs();
  if (!options.bare) return supervise(words_in_lab(options.n_hosts, context.program)).result();
  execute(context.program);
  throw Error("cannot run " + context.program[0] + ": " + std::strerror(errno), ExitCode::usage);
}

pid_t start_inside(const lab::Hosts& hosts, const LabOptions& options, const Context& context,
                   const sigset_t& mask) {
  const pid_t child = fork();
  if (child < 0) throw Error(std::string("fork: ") + std::strerror(errno), ExitCode::failed);
  if (child > 0) return child;
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing outlives the lab
  int code = 0;
  try {
    code = run_inside(hosts, options, context);
  } catch (const Error& error) {
    context.err << "rubato: " << error.what() << '\n';
    code = static_cast<int>(error.code());
  }
  context.out.flush();
  context.err.flush();
  _exit(code);
}

ExitCode run_lab(const LabOptions& options, const Context& context) {
  refuse_color_for_nodes();
  const net::Profile profile = profile_of(options);
  if (options.pingpong.empty() && context.program.empty()) {
    throw Error("expected a program: rubato lab [options] -- PROGRAM [arguments]", ExitCode::usage);
  }
  const lab::Hosts hosts(options.n_hosts, options.mtu);
  lab::Switch network(hosts, {.profile = profile,
                              .seed = options.seed,
                              .mtu = options.mtu,
                              .real_time = !options.no_real_time});
  sigset_t set;
  sigset_t old;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP})
    sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, &old);
  const int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  setenv(kPidVariable, std::to_string(getpid()).c_str(), 1);
  context.out.flush();
  const pid_t child = start_inside(hosts, options, context, old);
  const int status = network.run(child, signals);
  if (!options.quiet) context.err << "rubato: lab: " << describe(network.figures()) << '\n';
  return static_cast<ExitCode>(exit_code_of(status));
}

// The words of an ssh-like call: [options] HOST [options] COMMAND...
struct RemoteCall {
  int host = 0;
  std::string command;
};

RemoteCall parse_remote_call(const std::vector<std::string>& words) {
  std::size_t at = 0;
  const auto skip_options = [&] {
    while (at < words.size() && words[at].size() > 1 && words[at][0] == '-') {
      constexpr std::string_view kWithValue = "lpoiFe";
      const bool has_value =
          words[at].size() == 2 && kWithValue.find(words[at][1]) != std::string_view::npos;
      at += has_value ? 2 : 1;
    }
  };
  skip_options();
  if (at >= words.size()) throw Error("lab-rsh: expected a host", ExitCode::usage);
  const std::string name = words[at++];
  RemoteCall call;
  // 10.78.0.3, host-3, user@host-3 or 3.
  call.host = std::atoi(name.substr(name.find_last_of(".-@") + 1).c_str());
  skip_options();
  for (; at < words.size(); ++at)
    call.command += (call.command.empty() ? "" : " ") + words[at];
  if (call.host < 1 || call.host > lab::kHostsMax || call.command.empty()) {
    throw Error("lab-rsh: expected HOST COMMAND, found \"" + name + " " + call.command + "\"",
                ExitCode::usage);
  }
  return call;
}

ExitCode run_remote(const Context& context) {
  const char* lab_pid = std::getenv(kPidVariable);
  if (lab_pid == nullptr) throw Error("lab-rsh: not inside a lab", ExitCode::usage);
  const RemoteCall call = parse_remote_call(context.program);
  lab::enter_host_of(std::atoi(lab_pid), call.host);
  lab::refresh_sysfs();
  // Like ssh: the words are joined and given to a shell.
  execute({"/bin/sh", "-c", call.command});
  throw Error(std::string("lab-rsh: /bin/sh: ") + std::strerror(errno), ExitCode::failed);
}

}  // namespace

void add_lab(CommandLine& line) {
  auto options = std::make_shared<LabOptions>();
  CLI::App& app =
      line.add({.name = "lab",
                .group = kClusterGroup,
                .summary = "Run a program on emulated hosts with a late network (needs root)",
                .examples = "  rubato lab -n 4 -p ec2-large -- ./my_model --ticks 1000\n"
                            "  rubato lab -n 4 -p ec2-large --stall 0:0:200:14 -- ./my_model\n"
                            "  rubato lab -p ec2-small --pingpong 2000\n"
                            "  rubato lab -n 2 -p const --bare -- hostname",
                .program = Program::optional,
                .run = [options](const Context& context) { return run_lab(*options, context); }});
  app.add_option("-n,--hosts", options->n_hosts, "Number of hosts, one node each")
      ->check(CLI::Range(2, lab::kHostsMax))
      ->capture_default_str();
  app.add_option("-p,--profile", options->profile,
                 "How late the network is: a name, trace:FILE or the file of a profile")
      ->capture_default_str();
  app.add_option("-s,--seed", options->seed, "The n-th packet of a link always has the same delay")
      ->capture_default_str();
  app.add_option("-m,--mtu", options->mtu, "Bytes of the longest packet")
      ->check(CLI::Range(1280, 65000))
      ->capture_default_str();
  app.add_flag("--no-rt", options->no_real_time, "The switch has no real-time priority");
  app.add_flag("--bare", options->bare, "Run the program itself on host 1, without Open MPI");
  app.add_option("--pingpong", options->pingpong,
                 "COUNT[:BYTES]: time TCP round trips between hosts 1 and 2 instead of a program");
  app.add_flag("-q,--quiet", options->quiet, "No line about the switch at the end");
  options->overrides.reserve(net::profile_keys().size());
  for (const std::string& key : net::profile_keys()) {
    if (key == "name") continue;
    auto& entry = options->overrides.emplace_back(key, std::vector<std::string>{});
    app.add_option("--" + key, entry.second, std::string(net::profile_key_meaning(key)))
        ->group("Changes of the profile")
        ->type_name("VALUE")
        ->allow_extra_args(false);
  }
}

void add_lab_rsh(CommandLine& line) {
  line.add({.name = "lab-rsh",
            .group = kClusterGroup,
            .summary = "Enter a host of the lab (used by lab)",
            .examples = "",
            .program = Program::all_words,
            .hidden = true,
            .run = run_remote});
}

}  // namespace rubato::tools

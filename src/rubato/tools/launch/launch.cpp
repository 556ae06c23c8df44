// rubato launch: a job of several nodes under Open MPI or MPICH.

#include <memory>
#include <numeric>
#include <ostream>

#include <CLI/CLI.hpp>

#include "rubato/base/shell.hpp"
#include "rubato/tools/commands.hpp"
#include "rubato/tools/launch/guard.hpp"
#include "rubato/tools/launch/hosts.hpp"
#include "rubato/tools/launch/mpirun.hpp"
#include "rubato/tools/launch/supervise.hpp"
#include "rubato/tools/process.hpp"
#include "rubato/tools/run/recording.hpp"
#include "rubato/tools/terminal.hpp"

namespace rubato::tools {
namespace {

struct LaunchOptions {
  std::uint32_t n_nodes = 0;
  std::string hostfile;
  std::string mpi;
  bool dry_run = false;
  std::uint32_t n_restarts = 0;
};

JobPlan plan_of(const LaunchOptions& options, const std::vector<std::string>& program) {
  JobPlan plan;
  if (!options.hostfile.empty()) plan.hosts = read_hostfile(options.hostfile);
  plan.n_nodes = options.n_nodes;
  if (plan.n_nodes == 0) {
    for (const Host& host : plan.hosts)
      plan.n_nodes += host.n_slots;
  }
  if (plan.n_nodes == 0) {
    throw Error("expected the number of nodes: -n N, or --hostfile FILE", ExitCode::usage);
  }
  choose_mpi(options.mpi, plan);
  plan.program = {own_path(), "guard", "--"};
  plan.program.insert(plan.program.end(), program.begin(), program.end());
  return plan;
}

// These words again, up to those of a node.
std::string launch_words(const LaunchOptions& options) {
  std::string words = "rubato launch";
  if (options.n_nodes > 0) words += " -n " + std::to_string(options.n_nodes);
  if (!options.hostfile.empty()) words += " --hostfile " + shell_word(options.hostfile);
  if (!options.mpi.empty()) words += " --mpi " + options.mpi;
  if (options.n_restarts > 0) words += " --restarts " + std::to_string(options.n_restarts);
  return words + " -- ";
}

// The machines of a job that starts again: those that ssh reached when it began, and does not reach any more,
// are left out. Of one that ssh does not reach at the beginning (there are other ways to start a node) nothing
// is known.
class Machines {
 public:
  Machines(const JobPlan& plan, bool starts_again) : hosts_(plan.hosts), n_nodes_(plan.n_nodes) {
    if (starts_again && hosts_.size() > 1) answered_ = hosts_that_answer(hosts_);
  }

  // For the next start. Where nobody is left all are tried.
  void leave_out_lost(JobPlan& plan, std::ostream& err) const {
    if (answered_.empty()) return;
    const std::vector<bool> answer = hosts_that_answer(hosts_);
    std::vector<Host> left;
    std::string lost;
    std::uint64_t n_slots = 0;
    std::uint64_t n_slots_left = 0;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      n_slots += hosts_[i].n_slots;
      if (answered_[i] && !answer[i]) {
        lost += (lost.empty() ? "" : ", ") + hosts_[i].name;
        continue;
      }
      left.push_back(hosts_[i]);
      n_slots_left += hosts_[i].n_slots;
    }
    plan.hosts = left.empty() ? hosts_ : left;
    plan.n_nodes = left.empty() ? n_nodes_ : nodes_for(n_nodes_, n_slots, n_slots_left);
    if (lost.empty()) return;
    err << "rubato: no answer from " << lost;
    if (left.empty()) {
      err << ", which are all hosts; trying them" << std::endl;
    } else {
      err << "; going on without, with " << plan.n_nodes << (plan.n_nodes == 1 ? " node" : " nodes")
          << std::endl;
    }
  }

 private:
  const std::vector<Host> hosts_;
  const std::uint32_t n_nodes_;
  std::vector<bool> answered_;
};

// A lost node ends the job; then it starts again, unless it was told to end, and goes on from the last
// checkpoint that it has written (run/resume.hpp), or from the beginning if there is none.
ExitCode supervise_with_restarts(const LaunchOptions& options, JobPlan plan,
                                 const Context& context) {
  // As words of the program, which a launcher takes to other machines too.
  const auto set_for_nodes = [&plan](const char* variable, const std::string& value) {
    plan.program.insert(plan.program.begin() + 3, {"env", std::string(variable) + "=" + value});
  };
  // All starts are recorded in one folder, and know each other's checkpoints by it.
  if (options.n_restarts > 0) set_for_nodes(kRunIdVariable, new_run_id());
  const std::string words = launch_words(options);
  const HeldSignals held;
  const Machines machines(plan, options.n_restarts > 0);
  for (std::uint32_t i = 1;; ++i) {
    const JobEnd end = supervise(mpirun_words(plan), words, i <= options.n_restarts);
    if (!end.lost_a_node() || end.told_to_end || i > options.n_restarts)
      return static_cast<ExitCode>(end.result());
    context.err << "rubato: " << end.error << "; starting the job again, " << i << " of "
                << options.n_restarts << " times" << std::endl;
    machines.leave_out_lost(plan, context.err);
    if (i == 1) set_for_nodes(kRestartVariable, "1");
  }
}

ExitCode launch(const LaunchOptions& options, const Context& context) {
  refuse_color_for_nodes();
  const JobPlan plan = plan_of(options, context.program);
  const std::vector<std::string> words = mpirun_words(plan);
  if (options.dry_run) {
    for (const std::string& word : words)
      context.out << word << (&word == &words.back() ? "\n" : " ");
    return ExitCode::ok;
  }
  if (find_program(context.program[0]).empty() && plan.hosts.empty()) {
    throw Error("cannot run " + context.program[0] + ": no such program", ExitCode::usage);
  }
  check_hosts(plan.hosts);
  return supervise_with_restarts(options, plan, context);
}

}  // namespace

void add_launch(CommandLine& line) {
  auto options = std::make_shared<LaunchOptions>();
  CLI::App& app = line.add(
      {.name = "launch",
       .group = kClusterGroup,
       .summary = "Run a program as a job of N nodes under Open MPI or MPICH",
       .examples =
           "  rubato launch -n 4 -- ./my_model --ticks 1000\n"
           "  rubato launch --hostfile hosts --mpi mpich -- ./my_model\n"
           "  rubato launch -n 2 --dry-run -- ./my_model\n"
           "  rubato launch -n 4 --restarts 3 -- ./my_model --checkpoint-every 10min\n"
           "A hostfile has a line `HOST slots=N` for each machine. Under Slurm, srun starts\n"
           "the program itself: srun -n 4 ./my_model",
       .program = Program::required,
       .run = [options](const Context& context) { return launch(*options, context); }});
  app.add_option("-n,--nodes", options->n_nodes,
                 "Number of nodes (processes); default: all slots of the hostfile")
      ->check(CLI::Range(1U, 1'000'000U));
  app.add_option("--hostfile", options->hostfile, "Machines to run on; default: this one");
  app.add_option("--mpi", options->mpi, "openmpi or mpich; default: the one that is installed");
  app.add_option(
         "--restarts", options->n_restarts,
         "When a node is lost, start the job again, so often at most, without hosts that ssh does "
         "not reach any more; a run with --checkpoint goes on from its last one")
      ->check(CLI::Range(0U, 1'000'000U));
  app.add_flag("--dry-run", options->dry_run, "Print the launcher's command instead of running it");
}

void add_guard(CommandLine& line) {
  line.add({.name = "guard",
            .group = kClusterGroup,
            .summary = "Run one node of a job (used by launch)",
            .examples = "",
            .program = Program::required,
            .hidden = true,
            .run = [](const Context& context) {
              return static_cast<ExitCode>(run_guarded(context.program));
            }});
}

}  // namespace rubato::tools

// rubato compare MODEL: all policies on one model, in the simulator or on real processes.

#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "rubato/net/profile.hpp"
#include "rubato/tools/build_info.hpp"
#include "rubato/tools/commands.hpp"
#include "rubato/tools/compare/comparison.hpp"
#include "rubato/tools/model_command.hpp"
#include "rubato/tools/process.hpp"
#include "rubato/tools/run/runner.hpp"
#include "rubato/tools/terminal.hpp"

namespace rubato::tools {
namespace {

struct CompareOptions {
  std::string policies = kDefaultPolicies;
  SystemWords system;  // but for its policy
  std::string profile;
  tick::Tick ticks = 0;
  std::uint32_t n_nodes = 16;
  std::uint32_t n_cores = 1;
  std::uint32_t n_rounds = 5;
  std::uint64_t seed = 1;
  std::string slowdown = "1";
  bool real = false;
  std::string mpi;
};

// The words that run one policy of one round as a job of real processes.
std::vector<std::string> job_words(const CompareOptions& options, const ChosenModel& model,
                                   bool single_model, const ChosenSystem& policy,
                                   std::uint64_t seed) {
  std::vector<std::string> words{own_path(), "launch", "-n", std::to_string(options.n_nodes)};
  if (!options.mpi.empty()) words.insert(words.end(), {"--mpi", options.mpi});
  words.insert(words.end(), {"--", own_path(), "run"});
  if (!single_model) words.push_back(model.app().name());
  for (const auto& [name, text] : model.settings()) {
    if (name != "seed") words.push_back(fmt::format("--{}={}", name, text));
  }
  words.insert(words.end(), {"--policy", policy.said, "--ticks", std::to_string(options.ticks),
                             "--seed", std::to_string(options.seed), "--cores",
                             std::to_string(options.n_cores), "--json"});
  const SystemWords& system = options.system;
  if (system.epoch) words.insert(words.end(), {"--epoch", std::to_string(*system.epoch)});
  if (!system.balance.empty()) words.insert(words.end(), {"--balance", system.balance});
  if (system.n_pieces) words.insert(words.end(), {"--pieces", std::to_string(*system.n_pieces)});
  if (!options.profile.empty()) {
    words.insert(words.end(), {"--profile", options.profile, "--net-seed", std::to_string(seed)});
  }
  return words;
}

Round run_job(const std::vector<std::string>& words) {
  const Finished finished = run_program(words);
  if (finished.code != 0) {
    throw Error("a run ended with exit code " + std::to_string(finished.code),
                static_cast<ExitCode>(finished.code));
  }
  try {
    const auto json = nlohmann::json::parse(finished.out);
    Round round;
    round.ticks = json.at("ticks");
    round.ticks_per_second = json.at("ticks_per_second");
    round.waiting_share = json.at("waiting_share");
    round.n_messages = json.at("messages");
    round.n_bytes = json.at("bytes");
    round.n_pieces = json.at("pieces");
    round.n_pieces_end = json.at("pieces_at_end");
    round.checksum = std::stoull(json.at("checksum").get<std::string>(), nullptr, 16);
    return round;
  } catch (const std::exception& error) {
    throw Error("expected a run's figures as JSON, found \"" + finished.out.substr(0, 200) +
                    "\": " + error.what(),
                ExitCode::failed);
  }
}

Comparison run_simulated(const CompareOptions& options, ChosenModel& model,
                         const std::vector<ChosenSystem>& policies, const Slowdowns& slowdowns,
                         std::ostream& err) {
  RunRequest request;
  request.ticks = options.ticks;
  request.seed = options.seed;
  request.profile = options.profile;
  request.n_simulated = options.n_nodes;
  request.n_sim_cores = options.n_cores;
  request.slowdowns = slowdowns;
  request.nodes_option = "--nodes";
  const std::unique_ptr<tick::Problem> problem = [&] {
    ProgressClock progress(err, is_terminal(STDERR_FILENO), model.app().name());
    progress.at(Progress::kUnknown, "reading");
    return model.app().build();
  }();
  return compare_simulated(*problem, policies, options.n_rounds, request, model.app().name(), err);
}

void print_json(const Comparison& comparison, const CompareOptions& options,
                const ChosenModel& model, const Context& context) {
  io::JsonWriter json;
  json.begin_object().field("model", model.app().name()).field("commit", commit());
  json.key("parameters").begin_object();
  for (const auto& [name, text] : model.settings())
    json.field(name, text);
  json.end_object()
      .field("simulated", !options.real)
      .field("n_nodes", options.n_nodes)
      .field("n_cores", options.n_cores)
      .field("seed", options.seed)
      .field("epoch", options.system.epoch.value_or(0))
      .field("profile", options.profile)
      .field("rounds", options.n_rounds)
      .field("equal", comparison.equal());
  json.key("policies");
  put_comparison(json, comparison);
  json.end_object();
  context.out << json.text() << '\n';
}

ExitCode run(CompareOptions options, ChosenModel& model, bool single_model,
             const Context& context) {
  const std::vector<ChosenSystem> policies = parse_policies(options.policies, options.system);
  if (!options.real && options.profile.empty()) options.profile = "ec2-large";
  if (!options.profile.empty()) (void)net::parse_profile(options.profile, "--profile");
  const Slowdowns slowdowns = Slowdowns::parse(options.slowdown);
  model.refuse_unread();
  if (options.real && slowdowns.any()) {
    throw Error("--slowdown is for virtual nodes, not for --real ones", ExitCode::usage);
  }
  if (model.has("seed")) model.set("seed", std::to_string(options.seed));
  Comparison comparison;
  if (options.real) {
    comparison = compare_blocking(
        policies, options.n_rounds, model.app().name(), context.err,
        [&](const ChosenSystem& policy, std::uint32_t round) {
          return run_job(job_words(options, model, single_model, policy, options.seed + round));
        });
  } else {
    comparison = run_simulated(options, model, policies, slowdowns, context.err);
  }
  if (context.json) {
    print_json(comparison, options, model, context);
  } else {
    const io::TableStyle style = io::style_of_terminal(STDOUT_FILENO);
    context.out << comparison_table(comparison).to_text(style);
    if (options.n_rounds > 1) {
      context.out << "\nticks/s of each round\n" << rounds_table(comparison).to_text(style);
    }
  }
  if (const std::string line = absorbed_line(comparison); !line.empty())
    context.err << line << "\n";
  context.err << fmt::format("{} on {} {}, {} ticks, {}: {}\n", model.app().name(), options.n_nodes,
                             options.real ? "processes" : "virtual nodes", options.ticks,
                             options.profile.empty() ? "none" : options.profile,
                             equality_line(comparison));
  return comparison.equal() ? ExitCode::ok : ExitCode::failed;
}

void add_options(CLI::App& parser, CompareOptions& options) {
  const auto add = [&](const char* names, auto& target, const char* help) {
    return parser.add_option(names, target, help)->type_name("")->group("Compare");
  };
  const auto at_least_1 = CLI::Range(1U, 1'000'000U).description("");
  add("--policies", options.policies,
      ("Separated by commas; gains are told over local, or the first: " + policy_help()).c_str())
      ->capture_default_str();
  add("--nodes,-n", options.n_nodes, "Virtual nodes, or processes")
      ->capture_default_str()
      ->check(at_least_1);
  add("--cores", options.n_cores, "Cores of each")->capture_default_str()->check(at_least_1);
  add("--rounds", options.n_rounds, "Each policy runs once a round, in this order")
      ->capture_default_str()
      ->check(at_least_1);
  add("--ticks", options.ticks, "Ticks of a run")
      ->capture_default_str()
      ->check(CLI::Range(tick::Tick{1}, tick::Tick{1} << 53).description(""));
  add("--profile", options.profile,
      "Latency: a name, key=value,.. or a file; default: ec2-large, with --real none");
  add("--seed", options.seed, "Of the model; round R has delays of seed + R")
      ->capture_default_str();
  add("--slowdown", options.slowdown, kSlowdownHelp)->capture_default_str();
  parser.add_flag("--real", options.real, "Processes under rubato launch, not the simulator")
      ->group("Compare");
  add("--mpi", options.mpi, "With --real: openmpi or mpich");
  add_system_options(parser, options.system);
}

}  // namespace

void add_compare(CommandLine& line) {
  const bool single = line.identity().single_model;
  add_model_command(
      line,
      {.command = {.name = "compare",
                   .group = kRunGroup,
                   .summary = "Compare the policies on a model, simulated or on processes",
                   .examples = "",
                   .run = {}},
       .prepare =
           [single](CLI::App& parser, const tick::App& app) {
             auto options = std::make_shared<CompareOptions>();
             options->ticks = app.default_ticks();
             add_options(parser, *options);
             return [options, single](ChosenModel& model, const Context& context) {
               return run(*options, model, single, context);
             };
           },
       .examples =
           [](const tick::App& app) {
             const std::string& name = app.name();
             return std::vector<std::string>{
                 name,
                 name + " --nodes 50 --policies \"local, k2m3d10, asytick-plb, auto\" --rounds 20",
                 name + " --real --nodes 4 --profile ec2-large --json"};
           }});
}

}  // namespace rubato::tools

#include "bench/bench_command.hpp"

#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "bench/harness.hpp"
#include "rubato/io/json.hpp"
#include "rubato/io/table.hpp"
#include "rubato/tools/progress.hpp"
#include "rubato/tools/terminal.hpp"

namespace rubato::bench {

Benchmark sim_vs_lab();
Benchmark tick_sim_16();
Benchmark tick_sim_fish();
Benchmark tick_scale();
Benchmark tick_fish();
Benchmark tick_nbody();
Benchmark yield();
Benchmark gups();
Benchmark gups_mpi();
Benchmark message_size();
Benchmark gather();
#ifdef RUBATO_HAS_ROBIN_MAP
Benchmark hash_map();
#endif
Benchmark spawn();
Benchmark uts();
Benchmark task_memory();
Benchmark messages();
Benchmark skew_nbody();
Benchmark skew_jitter();
Benchmark auto_grid();
Benchmark auto_models();
Benchmark tick_heat();
Benchmark checkpoint_cost();
Benchmark tick_lab_4();
Benchmark tick_nodes();
Benchmark tick_overhead();
Benchmark flow_noop();
Benchmark flow_chain();
Benchmark flow_workers();
Benchmark flow_range();
Benchmark flow_store();
Benchmark flow_app();
Benchmark flow_start();
Benchmark flow_scale();
Benchmark flow_script();

// A new benchmark is a file that defines its function, and one word in each of these two lists.
std::vector<Benchmark> benchmarks() {
  return {tick_sim_16(),     tick_sim_fish(), tick_lab_4(), sim_vs_lab(),   tick_heat(),
          tick_fish(),       tick_nbody(),    tick_nodes(), tick_scale(),   tick_overhead(),
          checkpoint_cost(), yield(),         gups(),       gups_mpi(),     gather(),
          messages(),        message_size(),  spawn(),      uts(),
#ifdef RUBATO_HAS_ROBIN_MAP
          hash_map(),
#endif
          task_memory(),     flow_noop(),     flow_chain(), flow_workers(), flow_range(),
          flow_store(),      flow_app(),      flow_scale(), flow_script(),  flow_start(),
          skew_nbody(),      skew_jitter(),   auto_grid(),  auto_models()};
}

namespace {

struct Chosen {
  std::string name;
  Options options;
  bool check = false;
};

ExitCode list_benchmarks(const std::vector<Benchmark>& all, const tools::Context& context) {
  if (context.json) {
    io::JsonWriter json;
    json.begin_array();
    for (const Benchmark& each : all)
      json.begin_object().field("name", each.name).field("question", each.question).end_object();
    json.end_array();
    context.out << json.text() << '\n';
    return ExitCode::ok;
  }
  io::Table table({{"benchmark"}, {"question"}});
  for (const Benchmark& each : all)
    table.row().text(each.name).text(each.question);
  context.out << table.to_text(io::style_of_terminal(STDOUT_FILENO));
  return ExitCode::ok;
}

ExitCode check_rows(const std::string& name, const Report& report, const tools::Context& context) {
  ExitCode code = ExitCode::ok;
  for (const Row& row : report.rows) {
    for (const std::string& missed : misses(row)) {
      context.err << "bench " << name << ": missed: " << missed << '\n';
      code = ExitCode::failed;
    }
  }
  return code;
}

ExitCode run_bench(const Chosen& chosen, const tools::Context& context) {
  const std::vector<Benchmark> all = benchmarks();
  if (chosen.name.empty()) return list_benchmarks(all, context);
  std::vector<std::string> names;
  for (const Benchmark& each : all) {
    names.push_back(each.name);
    if (each.name != chosen.name) continue;
    const Report report = [&] {
      tools::ProgressClock progress(context.err, tools::is_terminal(STDERR_FILENO),
                                    "bench " + each.name);
      Options options = chosen.options;
      options.progress = [&](double part, const std::string& note) { progress.at(part, note); };
      return each.run(options);
    }();
#ifndef NDEBUG
    context.err << "this build has checks and no optimisation: its figures say nothing "
                   "(CMAKE_BUILD_TYPE=Release)\n";
#endif
    if (context.json) {
      context.out << to_json(each.name, report, chosen.options) << '\n';
    } else {
      context.err << each.question << '\n';
      context.out << to_table(report, chosen.options);
      if (chosen.options.quick)
        context.err << "--quick shows that it works; the figures are those of a whole run\n";
    }
    return chosen.check ? check_rows(each.name, report, context) : ExitCode::ok;
  }
  throw Error("unknown benchmark \"" + chosen.name + "\"" + did_you_mean(chosen.name, names) +
                  "; `rubato bench` lists them",
              ExitCode::usage);
}

}  // namespace

void add_bench(tools::CommandLine& line) {
  auto chosen = std::make_shared<Chosen>();
  CLI::App& app = line.add(
      {.name = "bench",
       .group = tools::kMeasureGroup,
       .summary = "Measure the runtime against its baselines; alone, list the benchmarks",
       .examples = "  rubato bench\n"
                   "  rubato bench tick-heat --quick\n"
                   "  rubato bench tick-sim-16 --json\n"
                   "  rubato bench skew-jitter --check",
       .run = [chosen](const tools::Context& context) { return run_bench(*chosen, context); }});
  app.add_option("name", chosen->name, "Which benchmark");
  CLI::Option* quick =
      app.add_flag("--quick", chosen->options.quick, "Fewer and shorter rounds: under 40 s");
  app.add_flag("--check", chosen->check, "Fail if a row misses what it must reach")
      ->excludes(quick);
  app.add_option("--seed", chosen->options.seed, "Of delays and initial states")
      ->capture_default_str();
}

}  // namespace rubato::bench

// rubato costs MODEL: what a model's steps cost on this machine, for simulations.

#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>

#include "rubato/io/json.hpp"
#include "rubato/io/output_file.hpp"
#include "rubato/tools/build_info.hpp"
#include "rubato/tools/commands.hpp"
#include "rubato/tools/costs/record_costs.hpp"
#include "rubato/tools/model_command.hpp"

namespace rubato::tools {
namespace {

struct CostsOptions {
  CostSample sample;
  int n_runs = 5;
  std::string output;  // "": standard output
};

// The very model, as often as wanted.
tick::AppMaker maker_of(const CommandLine& line, const std::string& name) {
  for (const auto& make : line.identity().models) {
    if (make()->name() == name) return make;
  }
  throw Error("no model " + name, ExitCode::failed);
}

void print(const CostRecord& record, const CostsOptions& options, const Context& context) {
  const std::string text = heading_of_costs() + text_of(record);
  if (!options.output.empty()) {
    io::OutputFile file(options.output);
    file.write(text);
    file.commit();
    context.err << "costs    " << options.output << '\n';
  }
  if (context.json) {
    io::JsonWriter json;
    json.begin_object()
        .field("commit", commit())
        .field("n_steps", record.n_steps)
        .field("seconds", record.seconds)
        .field("explained", record.explained);
    json.key("costs").begin_array();
    for (const RecordedCost& cost : record.costs) {
      json.begin_object()
          .field("model", cost.model)
          .field("parameter", cost.parameter)
          .field("ns", cost.ns)
          .end_object();
    }
    json.end_array().end_object();
    context.out << json.text() << '\n';
  } else if (options.output.empty()) {
    context.out << text;
  }
}

}  // namespace

void add_costs(CommandLine& line) {
  const auto prepare = [&line](CLI::App& parser, const tick::App& model) {
    auto options = std::make_shared<CostsOptions>();
    const auto add = [&](const char* name, auto& target, const char* help) {
      return parser.add_option(name, target, help)
          ->type_name("")
          ->capture_default_str()
          ->group("Costs");
    };
    const auto range = [](int low, int high) { return CLI::Range(low, high).description(""); };
    add("--ticks", options->sample.ticks, "Of each run; the first quarter is not counted")
        ->check(range(2, 1'000'000));
    add("--runs", options->n_runs, "Of which each step has its median time")->check(range(1, 1000));
    options->sample.n_pieces = 64;
    add("--pieces", options->sample.n_pieces, "About how many pieces, of a model that has them")
        ->check(range(0, 1 << 24));
    add("--output", options->output, "File for run --costs; default: standard output");
    return RunOnModel([options, make = maker_of(line, model.name())](ChosenModel& chosen,
                                                                     const Context& context) {
      chosen.refuse_unread();
      options->sample.settings = chosen.settings();
      print(record_costs(make, std::span(&options->sample, 1), options->n_runs), *options, context);
      return ExitCode::ok;
    });
  };
  const auto examples = [](const tick::App& app) {
    std::vector<std::string> lines;
    if (app.name() == "fish") lines = {"fish --fish 20000 --output here.costs"};
    return lines;
  };
  add_model_command(line,
                    {.command = {.name = "costs",
                                 .group = kMeasureGroup,
                                 .summary = "Record what a model's steps cost, for simulations",
                                 .examples = "",
                                 .run = {}},
                     .prepare = prepare,
                     .examples = examples});
}

}  // namespace rubato::tools

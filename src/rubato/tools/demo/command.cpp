// rubato demo: the whole of it in about a minute.

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "rubato/tools/commands.hpp"
#include "rubato/tools/demo/demo.hpp"
#include "rubato/tools/model_command.hpp"
#include "rubato/tools/run/runner.hpp"

namespace rubato::tools {
namespace {

struct DemoOptions {
  bool quick = false;
  std::string folder;
};

// The folder of the report; goes again if it was not there and nothing has come into it.
class DemoFolder {
 public:
  explicit DemoFolder(std::string path) : path_(std::move(path)) {
    std::error_code failure;
    is_new_ = std::filesystem::create_directories(path_, failure);
    if (failure) throw Error("cannot make the folder " + path_ + ": " + failure.message());
  }
  DemoFolder(const DemoFolder&) = delete;
  DemoFolder& operator=(const DemoFolder&) = delete;
  ~DemoFolder() {
    std::error_code not_empty;
    if (is_new_) std::filesystem::remove(path_, not_empty);
  }

 private:
  std::string path_;
  bool is_new_ = false;
};

ChosenModel make_model(const Identity& identity, const Scene& scene) {
  for (const auto& make : identity.models) {
    std::unique_ptr<tick::App> app = make();
    if (app->name() != scene.model) continue;
    ChosenModel model(std::move(app));
    for (const auto& [name, text] : scene.settings)
      model.set(name, text);
    return model;
  }
  throw Error("no model " + scene.model, ExitCode::failed);
}

io::RgbImage read_picture(const std::string& path) {
  const io::Image image = io::read_image(path, {.kind = io::ImageKind::rgb, .bits = 8});
  io::RgbImage picture{image.info.width, image.info.height, {}};
  picture.pixels.reserve(picture.width * picture.height);
  for (std::size_t y = 0; y < picture.height; ++y) {
    for (std::size_t x = 0; x < picture.width; ++x) {
      const auto channel = [&](std::size_t c) {
        return static_cast<std::uint8_t>(image.at(x, y, c));
      };
      picture.pixels.push_back({channel(0), channel(1), channel(2)});
    }
  }
  return picture;
}

// The last state as a picture; empty if the model says nothing of how it looks.
std::vector<std::string> draw(ChosenModel& model, RunRequest request, const std::string& folder,
                              std::ostream& err) {
  request.policy = tick::Policy::parse("k3m5d10");
  request.output.folder = folder;
  request.output.formats = "png";
  request.output.name = model.app().name();
  try {
    return run_model(model.app(), request, err).files;
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    return {};
  }
}

ExitCode run(const DemoOptions& options, const Identity& identity, const Context& context) {
  std::vector<std::string> names;
  for (const auto& make : identity.models)
    names.push_back(make()->name());
  if (names.empty()) throw Error("this program has no model to show", ExitCode::failed);
  const Scene scene = demo_scene(names, options.quick);
  const std::string folder = options.folder.empty() ? identity.name + "-demo" : options.folder;
  const DemoFolder made(folder);

  context.err << fmt::format("{}: {} ticks on {} virtual hosts with {} delays, {} round{} ...\n",
                             scene.title, scene.ticks, scene.n_nodes, scene.profile, scene.n_rounds,
                             scene.n_rounds == 1 ? "" : "s");
  ChosenModel model = make_model(identity, scene);
  RunRequest request;
  request.ticks = scene.ticks;
  request.profile = scene.profile;
  request.n_simulated = scene.n_nodes;
  request.slowdowns.all = scene.slowdown;
  const std::unique_ptr<tick::Problem> problem = model.app().build();
  const Comparison comparison = compare_simulated(
      *problem, parse_policies(scene.policies), scene.n_rounds, request, scene.model, context.err);
  const std::vector<std::string> files = draw(model, request, folder, context.err);
  const io::RgbImage picture = files.empty() ? io::RgbImage{} : read_picture(files.front());
  // The wrapper script says how it was called.
  const char* called_as = std::getenv("RUBATO_CALLED_AS");
  const auto next =
      next_commands(called_as != nullptr ? called_as : identity.name, identity.single_model, scene);
  const std::string report = folder + "/report.html";
  write_demo_report(report, scene, comparison, picture, next);

  if (context.json) {
    io::JsonWriter json;
    json.begin_object().field("model", scene.model).field("equal", comparison.equal());
    json.field("report", report).key("policies");
    put_comparison(json, comparison);
    json.end_object();
    context.out << json.text() << '\n';
  } else {
    context.out << comparison_table(comparison).to_text(io::style_of_terminal(STDOUT_FILENO));
  }
  context.err << equality_line(comparison) << "\n\n";
  for (const auto& file : files)
    context.err << "picture  " << file << '\n';
  context.err << "report   " << report << "\n\ntry next\n";
  for (const auto& command : next)
    context.err << "  " << command << '\n';
  return comparison.equal() ? ExitCode::ok : ExitCode::failed;
}

}  // namespace

void add_demo(CommandLine& line) {
  auto options = std::make_shared<DemoOptions>();
  const std::string& name = line.identity().name;
  CLI::App& parser =
      line.add({.name = "demo",
                .group = kRunGroup,
                .summary = "All policies on a late network: a table, a picture, a report",
                .examples = "  " + name + " demo\n  " + name + " demo --quick --output /tmp/demo",
                .run = [options, &line](const Context& context) {
                  return run(*options, line.identity(), context);
                }});
  parser.add_option("--output", options->folder, "Folder; default: " + name + "-demo")
      ->type_name("");
  parser.add_flag("--quick", options->quick, "A small instance, in a few seconds");
}

}  // namespace rubato::tools

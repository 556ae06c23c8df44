#include <algorithm>

#include "rubato/tools/demo/demo.hpp"

namespace rubato::tools {
namespace {

// 750 fish a host that keep enough distance for a picture of all, and are charged as on slow hosts:
// a tick takes some 2 ms, about as long as the network's spikes are apart.
Scene fish_scene(bool quick) {
  Scene scene;
  scene.model = "fish";
  scene.title = "A school of fish on a late network";
  scene.about =
      "Each fish turns towards the fish in its sight, and away from those that are too close; one "
      "in twenty (white) knows the way. The sea is cut among the hosts, and at each tick every "
      "host "
      "needs the fish just beyond its border.";
  scene.settings = {{"fish", quick ? "1500" : "12000"},
                    {"neighbours", "9"},
                    {"alpha", "2"},
                    {"informed", "0.05"},
                    {"ns-per-fish", "1500"},
                    {"ns-per-pair", "40"},
                    {"seed", "7"}};
  scene.ticks = quick ? 12 : 300;
  scene.n_nodes = quick ? 4 : 16;
  scene.n_rounds = quick ? 1 : 3;
  return scene;
}

Scene heat_scene(bool quick) {
  Scene scene;
  scene.model = "heat";
  scene.title = "Heat on a late network";
  scene.about =
      "Each cell of a raster takes the mean of its neighbours. The raster is cut among the hosts, "
      "and at each tick every host needs the cells just beyond its border.";
  scene.settings = {{"width", quick ? "120" : "1600"}, {"height", quick ? "120" : "1600"}};
  scene.ticks = quick ? 12 : 300;
  scene.n_nodes = quick ? 4 : 16;
  scene.n_rounds = quick ? 1 : 3;
  scene.slowdown = 20;
  return scene;
}

Scene own_scene(const std::string& model, bool quick) {
  Scene scene;
  scene.model = model;
  scene.title = model + " on a late network";
  scene.ticks = quick ? 12 : 200;
  scene.n_nodes = quick ? 4 : 16;
  scene.n_rounds = quick ? 1 : 3;
  return scene;
}

}  // namespace

Scene demo_scene(const std::vector<std::string>& models, bool quick) {
  RUBATO_REQUIRE(!models.empty());
  const auto has = [&](const char* name) {
    return std::ranges::find(models, name) != models.end();
  };
  if (has("fish")) return fish_scene(quick);
  if (has("heat")) return heat_scene(quick);
  return own_scene(models.front(), quick);
}

std::vector<std::string> next_commands(const std::string& program, bool single_model,
                                       const Scene& scene) {
  const std::string model = single_model ? "" : " " + scene.model;
  std::string settings;
  for (const auto& [name, text] : scene.settings)
    settings.append(" --").append(name).append(" ").append(text);
  return {program + " compare" + model + settings + " --nodes 25 --profile ec2-small",
          program + " run" + model + " --ticks 500 --output " + scene.model + "-run --every 100",
          program + " launch -n 2 -- " + program + " run" + model +
              " --policy k2m3d10 --profile ec2-large --trace trace.json"};
}

}  // namespace rubato::tools

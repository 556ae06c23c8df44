#include "rubato/net/fabric_factory.hpp"

#include <charconv>
#include <cstdlib>
#include <utility>

#include "rubato/base/error.hpp"
#include "rubato/net/delay.hpp"
#include "rubato/net/local.hpp"
#include "rubato/net/mpi.hpp"
#include "rubato/net/profile.hpp"

namespace rubato::net {
namespace {

std::string environment(const char* key) {
  const char* value = std::getenv(key);
  return value == nullptr ? "" : value;
}

std::uint64_t seed_of(const FabricOptions& options) {
  const std::string text = options.seed == 0 ? environment("RUBATO_SEED") : "";
  if (text.empty()) return options.seed == 0 ? 1 : options.seed;
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error("RUBATO_SEED: expected a number from 0 to 2^64 - 1, found \"" + text + "\"",
                ExitCode::usage);
  }
  return seed;
}

}  // namespace

std::unique_ptr<Fabric> make_fabric(const FabricOptions& options) {
  // All that can be wrong on every node alike is looked at before joining a job.
  DelayOptions delay;
  const bool from_environment = options.profile.empty();
  const std::string text = from_environment ? environment("RUBATO_PROFILE") : options.profile;
  if (!text.empty()) {
    delay.profile = parse_profile(text, from_environment ? "RUBATO_PROFILE" : "profile");
  }
  delay.seed = seed_of(options);
  const Launch launch = detect_launch();
  std::unique_ptr<Fabric> fabric;
  if (launch.by_launcher) {
    fabric = load_mpi_fabric(launch, options.pair_bytes_max);
  } else {
    fabric = std::make_unique<LocalFabric>(options.pair_bytes_max);
  }
  if (delay.profile.is_idle()) return fabric;
  return std::make_unique<DelayFabric>(std::move(fabric), std::move(delay));
}

}  // namespace rubato::net

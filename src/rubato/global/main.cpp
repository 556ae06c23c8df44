#include "rubato/global/main.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "rubato/core/job.hpp"
#include "rubato/net/fabric_factory.hpp"

namespace rubato::global {
namespace {

std::uint32_t cores_of_environment() {
  const char* const text =
      std::getenv("RUBATO_CORES");  // NOLINT(concurrency-mt-unsafe): no threads yet
  if (text == nullptr || *text == '\0') return 0;
  std::uint32_t n = 0;
  const char* const end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, n);
  if (error != std::errc() || stopped != end || n == 0) {
    throw Error(
        std::string("RUBATO_CORES is \"") + text + "\": expected a number of cores, 1 or more",
        ExitCode::usage);
  }
  return n;
}

}  // namespace

int run_main(const std::function<void()>& main, const ProgramOptions& options, SourcePlace at) {
  std::optional<core::Job> job;
  try {
    core::JobConfig config;
    config.host.n_cores = cores_of_environment();
    job.emplace(net::make_fabric(), config);
    run(job->host(), options, main, at);
    return static_cast<int>(ExitCode::ok);
  } catch (const Error& error) {
    // All nodes throw the same.
    if (!job || job->speaks()) std::fprintf(stderr, "rubato: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rubato: %s\n", error.what());
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace rubato::global

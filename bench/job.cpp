#include "bench/job.hpp"

#include <nlohmann/json.hpp>

#include "rubato/base/error.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::bench {
namespace {

constexpr const char* kFolder = RUBATO_BENCH_FOLDER;

}  // namespace

nlohmann::json run_for_json(const std::vector<std::string>& words, const char* field) {
  const tools::Finished run = tools::run_program(words);
  nlohmann::json json = nlohmann::json::parse(run.out, nullptr, false);
  if (!json.is_discarded() && json.contains(field)) return json;
  std::string line;
  for (const std::string& word : words)
    line += word + " ";
  throw Error("expected a line of JSON from: " + line + "; found \"" + run.out.substr(0, 200) +
                  "\", exit code " + std::to_string(run.code) +
                  "; the benchmark needs Open MPI (`rubato doctor`)",
              ExitCode::failed);
}

JobResult run_job(const std::string& program, std::uint32_t n_nodes,
                  const std::vector<std::string>& arguments) {
  std::vector<std::string> words{
      tools::own_path(), "launch",  "-n", std::to_string(n_nodes),
      "--mpi",           "openmpi", "--", std::string(kFolder) + "/" + program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const nlohmann::json json = run_for_json(words, "million_per_second");
  JobResult result{json["million_per_second"].get<double>(), {}};
  if (json.contains("counters")) {
    for (const auto& [name, n] : json["counters"].items())
      result.counters.emplace_back(name, n.get<std::uint64_t>());
  }
  return result;
}

}  // namespace rubato::bench

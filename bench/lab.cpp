#include "bench/lab.hpp"

#include <nlohmann/json.hpp>

#include "rubato/base/error.hpp"
#include "rubato/tools/process.hpp"

namespace rubato::bench {

double in_lab(int n_hosts, const std::vector<std::string>& profile, std::uint64_t seed,
              const std::vector<std::string>& program) {
  std::vector<std::string> words{
      tools::own_path(), "lab", "-n", std::to_string(n_hosts), "-q", "-s", std::to_string(seed)};
  words.insert(words.end(), profile.begin(), profile.end());
  words.emplace_back("--");
  words.insert(words.end(), program.begin(), program.end());
  const std::string text = tools::output_of(words);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.contains("ticks_per_second")) {
    std::string line;
    for (const std::string& word : words)
      line += word + " ";
    throw Error("expected a line of JSON from: " + line + "; found \"" + text.substr(0, 200) +
                    "\"; the lab needs root, /dev/net/tun and Open MPI (`rubato doctor`)",
                ExitCode::failed);
  }
  return json["ticks_per_second"].get<double>();
}

}  // namespace rubato::bench

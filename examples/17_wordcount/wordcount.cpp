// Which words do files have most often? Map and reduce, over files that all nodes see.
//   wordcount FILE...
//
// Shows futures of a container that are awaited one by one: a map task cuts what it counted into
// parts, by the hash of a word; a reduce task takes its part of each map task as soon as that is
// there, so that reducing goes on beside mapping.

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "rubato/flow/loop.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/main.hpp"

using namespace rubato::flow;

namespace {

constexpr std::int64_t kParts = 4;
constexpr std::int64_t kBytesAMap = 4096;

using Counts = std::map<std::string, std::uint64_t>;

// As text, as which it travels: a word and its count in each line.
std::string text_of(const Counts& counts) {
  std::string text;
  for (const auto& [word, n] : counts)
    text += word + " " + std::to_string(n) + "\n";
  return text;
}
void add_text(Counts& counts, const std::string& text) {
  std::istringstream lines(text);
  std::string word;
  for (std::uint64_t n = 0; lines >> word >> n;)
    counts[word] += n;
}

// The words that begin in [begin, end) of the file.
Counts count(const std::string& path, std::int64_t begin, std::int64_t end) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw rubato::Error("wordcount: cannot read " + path);
  const auto at = [&file] { return static_cast<std::int64_t>(file.tellg()); };
  const auto is_letter = [](int c) { return c != EOF && std::isalpha(c) != 0; };
  file.seekg(begin > 0 ? begin - 1 : 0);
  // Of a word that begins before, the rest.
  if (begin > 0) {
    while (is_letter(file.get())) {
    }
  }
  Counts counts;
  for (std::int64_t first = at(); file && first < end; first = at()) {
    std::string word;
    for (int c = file.get(); is_letter(c); c = file.get())
      word += static_cast<char>(std::tolower(c));
    if (!word.empty()) ++counts[word];
  }
  return counts;
}

void map_part(std::int64_t map, const std::string& path, std::int64_t begin,
              const Inserter<std::string>& out) {
  std::vector<Counts> parts(kParts);
  for (const auto& [word, n] : count(path, begin, begin + kBytesAMap))
    parts[std::hash<std::string>()(word) % kParts][word] = n;
  for (std::int64_t part = 0; part < kParts; ++part)
    out.insert(map * kParts + part, text_of(parts[static_cast<std::size_t>(part)]));
}

std::string reduce_part(std::int64_t part, std::int64_t n_maps,
                        const Container<std::string>& mapped) {
  Counts counts;
  for (std::int64_t map = 0; map < n_maps; ++map)
    add_text(counts, mapped.get(map * kParts + part));
  return text_of(counts);
}

Counts count_all(const std::vector<std::string>& paths) {
  auto [mapped, insert] = make_container<std::string>();
  std::int64_t n_maps = 0;
  for (const std::string& path : paths) {
    const auto n_bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
    const std::int64_t n = (n_bytes + kBytesAMap - 1) / kBytesAMap;
    async_for(0, n,
              [n_maps](std::int64_t i, const FileName& file, const Inserter<std::string>& out) {
                map_part(n_maps + i, file.path, i * kBytesAMap, out);
              },
              {.name = "map", .grain = 1})(FileName{path}, insert);
    n_maps += n;
  }
  std::vector<Future<std::string>> reduced;
  for (std::int64_t part = 0; part < kParts; ++part)
    reduced.push_back(async(
        [part, n_maps](const Container<std::string>& all) {
          return reduce_part(part, n_maps, all);
        },
        {.name = "reduce"})(mapped));
  Counts all;
  for (const Future<std::string>& part : reduced)
    add_text(all, part.get());
  return all;
}

// Read at a stretch, by one thread.
Counts serial_count(const std::vector<std::string>& paths) {
  Counts all;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::string word;
    for (int c = 0; c != EOF;) {
      c = file.get();
      const bool is_letter = c != EOF && std::isalpha(c) != 0;
      if (is_letter) word += static_cast<char>(std::tolower(c));
      if (!is_letter && !word.empty()) ++all[std::exchange(word, "")];
    }
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> paths(argv + 1, argv + argc);
  return rubato::global::run_main([&paths] {
    if (paths.empty()) {
      throw rubato::Error("wordcount: expected names of files", rubato::ExitCode::usage);
    }
    bool is_right = false;
    run([&] {
      const Counts counts = count_all(paths);
      std::vector<std::pair<std::uint64_t, std::string>> order;
      for (const auto& [word, n] : counts)
        order.emplace_back(n, word);
      std::sort(order.rbegin(), order.rend());
      for (std::size_t i = 0; i < order.size() && i < 5; ++i)
        std::printf("%s %lu\n", order[i].second.c_str(), order[i].first);
      is_right = counts == serial_count(paths);
      std::printf("%zu words, %s\n", counts.size(), is_right ? "all right" : "WRONG");
    }).check();
    if (!is_right) throw rubato::Error("wordcount: wrong", rubato::ExitCode::failed);
  });
}

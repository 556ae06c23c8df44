// Which words a text has most often: a hash map over all cores.
//   words [FILE]

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "rubato/global/hash_map.hpp"
#include "rubato/global/main.hpp"

using namespace rubato::global;

int main(int argc, char** argv) {
  std::string text = "the cat and the dog and the bird";
  if (argc > 1) {
    std::ifstream file(argv[1]);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  return run_main([&text] {
    const auto counts = GlobalHashMap<std::string, std::uint64_t>::make();
    finish([&] {
      std::istringstream words(text);
      for (std::string word; words >> word;)
        counts.async_upsert(word, 1, [](std::uint64_t& n, std::uint64_t more) { n += more; });
    });
    // The words of each core come here, where the most frequent are chosen.
    std::vector<std::pair<std::uint64_t, std::string>> all;
    const auto list = make_global(all);
    forall(counts, [list](const std::string& word, std::uint64_t& n) {
      struct Short {
        char text[32];
      } copy{};
      std::copy_n(word.begin(), std::min(word.size(), sizeof copy.text - 1), copy.text);
      async_call(list, [copy, n](auto& words) { words.emplace_back(n, copy.text); });
    });
    std::sort(all.rbegin(), all.rend());
    for (std::size_t i = 0; i < all.size() && i < 3; ++i)
      std::printf("%s %lu\n", all[i].second.c_str(), all[i].first);
    counts.free();
  });
}

// Which words a text has most often: a hash map over all cores.
//   words [FILE]

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/arguments.hpp"
#include "rubato/base/error.hpp"
#include "rubato/global/bag.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/main.hpp"

using namespace rubato::global;

namespace {

// Of any length: it says how it is written.
struct Counted {
  std::uint64_t n;
  std::string word;
  void put(rubato::Writer& out) const {
    out.put(n);
    out.put_string(word);
  }
  static Counted get(rubato::Reader& in) {
    const auto n = in.get<std::uint64_t>();
    return {n, in.get_string()};
  }
};

}  // namespace

int main(int argc, char** argv) {
  return run_main([=] {
    rubato::Arguments given(argc, argv);
    const std::string path = given.text("FILE", "");
    given.end();
    std::string text = "the cat and the dog and the bird";
    if (!path.empty()) {
      std::ifstream file(path);
      text.assign(std::istreambuf_iterator<char>(file), {});
      if (!file) throw rubato::Error("words: cannot read " + path);
    }
    const auto counts = GlobalHashMap<std::string, std::uint64_t>::make();
    finish([&] {
      std::istringstream words(text);
      for (std::string word; words >> word;)
        counts.async_upsert(word, 1, [](std::uint64_t& n, std::uint64_t more) { n += more; });
    });
    // The words of all cores come here, where the most frequent are chosen.
    const auto bag = GlobalBag<Counted>::make();
    forall(counts, [bag](const std::string& word, std::uint64_t& n) { bag.put({n, word}); });
    std::vector<Counted> all;
    while (std::optional<Counted> one = bag.take())
      all.push_back(std::move(*one));
    std::sort(all.begin(), all.end(), [](const Counted& a, const Counted& b) {
      return a.n != b.n ? a.n > b.n : a.word < b.word;
    });
    for (std::size_t i = 0; i < all.size() && i < 3; ++i)
      std::printf("%s %lu\n", all[i].word.c_str(), all[i].n);
    bag.free();
    counts.free();
  });
}

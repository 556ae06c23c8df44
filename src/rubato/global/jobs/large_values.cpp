// Values of a GiB over a real network: one that a delegate returns, and one that is sent into a table.

#include <cstdint>
#include <cstdio>
#include <string>

#include "rubato/base/arguments.hpp"
#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/main.hpp"
#include "rubato/global/per_core.hpp"

using rubato::global::call;
using rubato::global::CoreId;
using rubato::global::GlobalHashMap;
using rubato::global::n_cores;
using rubato::global::PerCore;
using rubato::global::run_main;

namespace {

// Bytes that tell where they are, and which value they are of.
struct Made {
  std::uint64_t n_bytes;
  std::uint64_t seed;

  [[nodiscard]] char at(std::uint64_t i) const {
    return static_cast<char>(rubato::hash_words(i / 4096, seed) + i);
  }
  [[nodiscard]] std::string text() const {
    std::string all(n_bytes, '\0');
    for (std::uint64_t i = 0; i < n_bytes; i += 509)
      all[i] = at(i);
    return all;
  }
  void check(const std::string& found) const {
    bool is_right = found.size() == n_bytes;
    for (std::uint64_t i = 0; is_right && i < n_bytes; i += 509)
      is_right = found[i] == at(i);
    if (!is_right) throw rubato::Error("large_values: wrong", rubato::ExitCode::failed);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return run_main([=] {
    rubato::Arguments given(argc, argv);
    const auto n_bytes = given.number<std::uint64_t>("MIB", 1024, 1, 4096) << 20;
    given.end();
    const CoreId other = n_cores() - 1;
    const Made returned{n_bytes, 1};
    const auto made = PerCore<Made>::make();
    returned.check(call(made.on(other), [returned](Made&) { return returned.text(); }));
    made.free();

    const Made sent{n_bytes, 2};
    const auto table = GlobalHashMap<std::uint64_t, std::string>::make();
    const std::string text = sent.text();
    for (std::uint64_t key = 0; key < 2; ++key)
      table.insert(key, text);
    sent.check(table.find(std::uint64_t{1}).value_or(""));
    std::printf("values of %lu MiB: right\n", n_bytes >> 20);
    table.free();
  });
}

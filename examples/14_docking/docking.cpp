// How well do molecules fit? Each is docked in many ways, the best one is kept, and scored.
//   docking [MOLECULES [WAYS]]
//
// Shows a flow of three stages [Turbine 2.1, table 1] whose tasks take very different times: a merge
// is two hundred times as short as a docking, and a scoring six times as long. A molecule goes on
// as soon as all of its own dockings are there; the others do not keep it. What tasks compute is
// made up: some steps of a hash for each microsecond, a second of the paper being a tenth of one.

#include <algorithm>
#include <cstdio>
#include <vector>

#include "rubato/base/arguments.hpp"
#include "rubato/base/random.hpp"
#include "rubato/flow/loop.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/main.hpp"

using namespace rubato::flow;
using rubato::hash_words;

namespace {

constexpr std::uint64_t kStepsASecond = 4;  // of the paper: about 0.1 us
constexpr std::uint64_t kDock = 1000;
constexpr std::uint64_t kMerge = 5;
constexpr std::uint64_t kScore = 6000;

// A number that depends on all that was computed for it; half to one and a half of the mean time.
double compute(std::uint64_t seconds, std::uint64_t what, std::uint64_t which) {
  std::uint64_t word = hash_words(seconds, what, which);
  const std::uint64_t n_steps = kStepsASecond * (seconds / 2 + word % (seconds + 1));
  for (std::uint64_t i = 0; i < n_steps; ++i)
    word = hash_words(word, i);
  return static_cast<double>(word >> 11);
}

double dock(std::int64_t molecule, std::int64_t way) {
  return compute(kDock, static_cast<std::uint64_t>(molecule), static_cast<std::uint64_t>(way));
}
double merge(std::int64_t molecule, double best) {
  return best + compute(kMerge, static_cast<std::uint64_t>(molecule), 0);
}
double score(std::int64_t molecule, double merged) {
  return merged + compute(kScore, static_cast<std::uint64_t>(molecule), 1);
}

// All dockings of a molecule are there.
double best_of(const Container<double>& energies, std::int64_t n_ways) {
  double best = energies.get(0);
  for (std::int64_t way = 1; way < n_ways; ++way)
    best = std::min(best, energies.get(way));
  return best;
}

void start_molecule(std::int64_t molecule, std::int64_t n_ways, const Inserter<double>& scores) {
  auto [energies, insert] = make_container<double>(Spread::here);
  async_for(0, n_ways,
            [molecule](std::int64_t way, const Inserter<double>& out) {
              out.insert(way, dock(molecule, way));
            },
            {.name = "dock", .grain = 1})(std::move(insert));
  // Short, and a long one needs it: before all others.
  auto merged =
      async([molecule, n_ways](
                const Container<double>& all) { return merge(molecule, best_of(all, n_ways)); },
            {.name = "merge", .priority = 1})(closed(std::move(energies)));
  async([molecule](double best,
                   const Inserter<double>& out) { out.insert(molecule, score(molecule, best)); },
        {.name = "score"})(std::move(merged), scores);
}

double serial_score(std::int64_t molecule, std::int64_t n_ways) {
  double best = dock(molecule, 0);
  for (std::int64_t way = 1; way < n_ways; ++way)
    best = std::min(best, dock(molecule, way));
  return score(molecule, merge(molecule, best));
}

}  // namespace

int main(int argc, char** argv) {
  return rubato::global::run_main([=] {
    rubato::Arguments given(argc, argv);
    const auto n_molecules = given.number("MOLECULES", 12, 1, 1'000'000);
    const auto n_ways = given.number("WAYS", 100, 1, 1'000'000);
    given.end();
    bool is_right = false;
    run([&] {
      auto [scores, insert] = make_container<double>();
      async_for(0, n_molecules,
                [n_ways](std::int64_t molecule, const Inserter<double>& out) {
                  start_molecule(molecule, n_ways, out);
                },
                {.grain = 1})(std::move(insert));
      std::int64_t n_right = 0;
      for (std::int64_t molecule = 0; molecule < n_molecules; ++molecule)
        n_right += scores.get(molecule) == serial_score(molecule, n_ways) ? 1 : 0;
      is_right = n_right == n_molecules;
      std::printf("%ld molecules docked in %ld ways each, %s\n", n_molecules, n_ways,
                  is_right ? "all scores right" : "WRONG");
    }).check();
    if (!is_right) throw rubato::Error("docking: wrong", rubato::ExitCode::failed);
  });
}

#pragma once
// Who owns what, and how that changes, drawn from a seed: epochs, pieces, balance, policy auto.

#include <algorithm>
#include <cstdint>
#include <string>

#include "rubato/base/random.hpp"
#include "rubato/tick/sharing.hpp"
#include "rubato/tick/testing/property.hpp"

namespace rubato::tick::testing {

inline std::string describe(const SharingOptions& sharing) {
  std::string text = std::to_string(sharing.n_pieces) + " pieces, " + name_of(sharing.balance) +
                     " each " + std::to_string(sharing.epoch) + " ticks";
  if (sharing.tune) text += ", auto of";
  for (const Policy& policy : sharing.candidates)
    text += " " + policy.to_string();
  if (sharing.chooses) text += ", by chance";
  for (const std::uint32_t n : sharing.grains_of_piece)
    text += ", pieces of " + std::to_string(n);
  return text;
}

// Of how many grains pieces may be.
inline void add_grains(SharingOptions& sharing, RandomStream& random) {
  for (std::uint32_t n = 1; sharing.n_pieces > 0 && n <= 4; ++n) {
    if (random.between(0, 1) != 0) sharing.grains_of_piece.push_back(n);
  }
  if (random.between(0, 1) != 0) std::ranges::reverse(sharing.grains_of_piece);
}
inline void choose_by_chance(SharingOptions& sharing, RandomStream& random) {
  sharing.chooses = [seed = random()](Tick epoch) {
    return hash_words(seed, static_cast<std::uint64_t>(epoch));
  };
}

// The run's policy becomes auto: mostly with choices at random, among three and the one that it begins
// with. Sets an epoch if there is none.
inline void make_auto(SharingOptions& sharing, RunCase& c, RandomStream& random) {
  if (c.policy.barrier) c.policy = Policy{};
  sharing.tune = true;
  if (sharing.epoch == 0) sharing.epoch = random.between(1, 8);
  while (sharing.candidates.size() < 3) {
    const Policy policy = random_run(random).policy;
    if (!policy.barrier) sharing.candidates.push_back(policy);
  }
  if (sharing.grains_of_piece.empty()) add_grains(sharing, random);
  if (random.between(0, 7) != 0) choose_by_chance(sharing, random);
}

// What the model can do of it; `P` is a ProblemOf.
template <class P>
[[nodiscard]] SharingOptions random_sharing(const P& problem, RunCase& c, RandomStream& random) {
  SharingOptions sharing;
  sharing.epoch = random.between(0, 5) == 0 ? 0 : random.between(1, 6);
  if (problem.has_pieces() && random.between(0, 3) != 0) {
    sharing.n_pieces = c.n_nodes * static_cast<std::uint32_t>(random.between(1, 5)) +
                       static_cast<std::uint32_t>(random.between(0, 9));
    const auto balance = random.between(0, 5);
    sharing.balance_is_default = balance == 1;
    if (balance == 0) sharing.balance = Balance::none;
    if (balance >= 2) sharing.balance = Balance::persistence;
    if (balance >= 3) add_grains(sharing, random);
    if (balance >= 4) choose_by_chance(sharing, random);
  }
  if (problem.lends()) {
    sharing.lending.on = random.between(0, 1) != 0;
    if (random.between(0, 3) != 0) sharing.lending.takes = 0;
  }
  if (problem.tunes() && random.between(0, 2) == 0) make_auto(sharing, c, random);
  return sharing;
}

// Whether the model can be cut for the run, by epochs too.
template <class P>
[[nodiscard]] bool can_be_cut(const P& problem, const RunCase& c, const SharingOptions& sharing) {
  try {
    (void)problem.partition(c.n_nodes, sharing.n_pieces);
    if (sharing.balance == Balance::repartition && problem.repartitions())
      (void)problem.partition(c.n_nodes);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace rubato::tick::testing

#include "rubato/tools/run/system_words.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rubato/tick/run.hpp"
#include "rubato/tick/tune/tuner.hpp"
#include "rubato/tools/model_command.hpp"

namespace rubato::tools {

namespace {

// Whether work moves, and how, as in the system of that name.
bool moves_alike(const tick::SharingOptions& a, const tick::SharingOptions& b) {
  return a.moves() == b.moves() && (!a.moves() || a.balance == b.balance);
}

}  // namespace

ChosenSystem choose_system(const SystemWords& words) {
  tick::System system = tick::System::parse(words.policy);
  const tick::SharingOptions of_name = system.sharing;
  tick::SharingOptions& sharing = system.sharing;
  ChosenSystem chosen;
  // A policy alone has no pieces.
  if (sharing.n_pieces > 0) chosen.name = words.policy;
  sharing.balance_is_default =
      (sharing.n_pieces == 0 || (sharing.tune && !words.n_pieces)) && words.balance.empty();
  if (words.epoch) sharing.epoch = *words.epoch;
  if (!words.balance.empty()) {
    sharing.balance = tick::parse_balance(words.balance);
    if (sharing.balance == tick::Balance::none && !sharing.tune) sharing.epoch = 0;
    if (sharing.balance != tick::Balance::persistence && sharing.tune) sharing.n_pieces = 0;
    if (sharing.balance != tick::Balance::none && sharing.epoch == 0)
      sharing.epoch = tick::kDefaultEpoch;
    if (sharing.balance == tick::Balance::persistence && sharing.n_pieces == 0)
      sharing.n_pieces = tick::kGoodPieces;
  }
  if (words.n_pieces) sharing.n_pieces = *words.n_pieces;
  // What moves its pieces in another way is not that system.
  if (!chosen.name.empty() && !sharing.tune && !moves_alike(sharing, of_name))
    chosen.name += ", balance " + balance_text(sharing);
  chosen.policy = system.policy;
  chosen.said = words.policy;
  chosen.sharing = sharing;
  return chosen;
}

std::string balance_text(const tick::SharingOptions& sharing) {
  if (!sharing.moves()) return tick::name_of(tick::Balance::none);
  return sharing.balance_is_default ? "default" : tick::name_of(sharing.balance);
}

std::string policy_help() {
  std::vector<std::string> candidates;
  for (const tick::Policy& policy : tick::tuned_policies())
    candidates.push_back(policy.to_string());
  return fmt::format(
      "bulk, local, schedule(D), replicate(K,M), replicate(K,M)+schedule(D), pieces(D), or short "
      "k3m5d10; auto, which measures and chooses at epochs among {}, with and without balance, and "
      "how many pieces move; or a system of pieces: oritick, comtick, asytick, asytick-plb, "
      "asytick-lend",
      fmt::join(candidates, ", "));
}

void add_system_options(CLI::App& parser, SystemWords& words) {
  const auto add = [&](const char* name, auto& target, const std::string& help) {
    return parser.add_option(name, target, help)->type_name("")->group(kAdvancedGroup);
  };
  const auto quiet = [](CLI::Validator check) {
    check.description("");
    return check;
  };
  add("--epoch", words.epoch,
      fmt::format(
          "Share the work anew each N ticks, by what the state or its cost is then; 0: "
          "never. Default: {} of comtick, asytick-plb, asytick-lend, auto and --balance, else 0",
          tick::kDefaultEpoch))
      ->check(quiet(CLI::Range(tick::Tick{0}, tick::Tick{1} << 53)));
  add("--balance", words.balance,
      "How it is shared anew: persistence moves pieces by what they have cost, repartition cuts "
      "the model again by where its tuples are or, of a grid, by how fast nodes are, none. "
      "Default: repartition if the model can, else persistence of --pieces");
  add("--pieces", words.n_pieces,
      fmt::format(
          "Cut the model into about N pieces for all nodes, whatever their number; 0: into a "
          "part for each node. "
          "Default of what needs pieces: {} to {} for each core, fewer where they would be "
          "less than a few cutoffs wide, but 2. Where a policy with --balance persistence, or "
          "auto, "
          "moves them, smaller ones if those of now hold a node up; the systems keep as many",
          tick::n_pieces_of_core(), 2 * tick::n_pieces_of_core()))
      ->check(quiet(CLI::Range(std::uint32_t{0}, std::uint32_t{1} << 24)));
}

}  // namespace rubato::tools

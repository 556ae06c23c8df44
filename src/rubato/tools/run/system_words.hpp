#pragma once
// --policy, --pieces, --balance and --epoch: how `run` and `compare` read what runs a model.

#include <cstdint>
#include <optional>
#include <string>

#include "rubato/tick/sharing.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace rubato::tools {

// The texts and numbers as people give them; absent or "": as the policy says.
struct SystemWords {
  std::string policy = "local";
  std::optional<std::uint32_t> n_pieces{};
  std::string balance{};
  std::optional<tick::Tick> epoch{};
};

struct ChosenSystem {
  std::string name{};  // what has one beside the policy's (tick/sharing.hpp); "": a policy alone
  tick::Policy policy{};
  tick::SharingOptions sharing{};
  std::string said{};  // the policy's word

  // What people said: the name, with what else was asked for of it, or the policy.
  [[nodiscard]] std::string label() const { return name.empty() ? policy.to_string() : name; }
};

// Throws Error (usage) for a policy or balance that is none, with the nearest.
[[nodiscard]] ChosenSystem choose_system(const SystemWords& words);

// How work is shared anew, for people and files: "none" if it never is, "default" if nobody has said
// how, else the balance.
[[nodiscard]] std::string balance_text(const tick::SharingOptions& sharing);

[[nodiscard]] std::string policy_help();

// --epoch, --balance and --pieces, under the heading of what few people need.
void add_system_options(CLI::App& parser, SystemWords& words);

}  // namespace rubato::tools

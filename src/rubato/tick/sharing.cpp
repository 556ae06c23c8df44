#include "rubato/tick/sharing.hpp"

namespace rubato::tick {
namespace {

System of_pieces(const char* policy, bool balanced) {
  System system{Policy::parse(policy), {}};
  system.sharing.n_pieces = kGoodPieces;
  system.sharing.balance = balanced ? Balance::persistence : Balance::none;
  system.sharing.epoch = balanced ? kDefaultEpoch : 0;
  system.sharing.sizes_pieces = false;
  return system;
}

}  // namespace

const std::vector<std::string>& system_names() {
  static const std::vector<std::string> names{"oritick",     "comtick",      "asytick",
                                              "asytick-plb", "asytick-lend", "auto"};
  return names;
}

System System::parse(std::string_view text) {
  if (text == "oritick") return of_pieces("bulk", false);
  if (text == "comtick") return of_pieces("bulk", true);
  if (text == "asytick") return of_pieces("pieces", false);
  if (text == "asytick-plb") return of_pieces("pieces", true);
  if (text == "asytick-lend") {
    System system = of_pieces("pieces", true);
    system.sharing.lending.on = true;
    return system;
  }
  if (text == "auto") {
    System system = of_pieces("local", true);
    system.sharing.tune = system.sharing.sizes_pieces = true;
    return system;
  }
  return {Policy::parse(text, system_names()), {}};
}

}  // namespace rubato::tick

#include "rubato/flow/interpret/leaf_functions.hpp"

#include <map>

namespace rubato::flow {
namespace {

std::map<std::string, LeafFunction>& functions() {
  static std::map<std::string, LeafFunction> all;  // filled before main
  return all;
}

}  // namespace

const LeafFunction& leaf_function(const std::string& name) {
  const auto found = functions().find(name);
  if (found != functions().end()) return found->second;
  std::vector<std::string> names;
  names.reserve(functions().size());
  for (const auto& [known, function] : functions())
    names.push_back(known);
  throw Error("the program has no leaf '" + name + "'" + did_you_mean(name, names));
}

bool register_leaf(const std::string& name, LeafFunction function) {
  functions()[name] = std::move(function);
  return true;
}

}  // namespace rubato::flow

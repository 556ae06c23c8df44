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

bool is_leaf_of_team(const std::string& name) {
  const auto found = functions().find(name);
  return found != functions().end() && found->second.run_by_team != nullptr;
}

void detail::check_leaf_input(const LeafCall& call, std::size_t i, Kind expected) {
  const Kind found = call.inputs[i].kind();
  // What lies in a string, a blob or the name of a file is text for all of them.
  const auto is_text = [](Kind kind) {
    return kind == Kind::string || kind == Kind::blob || kind == Kind::file;
  };
  if (found == expected || (is_text(found) && is_text(expected))) return;
  throw Error(
      "leaf " + call.name + " has " +
      (found == Kind::none ? "a container" : "a value of kind " + std::string(name_of(found))) +
      " as its input " + std::to_string(i + 1) + " in the script, expected " +
      std::string(name_of(expected)));
}

bool register_leaf(const std::string& name, LeafFunction function) {
  functions()[name] = std::move(function);
  return true;
}

}  // namespace rubato::flow

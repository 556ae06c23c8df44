#include "rubato/tools/costs/cost_table.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "rubato/io/number.hpp"
#include "rubato_shipped_costs.hpp"

namespace rubato::tools {
namespace {

// The words of a line, without its comment.
std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in(std::string(line.substr(0, line.find('#'))));
  std::vector<std::string> words;
  for (std::string word; in >> word;)
    words.push_back(std::move(word));
  return words;
}

RecordedCost cost_of(const std::vector<std::string>& words, const std::string& where) {
  if (words.size() != 3) {
    throw Error(where + "expected a model, a parameter and nanoseconds, found " +
                std::to_string(words.size()) + " words");
  }
  const auto ns = io::parse_number<double>(words[2]);
  if (!ns || *ns < 0)
    throw Error(where + "expected nanoseconds, 0 or more, found " + io::shown(words[2]));
  return {words[0], words[1], *ns};
}

}  // namespace

bool is_cost(const tick::Parameters::Parameter& parameter) {
  return parameter.name.starts_with("ns-per-");
}

CostTable CostTable::parse(std::string_view text, const std::string& name) {
  CostTable table;
  table.name_ = name;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (words.empty()) continue;
    const std::string where = name + ": line " + std::to_string(number) + ": ";
    RecordedCost cost = cost_of(words, where);
    const bool is_known = std::ranges::any_of(table.costs_, [&](const RecordedCost& other) {
      return other.model == cost.model && other.parameter == cost.parameter;
    });
    if (is_known)
      throw Error(where + cost.model + " " + cost.parameter + " stands in a line before");
    table.costs_.push_back(std::move(cost));
  }
  return table;
}

CostTable CostTable::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    const int reason = errno;
    if (!file) throw Error("reading " + path + ": " + std::strerror(reason));
  }
  return parse(text.str(), path);
}

const CostTable& CostTable::shipped() {
  static const CostTable table = parse(kShippedCosts, "the costs that come with rubato");
  return table;
}

double CostTable::ns(std::string_view model, std::string_view parameter) const {
  std::string known;
  for (const RecordedCost& cost : costs_) {
    if (cost.model == model && cost.parameter == parameter) return cost.ns;
    known += (known.empty() ? "" : ", ") + cost.model + " " + cost.parameter;
  }
  throw Error(name_ + ": expected " + std::string(model) + " " + std::string(parameter) +
              ", found " + (known.empty() ? "nothing" : known));
}

void CostTable::set(ChosenModel& model) const {
  const std::vector<std::pair<std::string, std::string>> given = model.settings();
  const std::string name = model.app().name();
  bool is_any = false;
  std::string models;
  for (const RecordedCost& cost : costs_) {
    if (cost.model != name) {
      if (models.find(cost.model) == std::string::npos)
        models += (models.empty() ? "" : ", ") + cost.model;
      continue;
    }
    is_any = true;
    const bool is_given = std::ranges::any_of(
        given, [&](const auto& setting) { return setting.first == cost.parameter; });
    if (is_given) continue;
    try {
      model.set(cost.parameter, io::number_text(cost.ns));
    } catch (const Error& error) {
      throw Error(name_ + ": " + error.what());
    }
  }
  if (is_any) return;
  throw Error(name_ + ": expected costs of " + name + ", found " +
              (models.empty() ? "none" : "those of " + models));
}

}  // namespace rubato::tools

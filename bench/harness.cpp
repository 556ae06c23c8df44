#include "bench/harness.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <sstream>

#include <fmt/format.h>

#include "rubato/base/error.hpp"
#include "rubato/io/json.hpp"
#include "rubato/io/table.hpp"
#include "rubato/tools/build_info.hpp"

namespace rubato::bench {
namespace {

// Between the neighbours of the place, linearly.
double quantile(std::vector<double> values, double q) {
  RUBATO_REQUIRE(!values.empty());
  std::ranges::sort(values);
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace

void Options::begin_round(int round, int n_rounds, const std::string& what) const {
  if (!progress) return;
  std::string note = "round " + std::to_string(round + 1) + " of " + std::to_string(n_rounds);
  if (!what.empty()) note += ", " + what;
  progress(static_cast<double>(round) / n_rounds, note);
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

double relative_spread(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double middle = median(values);
  return middle == 0 ? 0 : (quantile(values, 0.75) - quantile(values, 0.25)) / middle;
}

Row compare_row(std::string metric, std::string unit, const std::vector<double>& values,
                std::string baseline, const std::vector<double>& baseline_values,
                std::string must) {
  RUBATO_REQUIRE(values.size() == baseline_values.size() && !values.empty(), values.size(),
                 baseline_values.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < values.size(); ++i)
    ratios.push_back(values[i] / baseline_values[i]);
  return {std::move(metric),       median(values), std::move(unit),         std::move(baseline),
          median(baseline_values), median(ratios), relative_spread(ratios), std::move(must)};
}

Row time_row(std::string metric, std::string unit, const std::vector<double>& rates,
             std::string baseline, const std::vector<double>& baseline_rates, std::string must) {
  Row row = compare_row(std::move(metric), std::move(unit), rates, std::move(baseline),
                        baseline_rates, std::move(must));
  row.value = 1 / row.value;
  row.baseline_value = 1 / row.baseline_value;
  return row;
}

Row value_row(std::string metric, std::string unit, const std::vector<double>& values,
              std::string must) {
  return {std::move(metric),       median(values), std::move(unit), "", 0, 0,
          relative_spread(values), std::move(must)};
}

std::string to_json(const std::string& name, const Report& report, const Options& options) {
  io::JsonWriter json;
  json.begin_object()
      .field("bench", name)
      .field("commit", tools::commit())
      .field("nodes", report.nodes)
      .field("cores", report.cores)
      .field("seed", options.seed)
      .key("rows")
      .begin_array();
  for (const Row& row : report.rows) {
    json.begin_object().field("metric", row.metric).field("value", row.value);
    json.field("unit", row.unit);
    if (row.baseline.empty()) {
      json.key("baseline").null().key("baseline_value").null().key("ratio").null();
    } else {
      json.field("baseline", row.baseline).field("baseline_value", row.baseline_value);
      json.field("ratio", row.ratio);
    }
    json.field("spread", row.spread);
    if (!row.counters.empty()) {
      json.key("counters").begin_object();
      for (const auto& [counter, n] : row.counters)
        json.field(counter, n);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array().end_object();
  return json.text();
}

std::vector<std::string> misses(const Row& row) {
  std::vector<std::string> missed;
  if (row.must == "reported") return missed;
  std::istringstream conditions(row.must);
  for (std::string condition; std::getline(conditions, condition, ',');) {
    std::istringstream text(condition);
    std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
    // "1 <= value <= 2" is "value >= 1" and "value <= 2".
    if (words.size() == 5 && words[1] == "<=") words = {words[2], ">=", words[0], "<=", words[4]};
    RUBATO_REQUIRE(words.size() >= 3 && (words[0] == "value" || words[0] == "ratio"), row.metric,
                   row.must);
    const double found = words[0] == "value"    ? row.value
                         : row.baseline.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                : row.ratio;
    // What follows is a remark.
    for (std::size_t i = 1; i + 1 < words.size() && words[i].front() != '('; i += 2) {
      const bool is_most = words[i] == "<=";
      RUBATO_REQUIRE(is_most || words[i] == ">=", row.metric, row.must);
      const double bound = std::stod(words[i + 1]);
      if (is_most ? found <= bound : found >= bound) continue;
      missed.push_back(fmt::format("{}: {} is {:.4g}, and must be {} {:g}", row.metric, words[0],
                                   found, words[i], bound));
    }
  }
  return missed;
}

std::string to_table(const Report& report, const Options& options) {
  std::vector<io::TableColumn> columns{{"metric"},   {"value", 3},          {"unit"},
                                       {"baseline"}, {"baseline value", 3}, {"ratio", 2},
                                       {"spread", 3}};
  if (!options.quick) columns.push_back({"must reach"});
  io::Table table(std::move(columns));
  for (const Row& row : report.rows) {
    table.row().text(row.metric).number(row.value).text(row.unit);
    if (row.baseline.empty()) {
      table.empty().empty().empty();
    } else {
      table.text(row.baseline).number(row.baseline_value).number(row.ratio);
    }
    table.number(row.spread);
    if (!options.quick) table.text(row.must);
  }
  return table.to_text(io::style_of_terminal(1));
}

}  // namespace rubato::bench

#include "rubato/tools/run/slowdowns.hpp"

#include <algorithm>
#include <string_view>

#include "rubato/base/error.hpp"
#include "rubato/io/number.hpp"

namespace rubato::tools {
namespace {

constexpr double kLeast = 1e-6;
constexpr double kMost = 1e6;

// `item` is one of the list `text`.
[[noreturn]] void refuse(const std::string& expected, std::string_view found,
                         const std::string& text) {
  throw Error("--slowdown: expected " + expected + ", found " + io::shown(found) +
                  (found == text ? "" : " in " + io::shown(text)),
              ExitCode::usage);
}

double parse_factor(std::string_view word, const std::string& text) {
  const auto factor = io::parse_number<double>(word);
  if (!factor || *factor < kLeast || *factor > kMost)
    refuse("a number from 1e-06 to 1e+06", word, text);
  return *factor;
}

}  // namespace

std::vector<double> Slowdowns::of_nodes(std::uint32_t n_nodes) const {
  if (!any()) return {};
  std::vector<double> factors(n_nodes, all);
  for (const auto& [node, factor] : nodes) {
    if (node >= n_nodes)
      refuse("nodes from 0 to " + std::to_string(n_nodes - 1), std::to_string(node), nodes_text());
    factors[node] = factor;
  }
  return factors;
}

std::string Slowdowns::nodes_text() const {
  std::string text;
  for (const auto& [node, factor] : nodes)
    text += (text.empty() ? "" : ",") + io::number_text(factor) + "@" + std::to_string(node);
  return text;
}

Slowdowns Slowdowns::parse(const std::string& text) {
  Slowdowns slowdowns;
  bool has_all = false;
  std::string_view rest = text;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = rest.find(',');
    is_last = comma == std::string_view::npos;
    const std::string_view item = rest.substr(0, comma);
    if (!is_last) rest.remove_prefix(comma + 1);
    const std::size_t sign = item.find('@');
    const double factor = parse_factor(item.substr(0, sign), text);
    if (sign == std::string_view::npos) {
      if (has_all) refuse("one number without @NODE, that of all nodes", item, text);
      has_all = true;
      slowdowns.all = factor;
      continue;
    }
    const std::string_view word = item.substr(sign + 1);
    const auto node = io::parse_number<net::NodeId>(word);
    if (!node) refuse("a node's number behind @", word, text);
    if (std::ranges::count(slowdowns.nodes, *node, &std::pair<net::NodeId, double>::first) > 0)
      refuse("each node once", item, text);
    slowdowns.nodes.emplace_back(*node, factor);
  }
  std::ranges::sort(slowdowns.nodes);
  return slowdowns;
}

}  // namespace rubato::tools

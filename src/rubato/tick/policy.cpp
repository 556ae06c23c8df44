#include "rubato/tick/policy.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "rubato/base/error.hpp"

namespace rubato::tick {
namespace {

constexpr int kPiecesDepth = 8;  // of pieces without a number
constexpr int kMost = 1000;      // of k, m and d: beyond it memory, not latency, decides

using Names = std::vector<std::string>;

[[noreturn]] void refuse(std::string_view text, const std::string& why, const Names& names = {}) {
  std::string expected =
      "bulk, local, schedule(D), replicate(K,M), replicate(K,M)+schedule(D), pieces(D)";
  for (const std::string& name : names)
    expected += ", " + name;
  throw Error("policy \"" + std::string(text) + "\": " + why + "; expected " + expected +
                  " or short k3m5d10",
              ExitCode::usage);
}

[[noreturn]] void refuse_term(std::string_view text, const std::string& word, const Names& names) {
  if (std::ranges::find(names, word) != names.end()) {
    refuse(text, "\"" + word + "\" stands alone", names);
  }
  Names known{"bulk", "local", "schedule", "replicate", "pieces"};
  known.insert(known.end(), names.begin(), names.end());
  refuse(text, "unknown term \"" + word + "\"" + did_you_mean(word, known), names);
}

std::optional<int> take_int(std::string_view& rest) {
  int value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc{}) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

bool take(std::string_view& rest, std::string_view token) {
  if (!rest.starts_with(token)) return false;
  rest.remove_prefix(token.size());
  return true;
}

// k3m5d10 with each part optional; false if `text` is not of that form.
bool parse_short(std::string_view text, Policy& policy) {
  std::string_view rest = text;
  bool any = false;
  for (const auto& [letter, field] : {std::pair<std::string_view, int*>{"k", &policy.period},
                                      {"m", &policy.replica_layers},
                                      {"d", &policy.depth}}) {
    if (!take(rest, letter)) continue;
    const auto value = take_int(rest);
    if (!value) return false;
    *field = *value;
    any = true;
  }
  return any && rest.empty();
}

// The name of the term.
std::string parse_term(std::string_view text, std::string_view& rest, Policy& policy,
                       const Names& names) {
  std::string name(rest.substr(0, rest.find_first_of("(+")));
  if (take(rest, "bulk")) {
    policy.barrier = true;
  } else if (take(rest, "local")) {
    return name;
  } else if (take(rest, "schedule")) {
    const auto depth = take(rest, "(") ? take_int(rest) : std::nullopt;
    if (!depth || !take(rest, ")")) refuse(text, "schedule takes one whole number");
    policy.depth = *depth;
  } else if (take(rest, "pieces")) {
    policy.pieces = true;
    policy.depth = kPiecesDepth;
    if (!take(rest, "(")) return name;
    const auto depth = take_int(rest);
    if (!depth || !take(rest, ")")) refuse(text, "pieces takes one whole number");
    policy.depth = *depth;
  } else if (take(rest, "replicate")) {
    const auto period = take(rest, "(") ? take_int(rest) : std::nullopt;
    if (!period || !take(rest, ",")) refuse(text, "replicate takes two whole numbers, K,M");
    const auto layers = take_int(rest);
    if (!layers || !take(rest, ")")) refuse(text, "replicate takes two whole numbers, K,M");
    policy.period = *period;
    policy.replica_layers = *layers;
  } else {
    refuse_term(text, name, names);
  }
  return name;
}

// Only replicate and schedule go together, each once.
void check_terms(std::string_view text, const Names& terms, const Names& names) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (std::ranges::count(terms, terms[i]) > 1) {
      refuse(text, "\"" + terms[i] + "\" is said twice", names);
    }
    if (terms.size() > 1 && terms[i] != "replicate" && terms[i] != "schedule") {
      refuse(text, (terms[i] == "pieces" ? "pieces(D)" : terms[i]) + " stands alone", names);
    }
  }
}

}  // namespace

Policy Policy::parse(std::string_view text, const std::vector<std::string>& names) {
  std::string compact;
  for (const char c : text) {
    if (c != ' ') compact += c;
  }
  Policy policy;
  if (!parse_short(compact, policy)) {
    policy = Policy{};
    std::string_view rest = compact;
    Names terms;
    do
      terms.push_back(parse_term(text, rest, policy, names));
    while (take(rest, "+"));
    if (!rest.empty()) refuse(text, "\"" + std::string(rest) + "\" is left over", names);
    check_terms(text, terms, names);
  }
  policy.validate();
  return policy;
}

void Policy::validate() const {
  const std::string text = to_string();
  if (period < 1 || replica_layers < 0 || depth < 0) refuse(text, "K >= 1, M >= 0 and D >= 0");
  if (period > kMost || replica_layers > kMost || depth > kMost) {
    refuse(text, "K, M and D are at most " + std::to_string(kMost));
  }
  if (period > replica_layers + 1) {
    refuse(text, "K = " + std::to_string(period) +
                     " is more than M + 1 = " + std::to_string(replica_layers + 1) +
                     ": M layers of replicas last for M + 1 ticks [Ticks 5.3]");
  }
  if (pieces && (barrier || period != 1 || replica_layers != 0 || depth < 1)) {
    refuse(text, "pieces(D) stands alone, with D >= 1");
  }
  if (barrier && (period != 1 || replica_layers != 0 || depth != 0)) {
    refuse(text, "bulk stands alone");
  }
}

std::string Policy::to_string() const {
  if (barrier && period == 1 && replica_layers == 0 && depth == 0) return "bulk";
  if (pieces && !barrier && period == 1 && replica_layers == 0) {
    return "pieces(" + std::to_string(depth) + ")";
  }
  std::string text = barrier ? "bulk" : pieces ? "pieces" : "";
  if (period != 1 || replica_layers != 0) {
    text += (text.empty() ? "" : "+");
    text += "replicate(" + std::to_string(period) + "," + std::to_string(replica_layers) + ")";
  }
  if (depth != 0) {
    text += (text.empty() ? "" : "+");
    text += "schedule(" + std::to_string(depth) + ")";
  }
  return text.empty() ? "local" : text;
}

}  // namespace rubato::tick

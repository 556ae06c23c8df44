// Random scripts: expressions, and what they read.

#include <sstream>

#include "rubato/flow/interpret/random_scripts_test.hpp"

namespace rubato::flow::random_scripts {
namespace {

std::string joined(const Words& all, const std::string& by) {
  std::string text;
  for (const auto& [key, value] : all)
    text += (key == all.begin()->first ? "" : by) + value;
  return text;
}

// The variable, or the field, that an operand is or is a member of.
std::string root_of(const std::string& operand) {
  return operand.substr(0, operand.find('['));
}

// Whether all of it is there, or `member`.
template <class K, class T>
bool is_there(const MembersOf<K, T>& all, const std::string& operand, const K& member) {
  if (operand == root_of(operand)) return is_whole(all);
  const auto found = all.members.find(member);
  return found != all.members.end() && found->second.has_value();
}

}  // namespace

Operands both(Operands a, const Operands& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Operands roots_of(const Operands& operands) {
  Operands names;
  for (const std::string& operand : operands)
    names.push_back(root_of(operand));
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool are_there(const Operands& operands, const Values& values) {
  return std::ranges::all_of(operands, [&](const std::string& operand) {
    const std::string name = root_of(operand);
    const Anything& value = values.at(name);
    if (std::holds_alternative<Failed>(value)) return false;
    // The members that are read of them.
    if (const auto* const numbers = std::get_if<Numbers>(&value))
      return is_there(*numbers, operand, std::int64_t{2});
    if (const auto* const table = std::get_if<Table>(&value))
      return is_there(*table, operand, std::string("k2"));
    return true;
  });
}

std::string in_quotes(const std::string& text) {
  return "\"" + text + "\"";
}

Words split(const std::string& text, const std::string& by) {
  Words parts;
  std::int64_t n = 0;
  if (by.empty()) {
    std::istringstream in(text);
    for (std::string word; in >> word;)
      parts[n++] = word;
    return parts;
  }
  std::size_t at = 0;
  for (std::size_t next = text.find(by); next != std::string::npos; next = text.find(by, at)) {
    parts[n++] = text.substr(at, next - at);
    at = next + by.size();
  }
  parts[n] = text.substr(at);
  return parts;
}

// Each operation is followed by a remainder, so that nothing overflows.
Made<std::int64_t> ScriptMaker::integer(const Scope& scope, int depth) {
  const std::int64_t choice = depth > 2 ? below(2) : below(7);
  if (choice == 0 || (choice == 1 && scope.integers.empty())) {
    const std::int64_t n = below(40) - 10;
    return {"(" + std::to_string(n) + ")", [n](const Values&) { return n; }};
  }
  if (choice == 1) return read<std::int64_t>(one_of(scope.integers));
  if (may_fail_ && one_in(6)) {
    const auto e = integer(scope, depth + 1);
    return {"(12 / (" + e.text + " % 3))",
            [e](const Values& v) {
              const std::int64_t divisor = e.value(v) % 3;
              if (divisor == 0) throw Failed();
              return 12 / divisor;
            },
            e.operands};
  }
  if (!scope.floats.empty() && one_in(2)) {
    const auto x = one_of(scope.floats);  // of integers, what is cut off earlier is another number
    return {"int(" + x + " / 4 * 3)",
            [x](const Values& v) { return static_cast<std::int64_t>(get<double>(v, x) / 4 * 3); },
            {x}};
  }
  if (choice == 2) {
    const auto s = string(scope, depth + 1);
    return {"length(" + s.text + ")",
            [s](const Values& v) { return static_cast<std::int64_t>(s.value(v).size()); },
            s.operands};
  }
  if (choice == 3) return integer_of_container(scope, depth);
  const auto a = integer(scope, depth + 1);
  const auto b = integer(scope, depth + 1);
  const std::int64_t op = below(4);
  const char* const ops[] = {"+", "-", "*"};
  if (op == 3) {
    return {"max(" + a.text + ", " + b.text + ")",
            [=](const Values& v) { return std::max(a.value(v), b.value(v)); },
            both(a.operands, b.operands)};
  }
  const auto value = [=](const Values& v) {
    const std::int64_t x = a.value(v);
    const std::int64_t y = b.value(v);
    return (op == 0 ? x + y : op == 1 ? x - y : x * y) % 97;
  };
  return {"((" + a.text + " " + ops[op] + " " + b.text + ") % 97)", value,
          both(a.operands, b.operands)};
}

Made<std::int64_t> ScriptMaker::integer_of_container(const Scope& scope, int depth) {
  const std::int64_t choice = below(6);
  if (choice == 4 && !scope.tables.empty()) {
    const std::string name = one_of(scope.tables);
    return {"size(" + name + ")",
            [name](const Values& v) {
              return static_cast<std::int64_t>(get<Table>(v, name).members.size());
            },
            {name}};
  }
  if (choice == 5 && !scope.tables.empty()) {
    const std::string member = one_of(scope.tables) + "[\"k\" ++ 2]";
    return {member,
            [member](const Values& v) {
              return get<Table>(v, root_of(member)).members.at("k2").value();
            },
            {member}};
  }
  if (choice == 0 && !scope.numbers.empty()) {
    const std::string name = one_of(scope.numbers);
    return {"size(" + name + ")",
            [name](const Values& v) {
              return static_cast<std::int64_t>(get<Numbers>(v, name).members.size());
            },
            {name}};
  }
  if (choice == 1 && !scope.numbers.empty()) {
    const std::string name = one_of(scope.numbers);  // which have the key 2
    return {name + "[1 + 1]",
            [name](const Values& v) { return get<Numbers>(v, name).members.at(2).value(); },
            {name + "[1 + 1]"}};
  }
  const auto c = computed(scope, depth + 1);
  return {"size(" + c.text + ")",
          [c](const Values& v) { return static_cast<std::int64_t>(c.value(v).size()); },
          c.operands};
}

Made<Words> ScriptMaker::computed(const Scope& scope, int depth) {
  const auto s = string(scope, depth + 1);
  const std::string by = one_in(3) ? "" : one_in(2) ? "," : "a";
  return {by.empty() ? "split(" + s.text + ")" : "split(" + s.text + ", " + in_quotes(by) + ")",
          [=](const Values& v) { return split(s.value(v), by); }, s.operands};
}

Made<std::string> ScriptMaker::string(const Scope& scope, int depth) {
  const std::int64_t choice = depth > 2 ? below(2) : below(9);
  if (choice == 0 || (choice == 1 && scope.strings.empty())) {
    std::string text = one_of({"", "a", "b,a", "x y", "1,22,3", " a ba ", "wave"});
    return {in_quotes(text), [text](const Values&) { return text; }};
  }
  if (choice == 1) return read<std::string>(one_of(scope.strings));
  if (choice == 2) {
    const auto n = integer(scope, depth + 1);
    return {"string(" + n.text + ")", [n](const Values& v) { return std::to_string(n.value(v)); },
            n.operands};
  }
  if (choice == 3) {
    const auto c = computed(scope, depth + 1);
    return {"join(" + c.text + ", \"+\")", [c](const Values& v) { return joined(c.value(v), "+"); },
            c.operands};
  }
  if (choice == 4 && !scope.words.empty()) {
    const std::string name = one_of(scope.words);
    return {"join(" + name + ", \",\")",
            [name](const Values& v) { return joined(get<Words>(v, name), ","); },
            {name}};
  }
  if (choice == 5 && !scope.words.empty()) {
    const std::string name = one_of(scope.words);  // which have the key 0
    return {name + "[0]",
            [name](const Values& v) { return get<Words>(v, name).at(0); },
            {name + "[0]"}};
  }
  if (choice == 6 && !scope.files.empty()) {
    auto content = read<std::string>(one_of(scope.files));
    content.text = "read(" + content.text + ")";
    return content;
  }
  const auto a = string(scope, depth + 1);
  const auto b = string(scope, depth + 1);
  // Short enough, however often it is used.
  return {"substring(" + a.text + " ++ " + b.text + ", 0, 12)",
          [=](const Values& v) { return (a.value(v) + b.value(v)).substr(0, 12); },
          both(a.operands, b.operands)};
}

Made<bool> ScriptMaker::boolean(const Scope& scope, int depth) {
  const std::int64_t choice = depth > 2 ? 0 : below(6);
  if (choice == 5 && !scope.tables.empty()) {
    const std::string name = one_of(scope.tables);
    const auto k = string(scope, depth + 1);
    return {"contains(" + name + ", \"k\" ++ " + k.text + ")",
            [=](const Values& v) { return get<Table>(v, name).members.contains("k" + k.value(v)); },
            both({name}, k.operands)};
  }
  if (choice == 1 && !scope.booleans.empty()) return read<bool>(one_of(scope.booleans));
  if (choice == 2) {
    const auto c = computed(scope, depth + 1);
    const auto k = integer(scope, depth + 1);
    return {"contains(" + c.text + ", " + k.text + ")",
            [=](const Values& v) { return c.value(v).contains(k.value(v)); },
            both(c.operands, k.operands)};
  }
  if (choice == 3) {
    const auto a = boolean(scope, depth + 1);
    const auto b = boolean(scope, depth + 1);
    return {"(" + a.text + " and not " + b.text + ")",
            [=](const Values& v) { return a.value(v) && !b.value(v); },
            both(a.operands, b.operands)};
  }
  if (choice == 4) {
    const auto a = string(scope, depth + 1);
    const auto b = string(scope, depth + 1);
    return {"(" + a.text + " == " + b.text + ")",
            [=](const Values& v) { return a.value(v) == b.value(v); },
            both(a.operands, b.operands)};
  }
  const auto a = integer(scope, depth + 1);
  const auto b = integer(scope, depth + 1);
  return {"(" + a.text + " < " + b.text + ")",
          [=](const Values& v) { return a.value(v) < b.value(v); }, both(a.operands, b.operands)};
}

}  // namespace rubato::flow::random_scripts

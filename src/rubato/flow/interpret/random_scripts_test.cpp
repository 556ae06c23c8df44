#include "rubato/flow/interpret/random_scripts_test.hpp"

#include <sstream>

#include "rubato/flow/interpret/run_script_test.hpp"

namespace rubato::flow::random_scripts {
namespace {

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

std::string shown(std::int64_t x) {
  return std::to_string(x);
}
std::string shown(const std::string& x) {
  return x;
}
std::string shown(bool x) {
  return x ? "true" : "false";
}
template <class M>
std::string shown_members(const M& all) {
  std::string text = "{";
  for (const auto& [key, value] : all)
    text += (text.size() > 1 ? ", " : "") + std::to_string(key) + ": " + shown(value);
  return text + "}";
}
std::string joined(const Words& all, const std::string& by) {
  std::string text;
  for (const auto& [key, value] : all)
    text += (key == all.begin()->first ? "" : by) + value;
  return text;
}

std::vector<std::string> both(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

template <class T>
Made<T> read(const std::string& name) {
  return {name, [name](const Values& values) { return std::get<T>(values.at(name)); }, {name}};
}

}  // namespace

// Each operation is followed by a remainder, so that nothing overflows.
Made<std::int64_t> ScriptMaker::integer(const Scope& scope, int depth) {
  const std::int64_t choice = depth > 2 ? below(2) : below(7);
  if (choice == 0 || (choice == 1 && scope.integers.empty())) {
    const std::int64_t n = below(40) - 10;
    return {"(" + std::to_string(n) + ")", [n](const Values&) { return n; }};
  }
  if (choice == 1) return read<std::int64_t>(one_of(scope.integers));
  if (!scope.floats.empty() && one_in(2)) {
    const auto x = one_of(scope.floats);  // of integers, what is cut off earlier is another number
    return {"int(" + x + " / 4 * 3)",
            [x](const Values& v) {
              return static_cast<std::int64_t>(std::get<double>(v.at(x)) / 4 * 3);
            },
            {x}};
  }
  if (choice == 2) {
    const auto s = string(scope, depth + 1);
    return {"length(" + s.text + ")",
            [s](const Values& v) { return static_cast<std::int64_t>(s.value(v).size()); }, s.names};
  }
  if (choice == 3) return integer_of_container(scope, depth);
  const auto a = integer(scope, depth + 1);
  const auto b = integer(scope, depth + 1);
  const std::int64_t op = below(4);
  const char* const ops[] = {"+", "-", "*"};
  if (op == 3) {
    return {"max(" + a.text + ", " + b.text + ")",
            [=](const Values& v) { return std::max(a.value(v), b.value(v)); },
            both(a.names, b.names)};
  }
  const auto value = [=](const Values& v) {
    const std::int64_t x = a.value(v);
    const std::int64_t y = b.value(v);
    return (op == 0 ? x + y : op == 1 ? x - y : x * y) % 97;
  };
  return {"((" + a.text + " " + ops[op] + " " + b.text + ") % 97)", value, both(a.names, b.names)};
}

Made<std::int64_t> ScriptMaker::integer_of_container(const Scope& scope, int depth) {
  const std::int64_t choice = below(4);
  if (choice == 0 && !scope.numbers.empty()) {
    const std::string name = one_of(scope.numbers);
    return {"size(" + name + ")",
            [name](const Values& v) {
              return static_cast<std::int64_t>(std::get<Numbers>(v.at(name)).size());
            },
            {name}};
  }
  if (choice == 1 && !scope.numbers.empty()) {
    const std::string name = one_of(scope.numbers);  // which have the key 2
    return {name + "[1 + 1]",
            [name](const Values& v) { return std::get<Numbers>(v.at(name)).at(2); },
            {name}};
  }
  const auto c = computed(scope, depth + 1);
  return {"size(" + c.text + ")",
          [c](const Values& v) { return static_cast<std::int64_t>(c.value(v).size()); }, c.names};
}

Made<Words> ScriptMaker::computed(const Scope& scope, int depth) {
  const auto s = string(scope, depth + 1);
  const std::string by = one_in(3) ? "" : one_in(2) ? "," : "a";
  return {by.empty() ? "split(" + s.text + ")" : "split(" + s.text + ", " + in_quotes(by) + ")",
          [=](const Values& v) { return split(s.value(v), by); }, s.names};
}

Made<std::string> ScriptMaker::string(const Scope& scope, int depth) {
  const std::int64_t choice = depth > 2 ? below(2) : below(8);
  if (choice == 0 || (choice == 1 && scope.strings.empty())) {
    std::string text = one_of({"", "a", "b,a", "x y", "1,22,3", " a ba ", "wave"});
    return {in_quotes(text), [text](const Values&) { return text; }};
  }
  if (choice == 1) return read<std::string>(one_of(scope.strings));
  if (choice == 2) {
    const auto n = integer(scope, depth + 1);
    return {"string(" + n.text + ")", [n](const Values& v) { return shown(n.value(v)); }, n.names};
  }
  if (choice == 3) {
    const auto c = computed(scope, depth + 1);
    return {"join(" + c.text + ", \"+\")", [c](const Values& v) { return joined(c.value(v), "+"); },
            c.names};
  }
  if (choice == 4 && !scope.words.empty()) {
    const std::string name = one_of(scope.words);
    return {"join(" + name + ", \",\")",
            [name](const Values& v) { return joined(std::get<Words>(v.at(name)), ","); },
            {name}};
  }
  if (choice == 5 && !scope.words.empty()) {
    const std::string name = one_of(scope.words);  // which have the key 0
    return {name + "[0]",
            [name](const Values& v) { return std::get<Words>(v.at(name)).at(0); },
            {name}};
  }
  const auto a = string(scope, depth + 1);
  const auto b = string(scope, depth + 1);
  // Short enough, however often it is used.
  return {"substring(" + a.text + " ++ " + b.text + ", 0, 12)",
          [=](const Values& v) { return (a.value(v) + b.value(v)).substr(0, 12); },
          both(a.names, b.names)};
}

Made<bool> ScriptMaker::boolean(const Scope& scope, int depth) {
  const std::int64_t choice = depth > 2 ? 0 : below(5);
  if (choice == 1 && !scope.booleans.empty()) return read<bool>(one_of(scope.booleans));
  if (choice == 2) {
    const auto c = computed(scope, depth + 1);
    const auto k = integer(scope, depth + 1);
    return {"contains(" + c.text + ", " + k.text + ")",
            [=](const Values& v) { return c.value(v).contains(k.value(v)); },
            both(c.names, k.names)};
  }
  if (choice == 3) {
    const auto a = boolean(scope, depth + 1);
    const auto b = boolean(scope, depth + 1);
    return {"(" + a.text + " and not " + b.text + ")",
            [=](const Values& v) { return a.value(v) && !b.value(v); }, both(a.names, b.names)};
  }
  if (choice == 4) {
    const auto a = string(scope, depth + 1);
    const auto b = string(scope, depth + 1);
    return {"(" + a.text + " == " + b.text + ")",
            [=](const Values& v) { return a.value(v) == b.value(v); }, both(a.names, b.names)};
  }
  const auto a = integer(scope, depth + 1);
  const auto b = integer(scope, depth + 1);
  return {"(" + a.text + " < " + b.text + ")",
          [=](const Values& v) { return a.value(v) < b.value(v); }, both(a.names, b.names)};
}

// Several names, each of which may need those before it; shuffled.
void ScriptMaker::add_declaration(Block& to, Scope& scope) {
  const bool is_integer = one_in(2);
  std::vector<std::string> parts;
  const std::int64_t n = 1 + below(3);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::string name = new_name("v");
    if (is_integer) {
      const auto e = integer(scope, 0);
      parts.push_back(name + " = " + e.text);
      to.runs.emplace_back([=](Values& v, std::string&) { v[name] = e.value(v); });
      scope.integers.push_back(name);
    } else {
      const auto e = string(scope, 0);
      parts.push_back(name + " = " + e.text);
      to.runs.emplace_back([=](Values& v, std::string&) { v[name] = e.value(v); });
      scope.strings.push_back(name);
    }
  }
  std::string text = is_integer ? "integer " : "string ";
  for (const std::string& part : parts)
    text += (&part == parts.data() ? "" : ", ") + part;
  to.declared.push_back(text);
}

// Declared here, set by another statement: an assignment, or both branches of an `if`.
void ScriptMaker::add_late(Block& to, Scope& scope, int depth) {
  const std::string name = new_name("b");
  to.declared.push_back("boolean " + name);
  const auto a = boolean(scope, 0);
  if (depth > 1 || one_in(2)) {
    to.texts.push_back(name + " = " + a.text);
    to.runs.emplace_back([=](Values& v, std::string&) { v[name] = a.value(v); });
  } else {
    const auto condition = boolean(scope, 0);
    const auto b = boolean(scope, 0);
    to.texts.push_back("if " + condition.text + " { " + name + " = " + a.text + " } else { " +
                       name + " = " + b.text + " }");
    to.runs.emplace_back(
        [=](Values& v, std::string&) { v[name] = condition.value(v) ? a.value(v) : b.value(v); });
  }
  scope.booleans.push_back(name);
}

void ScriptMaker::add_print(Block& to, const Scope& scope) {
  const auto n = integer(scope, 0);
  const auto s = string(scope, 0);
  const auto b = boolean(scope, 0);
  std::string more;
  std::function<std::string(const Values&)> shows = [](const Values&) { return std::string(); };
  if (!scope.words.empty() && one_in(2)) {
    const std::string name = one_of(scope.words);
    more = ", " + name;
    shows = [name](const Values& v) { return " " + shown_members(std::get<Words>(v.at(name))); };
  } else if (one_in(2)) {
    const auto c = computed(scope, 0);
    more = ", " + c.text;
    shows = [c](const Values& v) { return " " + shown_members(c.value(v)); };
  }
  to.texts.push_back("print(" + n.text + ", " + s.text + ", " + b.text + more + ")");
  to.runs.emplace_back([=](Values& v, std::string& out) {
    out += shown(n.value(v)) + " " + s.value(v) + " " + shown(b.value(v)) + shows(v) + "\n";
  });
}

void ScriptMaker::add_branches(Block& to, const Scope& scope, int depth) {
  const auto condition = boolean(scope, 0);
  const MadeStatement yes = block(scope, depth + 1, 2);
  const MadeStatement no = block(scope, depth + 1, 2);
  to.texts.push_back("if " + condition.text + " {\n" + yes.text + "} else {\n" + no.text + "}");
  to.runs.emplace_back([=](Values& v, std::string& out) {
    Values inner = v;
    (condition.value(v) ? yes : no).run(inner, out);
  });
}

// Filled by a loop, or by split().
void ScriptMaker::add_container(Block& to, Scope& scope) {
  if (one_in(2)) {
    const std::string name = new_name("w");
    const auto s = string(scope, 0);
    to.declared.push_back("container<integer, string> " + name + " = split(" + s.text + ", \",\")");
    to.runs.emplace_back([=](Values& v, std::string&) { v[name] = split(s.value(v), ","); });
    scope.words.push_back(name);
    return;
  }
  const std::string name = new_name("c");
  const std::string key = new_name("i");
  const std::int64_t last = 3 + below(8);
  Scope inner = scope;
  inner.integers.push_back(key);
  const auto e = integer(inner, 0);
  to.declared.push_back("container<integer, integer> " + name);
  to.texts.push_back("for " + key + " in [0 : " + std::to_string(last) + "] { insert " + name +
                     "[" + key + "] = " + e.text + " }");
  to.runs.emplace_back([=](Values& v, std::string&) {
    Values body = v;
    Numbers all;
    for (std::int64_t i = 0; i <= last; ++i) {
      body[key] = i;
      all[i] = e.value(body);
    }
    v[name] = all;
  });
  scope.numbers.push_back(name);
}

void ScriptMaker::add_each(Block& to, const Scope& scope, int depth) {
  const std::string key = new_name("k");
  const std::string value = new_name("x");
  Scope inner = scope;
  inner.integers.push_back(key);
  if (!scope.numbers.empty() && one_in(2)) {
    const std::string name = one_of(scope.numbers);
    inner.integers.push_back(value);
    const MadeStatement body = block(inner, depth + 1, 2);
    to.texts.push_back("foreach " + value + ", " + key + " in " + name + " {\n" + body.text + "}");
    to.runs.emplace_back([=](Values& v, std::string& out) {
      for (const auto& [k, x] : std::get<Numbers>(v.at(name))) {
        Values each = v;
        each[key] = k;
        each[value] = x;
        body.run(each, out);
      }
    });
    return;
  }
  const auto c =
      !scope.words.empty() && one_in(2) ? read<Words>(one_of(scope.words)) : computed(scope, 0);
  inner.strings.push_back(value);
  const MadeStatement body = block(inner, depth + 1, 2);
  to.texts.push_back("foreach " + value + ", " + key + " in " + c.text + " {\n" + body.text + "}");
  to.runs.emplace_back([=](Values& v, std::string& out) {
    for (const auto& [k, x] : c.value(v)) {
      Values each = v;
      each[key] = k;
      each[value] = x;
      body.run(each, out);
    }
  });
}

void ScriptMaker::add_call(Block& to, Scope& scope) {
  const Function& f =
      functions_[static_cast<std::size_t>(below(static_cast<std::int64_t>(functions_.size())))];
  const auto n = integer(scope, 0);
  // For a float: an integer that an expression makes, or one that may be open.
  const auto x = scope.integers.empty() || one_in(2) ? integer(scope, 0)
                                                     : read<std::int64_t>(one_of(scope.integers));
  const auto s = string(scope, 0);
  const std::string name = new_name("r");
  to.declared.push_back("integer " + name);
  std::string inputs;
  std::vector<std::string> names = both(n.names, s.names);
  if (!x.is_name() || one_in(2)) names = both(names, x.names);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& input : names)
    inputs += input + " ";
  to.texts.push_back("when {" + inputs + "} then {" + name + "} from {" + f.name + " (" + n.text +
                     ") (" + x.text + ") (" + s.text + ")}");
  to.runs.emplace_back([=, call = f.call](Values& v, std::string& out) {
    v[name] = call(n.value(v), static_cast<double>(x.value(v)), s.value(v), out);
  });
  scope.integers.push_back(name);
}

void ScriptMaker::add(Block& to, Scope& scope, int depth) {
  switch (below(depth > 1 ? 5 : 8)) {
    case 0:
      return add_declaration(to, scope);
    case 1:
      return add_late(to, scope, depth);
    case 2:
      return add_container(to, scope);
    case 3:
      if (!functions_.empty()) return add_call(to, scope);
      return add_print(to, scope);
    case 5:
      return add_branches(to, scope, depth);
    case 6:
    case 7:
      return add_each(to, scope, depth);
    default:
      return add_print(to, scope);
  }
}

MadeStatement ScriptMaker::block(Scope scope, int depth, int n_statements) {
  Block made;
  for (int i = 0; i < n_statements; ++i)
    add(made, scope, depth);
  add_print(made, scope);
  for (std::size_t i = made.texts.size(); i > 1; --i)
    std::swap(made.texts[i - 1],
              made.texts[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
  std::string text;
  for (const std::string& each : both(made.declared, made.texts))
    text += each + "\n";
  return {text, [runs = made.runs](Values& v, std::string& out) {
            for (const auto& run : runs)
              run(v, out);
          }};
}

// function f(integer n, float x, string s) to (integer m)
std::string ScriptMaker::function() {
  const std::string name = new_name("f");
  Scope scope;
  const std::string n = new_name("n");
  const std::string x = new_name("x");
  const std::string s = new_name("s");
  scope.integers.push_back(n);
  scope.floats.push_back(x);
  scope.strings.push_back(s);
  const auto result = integer(scope, 0);
  const MadeStatement body = block(scope, 1, 2);
  const std::string m = new_name("m");
  functions_.push_back(
      {name, [=](std::int64_t number, double real, const std::string& text, std::string& out) {
         Values values{{n, number}, {x, real}, {s, text}};
         const std::int64_t value = result.value(values);
         body.run(values, out);
         return value;
       }});
  return "function " + name + "(integer " + n + ", float " + x + ", string " + s +
         ") to (integer " + m + ") {\n" + body.text + m + " = " + result.text + "\n}\n";
}

std::string ScriptMaker::make(std::string& out) {
  std::string text;
  for (std::int64_t i = below(3); i > 0; --i)
    text += function();
  const MadeStatement main = block({}, 0, 5);
  Values values;
  main.run(values, out);
  return text + main.text;
}

}  // namespace rubato::flow::random_scripts

namespace rubato::flow {
namespace {

class RandomScripts : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomScripts, print_what_a_direct_evaluation_prints_on_all_shapes) {
  const std::uint64_t n = n_seeds(50);
  for (std::uint64_t seed = GetParam() * n; seed < (GetParam() + 1) * n; ++seed) {
    std::string expected;
    const std::string text = random_scripts::ScriptMaker(seed).make(expected);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    Ran ran;
    ASSERT_NO_THROW(ran = run_text(seed, text));
    ASSERT_EQ(ran.result.text(), "");
    ASSERT_EQ(ran.out, sorted_lines(expected));
    ASSERT_EQ(ran.result.n_data_held, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, RandomScripts,
                         ::testing::Range(std::uint64_t{0}, std::uint64_t{4}));

}  // namespace
}  // namespace rubato::flow

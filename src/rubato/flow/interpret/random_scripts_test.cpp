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

template <class T>
Made<T> read(const std::string& name) {
  return {name, [name](const Values& values) { return get<T>(values, name); }, {name}};
}

// The variable that an operand is, or is a member of.
std::string root_of(const std::string& operand) {
  return operand.substr(0, operand.find('['));
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
    const auto* const numbers = std::get_if<Numbers>(&value);
    if (numbers == nullptr) return true;
    if (operand == name) return is_whole(*numbers);
    const auto member = numbers->members.find(2);  // that is read of them
    return member != numbers->members.end() && member->second.has_value();
  });
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
  const std::int64_t choice = below(4);
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
  const std::int64_t choice = depth > 2 ? below(2) : below(8);
  if (choice == 0 || (choice == 1 && scope.strings.empty())) {
    std::string text = one_of({"", "a", "b,a", "x y", "1,22,3", " a ba ", "wave"});
    return {in_quotes(text), [text](const Values&) { return text; }};
  }
  if (choice == 1) return read<std::string>(one_of(scope.strings));
  if (choice == 2) {
    const auto n = integer(scope, depth + 1);
    return {"string(" + n.text + ")", [n](const Values& v) { return shown(n.value(v)); },
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
  const auto a = string(scope, depth + 1);
  const auto b = string(scope, depth + 1);
  // Short enough, however often it is used.
  return {"substring(" + a.text + " ++ " + b.text + ", 0, 12)",
          [=](const Values& v) { return (a.value(v) + b.value(v)).substr(0, 12); },
          both(a.operands, b.operands)};
}

Made<bool> ScriptMaker::boolean(const Scope& scope, int depth) {
  const std::int64_t choice = depth > 2 ? 0 : below(5);
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

// Several names, each of which may need those before it; shuffled.
void ScriptMaker::add_declaration(Block& to, Scope& scope) {
  const bool is_integer = one_in(2);
  std::vector<std::string> parts;
  const auto add_run = [&](const auto& e, const std::string& name) {
    to.runs.emplace_back([=](Values& v, Outcome& out) {
      v[name] = Failed();
      perform(out, are_there(e.operands, v), [&] { v[name] = e.value(v); });
    });
  };
  const std::int64_t n = 1 + below(3);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::string name = new_name("v");
    if (is_integer) {
      const auto e = integer(scope, 0);
      parts.push_back(name + " = " + e.text);
      add_run(e, name);
      scope.integers.push_back(name);
    } else {
      const auto e = string(scope, 0);
      parts.push_back(name + " = " + e.text);
      add_run(e, name);
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
  const auto assign = [name](Values& v, Outcome& out, const Made<bool>& e) {
    perform(out, are_there(e.operands, v), [&] { v[name] = e.value(v); });
  };
  if (depth > 1 || one_in(2)) {
    to.texts.push_back(name + " = " + a.text);
    to.runs.emplace_back([=](Values& v, Outcome& out) {
      v[name] = Failed();
      assign(v, out, a);
    });
  } else {
    const auto condition = boolean(scope, 0);
    const auto b = boolean(scope, 0);
    to.texts.push_back("if " + condition.text + " { " + name + " = " + a.text + " } else { " +
                       name + " = " + b.text + " }");
    to.runs.emplace_back([=](Values& v, Outcome& out) {
      v[name] = Failed();
      bool holds = false;
      if (perform(out, are_there(condition.operands, v), [&] { holds = condition.value(v); }))
        assign(v, out, holds ? a : b);
    });
  }
  scope.booleans.push_back(name);
}

void ScriptMaker::add_print(Block& to, const Scope& scope) {
  const auto n = integer(scope, 0);
  const auto s = string(scope, 0);
  const auto b = boolean(scope, 0);
  std::string more;
  Operands operands = both(both(n.operands, s.operands), b.operands);
  std::function<std::string(const Values&)> shows = [](const Values&) { return std::string(); };
  if (!scope.words.empty() && one_in(2)) {
    const std::string name = one_of(scope.words);
    more = ", " + name;
    operands.push_back(name);
    shows = [name](const Values& v) { return " " + shown_members(get<Words>(v, name)); };
  } else if (one_in(2)) {
    const auto c = computed(scope, 0);
    more = ", " + c.text;
    operands = both(operands, c.operands);
    shows = [c](const Values& v) { return " " + shown_members(c.value(v)); };
  }
  to.texts.push_back("print(" + n.text + ", " + s.text + ", " + b.text + more + ")");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    perform(out, are_there(operands, v), [&] {
      out.lines += shown(n.value(v)) + " " + s.value(v) + " " + shown(b.value(v)) + shows(v) + "\n";
    });
  });
}

void ScriptMaker::add_branches(Block& to, const Scope& scope, int depth) {
  const auto condition = boolean(scope, 0);
  const MadeStatement yes = block(scope, depth + 1, 2);
  const MadeStatement no = block(scope, depth + 1, 2);
  to.texts.push_back("if " + condition.text + " {\n" + yes.text + "} else {\n" + no.text + "}");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    Values inner = v;
    bool holds = false;
    if (perform(out, are_there(condition.operands, v), [&] { holds = condition.value(v); }))
      (holds ? yes : no).run(inner, out);
  });
}

// Filled by a loop, or by split().
void ScriptMaker::add_container(Block& to, Scope& scope) {
  if (one_in(2)) {
    const std::string name = new_name("w");
    const auto s = string(scope, 0);
    to.declared.push_back("container<integer, string> " + name + " = split(" + s.text + ", \",\")");
    to.runs.emplace_back([=](Values& v, Outcome& out) {
      v[name] = Failed();
      perform(out, are_there(s.operands, v), [&] { v[name] = split(s.value(v), ","); });
    });
    scope.words.push_back(name);
    return;
  }
  const std::string name = new_name("c");
  const std::string key = new_name("i");
  const std::int64_t last = 3 + below(8);
  Scope inner = scope;
  inner.integers.push_back(key);
  const auto k = this->key(key, inner);
  const auto e = integer(inner, 0);
  to.declared.push_back("container<integer, integer> " + name);
  to.texts.push_back("for " + key + " in [0 : " + std::to_string(last) + "] { insert " + name +
                     "[" + k.text + "] = " + e.text + " }");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    Values body = v;
    Numbers all;
    for (std::int64_t i = 0; i <= last; ++i) {
      body[key] = i;
      insert(all, k, e, body, out);
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
    to.runs.emplace_back([=](Values& v, Outcome& out) {
      for (const auto& [k, x] : get<Numbers>(v, name).members) {
        Values each = v;
        each[key] = k;
        each[value] = x ? Anything(*x) : Failed();
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
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    Words all;
    // A container that has failed has no members.
    const bool is_name = c.is_name();
    if (is_name && !are_there(c.operands, v)) return;
    perform(out, is_name || are_there(c.operands, v), [&] { all = c.value(v); });
    for (const auto& [k, x] : all) {
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
  Operands operands = both(n.operands, s.operands);
  if (!x.is_name() || one_in(2)) operands = both(operands, x.operands);
  operands = roots_of(operands);
  for (const std::string& input : operands)
    inputs += input + " ";
  to.texts.push_back("when {" + inputs + "} then {" + name + "} from {" + f.name + " (" + n.text +
                     ") (" + x.text + ") (" + s.text + ")}");
  to.runs.emplace_back([=, call = f.call](Values& v, Outcome& out) {
    v[name] = Failed();
    const bool is_there = are_there(x.operands, v);
    perform(out, are_there(operands, v), [&] {
      // What is open may fail later.
      const Anything real =
          is_there ? Anything(static_cast<double>(x.value(v))) : Anything(Failed());
      const std::int64_t number = n.value(v);
      v[name] = call(number, real, s.value(v), out);
    });
  });
  scope.integers.push_back(name);
}

void ScriptMaker::add(Block& to, Scope& scope, int depth) {
  if (may_fail_ && depth == 0 && one_in(3)) return add_rows(to, scope);
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
  return {text, [runs = made.runs](Values& v, Outcome& out) {
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
      {name, [=](std::int64_t number, const Anything& real, const std::string& text, Outcome& out) {
         Values values{{n, number}, {x, real}, {s, text}};
         Anything value = Failed();
         perform(out, are_there(result.operands, values), [&] { value = result.value(values); });
         body.run(values, out);
         return value;
       }});
  return "function " + name + "(integer " + n + ", float " + x + ", string " + s +
         ") to (integer " + m + ") {\n" + body.text + m + " = " + result.text + "\n}\n";
}

std::string ScriptMaker::make(Outcome& out) {
  std::string text;
  for (std::int64_t i = below(3); i > 0; --i)
    text += function();
  for (std::int64_t i = may_fail_ ? 2 : 0; i > 0; --i)
    text += row_function();
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
    random_scripts::Outcome expected;
    const std::string text = random_scripts::ScriptMaker(seed).make(expected);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    Ran ran;
    ASSERT_NO_THROW(ran = run_text(seed, text));
    ASSERT_EQ(ran.result.text(), "");
    ASSERT_EQ(ran.out, sorted_lines(expected.lines));
    ASSERT_EQ(ran.result.n_data_held, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, RandomScripts,
                         ::testing::Range(std::uint64_t{0}, std::uint64_t{4}));

}  // namespace
}  // namespace rubato::flow

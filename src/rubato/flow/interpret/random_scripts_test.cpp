// Random scripts: blocks, and statements that all of them have; and the tests of those that do not fail.

#include "rubato/flow/interpret/random_scripts_test.hpp"

#include "rubato/flow/interpret/random_runs_test.hpp"

namespace rubato::flow::random_scripts {
namespace {

std::string shown(bool x) {
  return x ? "true" : "false";
}
std::string shown_members(const Words& all) {
  std::string text = "{";
  for (const auto& [key, value] : all)
    text += (text.size() > 1 ? ", " : "") + std::to_string(key) + ": " + value;
  return text + "}";
}

}  // namespace

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

// Declared here, set by another statement: an assignment, or all branches of an `if` or a `switch`.
void ScriptMaker::add_late(Block& to, Scope& scope, int depth) {
  const std::string name = new_name("b");
  to.declared.push_back("boolean " + name);
  if (depth <= 1 && one_in(3)) {
    add_late_switch(to, scope, name);
    scope.booleans.push_back(name);
    return;
  }
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
      out.lines +=
          std::to_string(n.value(v)) + " " + s.value(v) + " " + shown(b.value(v)) + shows(v) + "\n";
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
  if (!scope.tables.empty() && one_in(3)) {
    const std::string name = one_of(scope.tables);
    inner.strings.push_back(key);
    inner.integers.push_back(value);
    const MadeStatement body = block(inner, depth + 1, 2);
    to.texts.push_back("foreach " + value + ", " + key + " in " + name + " {\n" + body.text + "}");
    to.runs.emplace_back([=](Values& v, Outcome& out) {
      for (const auto& [k, x] : get<Table>(v, name).members) {
        Values each = v;
        each[key] = k;
        each[value] = x ? Anything(*x) : Failed();
        body.run(each, out);
      }
    });
    return;
  }
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
  if (!kinds_.folder.empty() && one_in(4)) return add_leaf(to, scope, depth);
  switch (below(depth > 1 ? 9 : 14)) {
    case 0:
      return add_declaration(to, scope);
    case 1:
      return add_late(to, scope, depth);
    case 2:
      return add_container(to, scope);
    case 3:
      if (!functions_.empty()) return add_call(to, scope);
      return add_print(to, scope);
    case 4:
      return add_struct(to, scope);
    case 5:
      return add_table(to, scope);
    case 6:
      return add_said(to, scope);
    case 7:
      if (may_fail_) return add_assert(to, scope);
      return add_print(to, scope);
    case 9:
      return add_branches(to, scope, depth);
    case 10:
      return add_each(to, scope, depth);
    case 11:
      return add_loop(to, scope, depth);
    case 12:
      return add_switch(to, scope, depth);
    case 13:
      return add_wait(to, scope, depth);
    default:
      return add_print(to, scope);
  }
}

MadeStatement ScriptMaker::block(Scope scope, int depth, int n_statements) {
  Block made;
  for (int i = 0; i < n_statements; ++i)
    add(made, scope, depth);
  add_print(made, scope);
  return finished(std::move(made));
}

MadeStatement ScriptMaker::finished(Block made) {
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
  std::string text = leaves() + struct_types();
  for (std::int64_t i = below(3); i > 0; --i)
    text += function();
  text += struct_function();
  for (std::int64_t i = may_fail_ ? 2 : 0; i > 0; --i)
    text += row_function();
  const MadeStatement main = block({}, 0, kinds_.n_statements);
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
    const random_scripts::RandomScript script(seed);
    ASSERT_NO_FATAL_FAILURE(random_scripts::run_as_expected(seed, script, shape_of(seed)));
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, RandomScripts,
                         ::testing::Range(std::uint64_t{0}, std::uint64_t{4}));

}  // namespace
}  // namespace rubato::flow

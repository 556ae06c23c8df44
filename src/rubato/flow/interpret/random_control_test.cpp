// Random scripts: what runs in turns, in one of several cases, and after something else.

#include "rubato/flow/interpret/random_scripts_test.hpp"

namespace rubato::flow::random_scripts {

// Its block reads other variables, too, and has to wait for these by itself.
void ScriptMaker::add_wait(Block& to, const Scope& scope, int depth) {
  Operands all;
  for (const auto* names : {&scope.integers, &scope.strings, &scope.booleans, &scope.numbers,
                            &scope.tables, &scope.words, &scope.files, &scope.voids})
    all = both(all, *names);
  if (all.empty()) return add_print(to, scope);
  Operands operands;
  for (std::int64_t i = below(3); i >= 0; --i)
    operands.push_back(one_of(all));
  std::string inputs;
  for (const std::string& operand : operands)
    inputs += operand + " ";
  if (!scope.structs.empty() && one_in(2)) {
    const auto& [name, type] = scope.structs.back();
    inputs += name;
    operands = both(operands, fields_of(name, type));
  }
  const MadeStatement body = block(scope, depth + 1, 1);
  to.texts.push_back("wait (" + inputs + ") {\n" + body.text + "}");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    Values inner = v;
    if (perform(out, are_there(operands, v), [] {})) body.run(inner, out);
  });
}

// Of integers with several labels a case, of strings, and of booleans without a default.
void ScriptMaker::add_switch(Block& to, const Scope& scope, int depth) {
  std::vector<MadeStatement> bodies;
  std::vector<std::string> labels;
  Operands operands;
  std::function<std::size_t(const Values&)> chosen;  // of the bodies; beyond them: none
  std::string subject;
  if (one_in(3)) {
    const auto e = boolean(scope, 0);
    subject = e.text;
    operands = e.operands;
    labels = {"case true", "case false"};
    chosen = [e](const Values& v) { return e.value(v) ? std::size_t{0} : std::size_t{1}; };
  } else if (one_in(2)) {
    const auto e = string(scope, 0);
    subject = e.text;
    operands = e.operands;
    labels = {"case \"\", \"a\"", "case \"wave\"", "default"};
    chosen = [e](const Values& v) {
      const std::string text = e.value(v);
      return text.empty() || text == "a" ? std::size_t{0} : std::size_t{text == "wave" ? 1U : 2U};
    };
  } else {
    const auto e = integer(scope, 0);
    subject = "(" + e.text + " % 3)";
    operands = e.operands;
    labels = {"case 0", "case 1, -1, 7"};
    if (one_in(2)) labels.emplace_back("default");
    chosen = [e](const Values& v) {
      const std::int64_t x = e.value(v) % 3;
      return x == 0 ? std::size_t{0} : std::size_t{x == 1 || x == -1 ? 1U : 2U};
    };
  }
  std::string text = "switch " + subject + " {\n";
  for (const std::string& label : labels) {
    bodies.push_back(block(scope, depth + 1, 1));
    text += label + " {\n" + bodies.back().text + "}\n";
  }
  to.texts.push_back(text + "}");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    std::size_t n = bodies.size();
    perform(out, are_there(operands, v), [&] { n = chosen(v); });
    Values inner = v;
    if (n < bodies.size()) bodies[n].run(inner, out);
  });
}

// A boolean that is set in each case.
void ScriptMaker::add_late_switch(Block& to, const Scope& scope, const std::string& name) {
  const auto subject = integer(scope, 0);
  std::vector<Made<bool>> values;
  std::string text = "switch (" + subject.text + " % 2) { ";
  for (const char* label : {"case 0", "default"}) {
    values.push_back(boolean(scope, 1));
    text += std::string(label) + " { " + name + " = " + values.back().text + " } ";
  }
  to.texts.push_back(text + "}");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    v[name] = Failed();
    std::size_t n = 0;
    if (!perform(out, are_there(subject.operands, v),
                 [&] { n = subject.value(v) % 2 == 0 ? 0 : 1; }))
      return;
    perform(out, are_there(values[n].operands, v), [&] { v[name] = values[n].value(v); });
  });
}

// What the next round begins with; its values are then those of i' and s'.
void ScriptMaker::add_next(Block& to, const Scope& scope, const std::string& i,
                           const std::string& s) {
  struct Next {
    std::string text;
    Run run;
  };
  const auto make = [&] {
    const std::int64_t step = 1 + below(2);
    const auto e = string(scope, 1);
    const Operands operands = both({i}, e.operands);
    return Next{"next (" + i + " + " + std::to_string(step) + ", " + e.text + ")",
                [=](Values& v, Outcome& out) {
                  perform(out, are_there(operands, v), [&] {
                    v[s + "'"] = e.value(v);
                    v[i + "'"] = get<std::int64_t>(v, i) + step;
                  });
                }};
  };
  const Next first = make();
  if (one_in(2)) {
    to.texts.push_back(first.text);
    to.runs.push_back(first.run);
    return;
  }
  const Next second = make();
  const auto condition = boolean(scope, 1);
  to.texts.push_back("if " + condition.text + " { " + first.text + " } else { " + second.text +
                     " }");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    bool holds = false;
    if (perform(out, are_there(condition.operands, v), [&] { holds = condition.value(v); }))
      (holds ? first : second).run(v, out);
  });
}

// Rounds that follow each other, with an integer and a string as their state.
void ScriptMaker::add_loop(Block& to, Scope& scope, int depth) {
  const std::string i = new_name("i");
  const std::string s = new_name("s");
  const auto first_i = integer(scope, 1);
  const auto first_s = string(scope, 1);
  Scope inner = scope;
  inner.integers.push_back(i);
  inner.strings.push_back(s);
  const std::int64_t end = 1 + below(3);
  const auto more = boolean(inner, 1);
  const bool has_more = one_in(3);
  Block made;
  add(made, inner, depth + 1);
  add_print(made, inner);
  add_next(made, inner, i, s);
  const MadeStatement body = finished(std::move(made));
  // As many of the last ones of its state as it likes.
  const std::int64_t n_results = below(3);
  const std::string to_i = n_results == 2 ? new_name("r") : "";
  const std::string to_s = n_results > 0 ? new_name("r") : "";
  if (n_results == 2) to.declared.push_back("integer " + to_i);
  if (n_results > 0) to.declared.push_back("string " + to_s);
  to.texts.push_back("loop (integer " + i + " = (" + first_i.text + " % 3), string " + s + " = " +
                     first_s.text + ") while " + i + " < " + std::to_string(end) +
                     (has_more ? " and " + more.text : "") + " {\n" + body.text + "}" +
                     (n_results > 0 ? " to (" + to_i + " " + to_s + ")" : ""));
  const Operands of_first = both(first_i.operands, first_s.operands);
  const Operands of_round = both({i}, has_more ? more.operands : Operands());
  const auto run = [=](Values& v, Outcome& out, Anything& last_i, Anything& last_s) {
    Values each = v;
    if (!perform(out, are_there(of_first, v), [&] {
          each[i] = first_i.value(v) % 3;
          each[s] = first_s.value(v);
        }))
      return;
    while (true) {
      bool holds = false;
      if (!perform(out, are_there(of_round, each), [&] {
            holds = get<std::int64_t>(each, i) < end && (!has_more || more.value(each));
          }))
        return;
      if (!holds) break;
      Values round = each;
      round[i + "'"] = Failed();
      round[s + "'"] = Failed();
      body.run(round, out);
      if (std::holds_alternative<Failed>(round[i + "'"])) return;
      each[i] = round[i + "'"];
      each[s] = round[s + "'"];
    }
    last_i = each[i];
    last_s = each[s];
  };
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    Anything last_i = Failed();
    Anything last_s = Failed();
    run(v, out, last_i, last_s);
    if (!to_i.empty()) v[to_i] = last_i;
    if (!to_s.empty()) v[to_s] = last_s;
  });
  if (!to_i.empty()) scope.integers.push_back(to_i);
  if (!to_s.empty()) scope.strings.push_back(to_s);
}

// A rule with an expression, and a void that is closed when something is printed.
void ScriptMaker::add_said(Block& to, Scope& scope) {
  const auto e = integer(scope, 1);
  const std::string x = new_name("v");
  std::string inputs;
  const Operands operands = roots_of(e.operands);
  for (const std::string& input : operands)
    inputs += input + " ";
  to.declared.push_back("integer " + x);
  to.texts.push_back("when {" + inputs + "} then {" + x + "} from {= " + e.text + "}");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    v[x] = Failed();
    perform(out, are_there(operands, v), [&] { v[x] = e.value(v); });
  });
  scope.integers.push_back(x);
  const std::string said = new_name("d");
  to.declared.push_back("void " + said);
  to.texts.push_back("when {" + x + "} then {" + said + "} from {print \"said\" " + x + "}");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    v[said] = Failed();
    perform(out, are_there({x}, v), [&] {
      out.lines += "said " + std::to_string(get<std::int64_t>(v, x)) + "\n";
      v[said] = true;
    });
  });
  scope.voids.push_back(said);
}

void ScriptMaker::add_assert(Block& to, const Scope& scope) {
  const auto e = boolean(scope, 0);
  to.texts.push_back("assert(" + e.text + ", \"it is so\")");
  to.runs.emplace_back([e](Values& v, Outcome& out) {
    perform(out, are_there(e.operands, v), [&] {
      if (!e.value(v)) throw Failed();
    });
  });
}

}  // namespace rubato::flow::random_scripts

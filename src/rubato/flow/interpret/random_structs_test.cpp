// Random scripts: structs, also in structs and as what functions take and set, and containers with
// strings as their keys. A field is a variable with a dot in its name.

#include "rubato/flow/interpret/random_scripts_test.hpp"

namespace rubato::flow::random_scripts {
namespace {

std::string shown(const Anything& value) {
  if (const auto* const n = std::get_if<std::int64_t>(&value)) return std::to_string(*n);
  return std::get<std::string>(value);
}

}  // namespace

// One of scalars, and one with that in it.
std::string ScriptMaker::struct_types() {
  StructType flat{new_name("pair"), "", {{".a", one_in(2)}, {".b", true}, {".c", false}}};
  StructType outer{new_name("pair"), ".p", {}};
  for (const Field& field : flat.fields)
    outer.fields.push_back({".p" + field.path, field.is_integer});
  outer.fields.push_back({".n", true});
  const std::string text =
      "struct " + flat.name + " { " + (flat.fields[0].is_integer ? "integer" : "string") +
      " a; integer b; string c }\nstruct " + outer.name + " { " + flat.name + " p\n  integer n }\n";
  struct_types_ = {std::move(flat), std::move(outer)};
  return text;
}

Operands ScriptMaker::fields_of(const std::string& name, std::size_t type) const {
  Operands all;
  for (const Field& field : struct_types_[type].fields)
    all.push_back(name + field.path);
  return all;
}

void ScriptMaker::declare_struct(Scope& scope, const std::string& name, std::size_t type) {
  for (const Field& field : struct_types_[type].fields)
    (field.is_integer ? scope.integers : scope.strings).push_back(name + field.path);
  scope.structs.emplace_back(name, type);
}

// `p.a = ..`
void ScriptMaker::add_field(Block& to, Scope& scope, const std::string& field, bool is_integer) {
  const auto add = [&](const auto& e) {
    to.texts.push_back(field + " = " + e.text);
    to.runs.emplace_back([=](Values& v, Outcome& out) {
      v[field] = Failed();
      perform(out, are_there(e.operands, v), [&] { v[field] = e.value(v); });
    });
  };
  is_integer ? add(integer(scope, 1)) : add(string(scope, 1));
}

// `name = from`, which waits for all fields.
void ScriptMaker::add_copied(Block& to, const std::string& from, const std::string& name,
                             std::size_t type) {
  to.texts.push_back(name + " = " + from);
  to.runs.emplace_back(
      [targets = fields_of(name, type), sources = fields_of(from, type)](Values& v, Outcome& out) {
        const bool is_whole = perform(out, are_there(sources, v), [] {});
        for (std::size_t i = 0; i < targets.size(); ++i)
          v[targets[i]] = is_whole ? v.at(sources[i]) : Failed();
      });
}

// Field by field, or a copy of one of those before. They come in groups.
void ScriptMaker::add_struct(Block& to, Scope& scope) {
  if (!struct_functions_.empty() && !scope.structs.empty() && one_in(2))
    return add_struct_call(to, scope);
  const std::size_t type = one_in(3) ? 1 : 0;
  const std::string name = new_name("p");
  to.declared.push_back(struct_types_[type].name + " " + name);
  const auto like = std::ranges::find(scope.structs, std::size_t{0},
                                      &std::pair<std::string, std::size_t>::second);
  const std::string& inner = struct_types_[type].inner;
  const bool copies = like != scope.structs.end() && one_in(2);
  if (copies) add_copied(to, like->first, name + inner, 0);
  for (const Field& field : struct_types_[type].fields) {
    if (!copies || (type == 1 && !field.path.starts_with(inner)))
      add_field(to, scope, name + field.path, field.is_integer);
  }
  declare_struct(scope, name, type);
  if (one_in(2)) add_struct(to, scope);
  if (type == 1 || one_in(2)) return;
  const Operands fields = fields_of(name, type);
  to.texts.push_back("print(\"struct\", " + name + ")");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    perform(out, are_there(fields, v), [&] {
      out.lines += "struct {a: " + shown(v.at(fields[0])) + ", b: " + shown(v.at(fields[1])) +
                   ", c: " + shown(v.at(fields[2])) + "}\n";
    });
  });
}

// function f(pair p, integer n) to (pair q)
std::string ScriptMaker::struct_function() {
  const std::string name = new_name("f");
  const std::size_t type = one_in(2) ? 1 : 0;
  const std::string& type_name = struct_types_[type].name;
  const std::string p = new_name("p");
  const std::string n = new_name("n");
  const std::string q = new_name("q");
  Scope scope;
  scope.integers.push_back(n);
  declare_struct(scope, p, type);
  Block made;
  add(made, scope, 2);
  if (type == 1 && one_in(2)) {
    add_copied(made, p + ".p", q + ".p", 0);
    add_field(made, scope, q + ".n", true);
  } else {
    for (const Field& field : struct_types_[type].fields)
      add_field(made, scope, q + field.path, field.is_integer);
  }
  const MadeStatement body = finished(std::move(made));
  const auto call = [=, parameters = fields_of(p, type), results = fields_of(q, type)](
                        const std::vector<Anything>& fields, std::int64_t number, Outcome& out) {
    Values values{{n, number}};
    for (std::size_t i = 0; i < fields.size(); ++i)
      values[parameters[i]] = fields[i];
    body.run(values, out);
    std::vector<Anything> set;
    for (const std::string& result : results)
      set.push_back(values.at(result));
    return set;
  };
  struct_functions_.push_back({name, type, call});
  return "function " + name + "(" + type_name + " " + p + ", integer " + n + ") to (" + type_name +
         " " + q + ") {\n" + body.text + "}\n";
}

// With a struct that is there, or one whose fields may be open.
void ScriptMaker::add_struct_call(Block& to, Scope& scope) {
  const StructFunction& f = struct_functions_.front();
  const auto like =
      std::ranges::find(scope.structs, f.type, &std::pair<std::string, std::size_t>::second);
  if (like == scope.structs.end()) return add_print(to, scope);
  const std::string p = like->first;
  const auto n = integer(scope, 1);
  const Operands fields = fields_of(p, f.type);
  Operands operands = roots_of(n.operands);
  std::string inputs;
  for (const std::string& input : operands)
    inputs += input + " ";
  if (one_in(2)) {
    inputs += p;
    operands = both(operands, fields);
  }
  const std::string name = new_name("p");
  to.declared.push_back(struct_types_[f.type].name + " " + name);
  to.texts.push_back("when {" + inputs + "} then {" + name + "} from {" + f.name + " " + p + " (" +
                     n.text + ")}");
  to.runs.emplace_back(
      [=, results = fields_of(name, f.type), call = f.call](Values& v, Outcome& out) {
        std::vector<Anything> set(results.size(), Failed());
        perform(out, are_there(operands, v), [&] {
          const std::int64_t number = n.value(v);
          std::vector<Anything> given;
          for (const std::string& field : fields)
            given.push_back(v.at(field));
          set = call(given, number, out);
        });
        for (std::size_t i = 0; i < results.size(); ++i)
          v[results[i]] = set[i];
      });
  declare_struct(scope, name, f.type);
}

// Filled by a loop, and a member by itself.
void ScriptMaker::add_table(Block& to, Scope& scope) {
  const std::string name = new_name("t");
  const std::string i = new_name("i");
  const std::int64_t last = 3 + below(8);
  Scope inner = scope;
  inner.integers.push_back(i);
  const auto k = key(i, inner);
  const auto e = integer(inner, 1);
  const auto other = integer(scope, 1);
  to.declared.push_back("container<string, integer> " + name);
  to.texts.push_back("for " + i + " in [0 : " + std::to_string(last) + "] { insert " + name +
                     "[\"k\" ++ (" + k.text + ")] = " + e.text + " }");
  to.texts.push_back("insert " + name + "[\"a key\"] = " + other.text);
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    const Made<std::string> of_i{
        "", [k](const Values& at) { return "k" + std::to_string(k.value(at)); }, k.operands};
    const Made<std::string> alone{"", [](const Values&) { return std::string("a key"); }};
    Table all;
    Values body = v;
    for (std::int64_t n = 0; n <= last; ++n) {
      body[i] = n;
      insert(all, of_i, e, body, out);
    }
    insert(all, alone, other, v, out);
    v[name] = all;
  });
  scope.tables.push_back(name);
  if (one_in(2)) return;
  to.texts.push_back("print(\"table\", " + name + ")");
  to.runs.emplace_back([name](Values& v, Outcome& out) {
    perform(out, are_there({name}, v), [&] {
      std::string text;
      for (const auto& [key, value] : get<Table>(v, name).members)
        text += (text.empty() ? "" : ", ") + in_quotes(key) + ": " + std::to_string(value.value());
      out.lines += "table {" + text + "}\n";
    });
  });
}

}  // namespace rubato::flow::random_scripts

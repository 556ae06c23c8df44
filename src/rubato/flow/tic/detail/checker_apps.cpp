// The command lines of apps.

#include <algorithm>

#include "rubato/flow/tic/detail/checker.hpp"
#include "rubato/flow/tic/detail/expression_text.hpp"

namespace rubato::flow::tic::detail {
namespace {

bool names(const Expr& e, int variable) {
  if (const auto* n = e.as<NameRef>()) return n->variable == variable;
  if (const auto* m = e.as<MemberRef>()) {
    return names(*m->container, variable) || names(*m->key, variable);
  }
  if (const auto* f = e.as<FieldRef>()) return names(*f->object, variable);
  if (const auto* u = e.as<Unary>()) return names(*u->operand, variable);
  if (const auto* b = e.as<Binary>())
    return names(*b->left, variable) || names(*b->right, variable);
  const auto* c = e.as<CallExpr>();
  if (c == nullptr) return false;
  bool any = false;
  for (const Expr& argument : c->arguments)
    any = any || names(argument, variable);
  return any;
}

bool holds_others(const Type& type) {
  return type.is(Kind::container) || type.is(Kind::structure);
}

}  // namespace

// When an app or a leaf begins, all of its parameters is there; but not what is in containers that
// are in others, which may be open still. The options of a leaf see its scalars alone.
void Checker::reads_parameters(const Callable& c, const Expr& e) {
  if (const auto* u = e.as<Unary>()) return reads_parameters(c, *u->operand);
  if (const auto* b = e.as<Binary>()) {
    reads_parameters(c, *b->left);
    return reads_parameters(c, *b->right);
  }
  if (const auto* call = e.as<CallExpr>()) {
    for (const Expr& argument : call->arguments)
      reads_parameters(c, argument);
    return;
  }
  if (e.as<NameRef>() != nullptr) {
    if (c.kind == CallableKind::app || !holds_others(e.type)) return;
    fail(e.place, type_text(e.type) + " '" + expression_text(e) + "' in an option of a leaf",
         "a scalar; a rule that calls the leaf may read its containers in options of its own");
  }
  const auto* m = e.as<MemberRef>();
  const auto* f = e.as<FieldRef>();
  if (m == nullptr && f == nullptr) return;
  if (m != nullptr) reads_parameters(c, *m->key);
  const Expr& of = m != nullptr ? *m->container : *f->object;
  reads_parameters(c, of);
  const bool is_member = of.as<MemberRef>() != nullptr || of.as<FieldRef>() != nullptr;
  if (!is_member && !holds_others(e.type)) return;
  fail(e.place, "'" + expression_text(e) + "' in " + c.name,
       "scalars and files of its parameters; what is in a container inside of another needs a "
       "parameter of its own");
}

void Checker::reads_options(const Callable& c) {
  const Options& o = c.options;
  for (const Box<Expr>* each : {&o.priority, &o.retries, &o.timeout, &o.target, &o.parallel}) {
    if (*each) reads_parameters(c, **each);
  }
}

// What it gets is read at once, and would not have what is inside.
void Checker::leaf_input(const Parameter& input) {
  std::vector<Type> members;
  if (input.type.is(Kind::container)) members = input.type.element;
  if (input.type.is(Kind::structure)) {
    const auto& fields =
        program_.structs.at(static_cast<std::size_t>(input.type.struct_index)).fields;
    for (const Parameter& field : fields)
      members.push_back(field.type);
  }
  if (std::ranges::none_of(members, holds_others)) return;
  fail(input.name.place, type_text(input.type) + " '" + input.name.text + "' of a leaf",
       "containers and structs of scalars and files; what is inside needs a parameter of its own");
}

void Checker::command(Callable& c) {
  for (Expr& word : c.command.words) {
    const Type type = expression(word);
    reads_parameters(c, word);
    const Type& one = type.is(Kind::container) ? type.element.at(0) : type;
    if (one.is_scalar() || one.is(Kind::file)) continue;
    fail(word.place, type_text(type) + " '" + expression_text(word) + "' in a command",
         "a scalar, a file or a container of these");
  }
  const Type& program = c.command.words[0].type;
  if (!program.is(Kind::string) && !program.is(Kind::file)) {
    fail(c.command.words[0].place, type_text(program) + " as the program", "a string or a file");
  }
  command_stream(c, c.command.standard_input, true);
  command_stream(c, c.command.standard_output, false);
  command_stream(c, c.command.standard_error, false);
  command_outputs(c);
}

void Checker::command_stream(const Callable& c, Box<Expr>& stream, bool is_input) {
  if (!stream) return;
  const Type& type = expression(*stream);
  reads_parameters(c, *stream);
  const bool text = type.is(Kind::file) || type.is(Kind::string);
  if (!text) fail(stream->place, type_text(type) + " as a stream", "a file or a string");
  const auto root = static_cast<std::size_t>(root_variable(*stream));
  const bool from_outside = c.frame.variables.at(root).role == VariableRole::input;
  if (from_outside != is_input) {
    fail(stream->place, "'" + expression_text(*stream) + "'",
         is_input ? "an input of the app for stdin" : "an output of the app");
  }
}

// An output that the command does not name could never be set.
void Checker::command_outputs(const Callable& c) {
  for (const Parameter& output : c.outputs) {
    const int variable = output.name.variable;
    bool named = output.type.is(Kind::void_type);
    for (const Box<Expr>* stream : {&c.command.standard_output, &c.command.standard_error})
      named = named || (*stream && names(**stream, variable));
    // Words name files; other types come only from the streams.
    for (const Expr& word : c.command.words)
      named = named || (output.type.is(Kind::file) && names(word, variable));
    if (named) continue;
    fail(
        output.name.place, "output '" + output.name.text + "', which the command does not set",
        output.type.is(Kind::file)
            ? "filename(" + output.name.text + ") or stdout=" + output.name.text + " in the command"
            : "stdout=" + output.name.text + "; the streams set files and strings");
  }
}

}  // namespace rubato::flow::tic::detail

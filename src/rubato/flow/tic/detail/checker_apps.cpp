// The command lines of apps.

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

}  // namespace

void Checker::command(Callable& c) {
  for (Expr& word : c.command.words) {
    const Type type = expression(word);
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

#include "rubato/flow/tic/print.hpp"

#include <string_view>

#include "rubato/flow/tic/detail/expression_text.hpp"

namespace rubato::flow::tic {
namespace {

using detail::argument_text;
using detail::expression_text;
using detail::joined;

std::string in_braces(const std::string& inner) {
  return inner.empty() ? "{ }" : "{" + inner + "}";
}

// Writes statements line by line.
class Printer {
 public:
  [[nodiscard]] std::string take() { return std::move(text_); }

  void program(const Program& p) {
    for (const Struct& s : p.structs)
      structure(s);
    for (const Callable& c : p.callables)
      callable(c);
    if (!p.main.body.statements.empty()) gap();
    statements(p.main.body);
  }

  void statement(const Statement& s) {
    std::visit([this](const auto& form) { print(form); }, s.form);
  }

 private:
  static constexpr std::size_t kColumns = 100;

  void line(const std::string& text) { text_.append(indent_, ' ').append(text).append(1, '\n'); }
  void statements(const Block& b) {
    for (const Statement& s : b.statements)
      statement(s);
  }
  // `head { .. }`, with what follows the brace on its line.
  void open(const std::string& head) {
    line(head + " {");
    indent_ += 2;
  }
  void close(const std::string& behind = "") {
    indent_ -= 2;
    line("}" + behind);
  }
  void block(const std::string& head, const Block& body) {
    open(head);
    statements(body);
    close();
  }

  // An empty line before what follows.
  void gap() {
    if (!text_.empty()) text_ += '\n';
  }

  void structure(const Struct& s) {
    gap();
    open("struct " + s.name);
    for (const Parameter& field : s.fields)
      line(type_text(field.type) + " " + field.name.text);
    close();
  }

  static std::string parameters(const std::vector<Parameter>& list) {
    return "(" +
           joined(list, ", ",
                  [](const Parameter& p) { return type_text(p.type) + " " + p.name.text; }) +
           ")";
  }

  void callable(const Callable& c) {
    constexpr std::string_view kWords[] = {"function ", "app ", "leaf "};
    std::string head(kWords[static_cast<int>(c.kind)]);
    head += c.name + parameters(c.inputs);
    if (!c.outputs.empty()) head += " to " + parameters(c.outputs);
    head += options(c.options);
    const bool in_a_list = c.kind == CallableKind::leaf && last_was_leaf_;
    if (!in_a_list) gap();
    last_was_leaf_ = c.kind == CallableKind::leaf;
    if (c.kind == CallableKind::leaf) return line(head);
    if (c.kind == CallableKind::function) return block(head, c.frame.body);
    open(head);
    command(c.command);
    close();
  }

  void command(const Command& c) {
    std::string words = joined(c.words, " ", argument_text);
    if (c.standard_input) words += " stdin=" + expression_text(*c.standard_input);
    if (c.standard_output) words += " stdout=" + expression_text(*c.standard_output);
    if (c.standard_error) words += " stderr=" + expression_text(*c.standard_error);
    line(words);
  }

  static std::string options(const Options& o) {
    std::string text;
    const auto number = [&](std::string_view word, const Box<Expr>& value) {
      if (value) text.append(" ").append(word).append(" ").append(expression_text(*value));
    };
    number("priority", o.priority);
    number("retries", o.retries);
    if (o.elsewhere) text += " elsewhere";
    number("timeout", o.timeout);
    const std::string on = o.only ? "only on " : "on ";
    number(on + (o.target_kind == TargetKind::node ? "node" : "core"), o.target);
    if (!o.work_type.empty()) text += " type " + o.work_type;
    number("parallel", o.parallel);
    return text;
  }

  static std::string expressions(const std::vector<Expr>& list, std::string_view between) {
    return joined(list, between, expression_text);
  }

  void print(const Declaration& d) {
    bool plain = true;
    for (const Declared& name : d.names)
      plain = plain && !name.mapped && !name.value;
    line(type_text(d.type) + " " + joined(d.names, plain ? " " : ", ", declared));
  }
  static std::string declared(const Declared& d) {
    std::string text = d.name;
    if (d.mapped) {
      const std::string name = expression_text(*d.mapped);
      const bool starts_well = name[0] == '"' || name[0] == '(';
      text += starts_well ? " " + name : " (" + name + ")";
    }
    if (d.value) text += " = " + expression_text(*d.value);
    return text;
  }

  void print(const Assign& a) {
    line(expression_text(a.target) + " = " + expression_text(a.value));
  }

  void print(const Rule& r) {
    const std::string when = "when " + in_braces(expressions(r.inputs, " "));
    const std::string then = " then " + in_braces(expressions(r.outputs, " "));
    const auto* call = std::get_if<RuleCall>(&r.action);
    const std::string action =
        call != nullptr ? rule_call(*call) : "= " + expression_text(std::get<Expr>(r.action));
    const std::string from = " from {" + action + "}" + options(r.options);
    const bool fits = indent_ + when.size() + then.size() + from.size() <= kColumns;
    if (fits) return line(when + then + from);
    const std::string next_line = " \\\n" + std::string(indent_ + 3, ' ');
    line(when + next_line + then + next_line + from);
  }
  static std::string rule_call(const RuleCall& c) {
    std::string text = c.callee;
    for (const Argument& a : c.arguments)
      text += " " + argument_text(a.value);
    return text;
  }

  void print(const Insert& i) {
    line("insert " + expression_text(i.member) + " = " + expression_text(i.value));
  }
  void print(const Close& c) { line("close " + expression_text(c.container)); }
  void print(const Foreach& f) {
    const std::string key = f.key ? ", " + f.key->text : "";
    block("foreach " + f.value.text + key + " in " + expression_text(f.container), f.body);
  }
  void print(const ForRange& f) {
    const std::string step = f.step ? ":" + expression_text(*f.step) : "";
    block("for " + f.variable.text + " in [" + expression_text(f.first) + ":" +
              expression_text(f.last) + step + "]",
          f.body);
  }
  void print(const If& i) {
    std::string head;
    const If* branch = &i;
    while (true) {
      open(head + "if " + expression_text(branch->condition));
      statements(branch->body);
      indent_ -= 2;
      head = "} else ";
      if (!branch->otherwise) break;
      const std::vector<Statement>& others = branch->otherwise->statements;
      const If* next = others.size() == 1 ? std::get_if<If>(&others.front().form) : nullptr;
      if (next == nullptr) {
        open("} else");
        statements(*branch->otherwise);
        indent_ -= 2;
        break;
      }
      branch = next;
    }
    line("}");
  }
  void print(const Switch& s) {
    open("switch " + expression_text(s.subject));
    for (const Case& c : s.cases)
      block("case " + expressions(c.labels, ", "), c.body);
    if (s.otherwise) block("default", *s.otherwise);
    close();
  }
  void print(const Loop& l) {
    const std::string state = joined(l.state, ", ", [](const LoopState& s) {
      return type_text(s.type) + " " + s.name.text + " = " + expression_text(s.initial);
    });
    open("loop (" + state + ") while " + expression_text(l.condition));
    statements(l.body);
    close(l.results.empty() ? "" : " to (" + expressions(l.results, " ") + ")");
  }
  void print(const Next& n) { line("next (" + expressions(n.values, ", ") + ")"); }
  void print(const Wait& w) { block("wait (" + expressions(w.inputs, " ") + ")", w.body); }
  void print(const CallExpr& c) { line(detail::call_text(c)); }

  std::string text_;
  std::size_t indent_ = 0;
  bool last_was_leaf_ = false;
};

}  // namespace

std::string print_program(const Program& program) {
  Printer printer;
  printer.program(program);
  return printer.take();
}

std::string print_expression(const Expr& expression) {
  return expression_text(expression);
}

std::string print_statement(const Statement& statement) {
  Printer printer;
  printer.statement(statement);
  std::string text = printer.take();
  text.pop_back();
  return text;
}

}  // namespace rubato::flow::tic

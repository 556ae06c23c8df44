#include "rubato/flow/interpret/escaping_files.hpp"

#include <algorithm>

#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {
namespace {

using tic::Expr;

class Escaping {
 public:
  explicit Escaping(const tic::Program& program) : program_(program) {}

  // Functions hand files on to each other: until nothing is new.
  std::set<std::pair<const tic::Frame*, int>> find() {
    for (std::size_t n_before = SIZE_MAX; n_before != found_.size();) {
      n_before = found_.size();
      for (const tic::Callable& callable : program_.callables) {
        if (callable.kind == tic::CallableKind::function) add_frame(callable.frame);
      }
      add_frame(program_.main);
    }
    return std::move(found_);
  }

 private:
  void add_frame(const tic::Frame& frame) {
    frame_ = &frame;
    add_block(frame.body);
  }
  void add_block(const tic::Block& block) {
    for (const tic::Statement& statement : block.statements) {
      std::visit([&](const auto& form) { add_form(form); }, statement.form);
      tic::for_each_block(statement, [&](const tic::Block& inner) { add_block(inner); });
    }
  }

  // It is waited for, read or written, and no more.
  static bool is_plain(const Expr& e) { return e.as<tic::NameRef>() != nullptr; }
  void add_unless_plain(const Expr& e) {
    if (!is_plain(e)) add(e);
  }
  // What is done with a file here, nobody knows.
  void add(const Expr& e) {
    if (const auto* name = e.as<tic::NameRef>()) {
      if (e.type.is(tic::Kind::file)) found_.insert({frame_, name->variable});
    } else if (const auto* call = e.as<tic::CallExpr>()) {
      add_builtin(call->name, call->arguments);
    } else {
      tic::for_each_part(e, [&](const Expr& part) { add(part); });
    }
  }
  void add(const tic::Box<Expr>& e) {
    if (e) add(*e);
  }
  // What a built-in function makes of a file has not its name.
  static bool only_reads(const std::string& builtin) {
    return builtin == "read" || builtin == "closed";
  }
  void add_builtin(const std::string& name, const std::vector<Expr>& arguments) {
    for (const Expr& argument : arguments)
      only_reads(name) ? add_unless_plain(argument) : add(argument);
  }
  // A leaf may return a file that it was given as its own, or the name of one in a text.
  static bool returns_names(const tic::Callable& callable) {
    const auto has_name = [](const tic::Parameter& output) {
      return !output.type.is_number() && !output.type.is(tic::Kind::boolean) &&
             !output.type.is(tic::Kind::void_type);
    };
    return callable.kind == tic::CallableKind::leaf &&
           std::ranges::any_of(callable.outputs, has_name);
  }
  void add_call(const tic::Rule& rule, const tic::RuleCall& call) {
    if (call.callee_kind != tic::CalleeKind::callable) {
      for (const tic::Argument& argument : call.arguments)
        only_reads(call.callee) ? add_unless_plain(argument.value) : add(argument.value);
      return add(call.value);
    }
    const tic::Callable& callable = program_.callables[static_cast<std::size_t>(call.index)];
    int parameter = 0;
    const bool may_return_names = returns_names(callable);
    const auto hand_on = [&](const Expr& e) {
      const bool escapes = may_return_names || (callable.kind == tic::CallableKind::function &&
                                                found_.contains({&callable.frame, parameter}));
      ++parameter;
      escapes ? add(e) : add_unless_plain(e);
    };
    for (const tic::Argument& argument : call.arguments) {
      if (argument.output < 0) hand_on(argument.value);
    }
    for (const Expr& output : rule.outputs)
      hand_on(output);
  }

  void add_form(const tic::Declaration& declaration) {
    for (const tic::Declared& declared : declaration.names) {
      add(declared.mapped);
      add(declared.value);
    }
  }
  void add_form(const tic::Assign& assign) {
    add(assign.target);
    add(assign.value);
  }
  void add_form(const tic::Rule& rule) {
    for (const Expr& input : rule.inputs)
      add_unless_plain(input);
    if (const auto* e = std::get_if<Expr>(&rule.action)) {
      add(*e);
      add(rule.outputs.front());
    } else {
      add_call(rule, std::get<tic::RuleCall>(rule.action));
    }
  }
  void add_form(const tic::Insert& insert) {
    add(insert.member);
    add(insert.value);
  }
  void add_form(const tic::Foreach& loop) { add(loop.container); }
  void add_form(const tic::Loop& loop) {
    for (const tic::LoopState& state : loop.state)
      add(state.initial);
    for (const Expr& result : loop.results)
      add(result);
  }
  void add_form(const tic::Next& next) {
    for (const Expr& value : next.values)
      add(value);
  }
  void add_form(const tic::Wait& wait) {
    for (const Expr& input : wait.inputs)
      add_unless_plain(input);
  }
  void add_form(const tic::If& branch) { add(branch.condition); }
  void add_form(const tic::Switch& cases) { add(cases.subject); }
  void add_form(const tic::CallExpr& call) { add_builtin(call.name, call.arguments); }
  // What has no files.
  void add_form(const tic::Close& /*close*/) {}
  void add_form(const tic::ForRange& /*loop*/) {}

  const tic::Program& program_;
  const tic::Frame* frame_ = nullptr;
  std::set<std::pair<const tic::Frame*, int>> found_;
};

}  // namespace

std::set<std::pair<const tic::Frame*, int>> escaping_files(const tic::Program& program) {
  return Escaping(program).find();
}

}  // namespace rubato::flow

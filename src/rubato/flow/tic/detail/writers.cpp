// Single assignment, as far as it is known before the run. Each block yields the writes that leave
// it: which variable, which part of it, whether it is certain to happen. In a straight line two
// writes of one part are an error if one of them is certain; of the branches of an if at most one
// runs, so that theirs do not meet each other; a body that runs many times may insert members under
// keys of its own and write nothing else outside.
//
//   when { } then {x} from {f}                  certain
//   if a { x = 1 } else { x = 2 }               certain: one of both
//   if a { x = 1 }; if not a { x = 2 }          possible twice: known only when it runs
//   for i in [1:9] { insert c[i] = i }          "c[*]", which meets nothing
//   close c; insert c[1] = 2                    behind its close nothing is written
//
// A second map finds what waits for itself: variables that are written once, with an arrow from
// each input of their writer.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "rubato/flow/tic/detail/checker.hpp"
#include "rubato/flow/tic/detail/expression_text.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow::tic::detail {
namespace {

// A part of a variable: "" is the whole, ".1;" its second field, "[5]" a member, "[*]" a member
// under a key that is known only when it runs.
struct Part {
  int variable;
  std::string path;
  bool operator<(const Part& o) const {
    return std::tie(variable, path) < std::tie(o.variable, o.path);
  }
};

struct Write {
  Place place;
  bool certain = true;
};

std::string path_of(const Expr& e) {
  if (const auto* m = e.as<MemberRef>()) {
    const bool literal =
        m->key->as<IntegerLiteral>() != nullptr || m->key->as<StringLiteral>() != nullptr;
    return path_of(*m->container) + (literal ? "[" + expression_text(*m->key) + "]" : "[*]");
  }
  if (const auto* f = e.as<FieldRef>()) {
    return path_of(*f->object) + "." + std::to_string(f->index) + ";";
  }
  return "";
}

// Calls f with each proper prefix of a path that is a part too.
template <class F>
void for_each_outer_part(const std::string& path, const F& f) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.' || path[i] == '[') f(path.substr(0, i));
  }
}

// The writes of one straight line, or those that leave a block.
struct Writes {
  std::map<Part, Write> exact;
  std::map<Part, Write> inside;  // of a part that was written in part: one of these writes
  std::map<int, Place> closed;   // variables, by `close`
};

class WriterCheck {
 public:
  WriterCheck(const Program& program, const Frame& frame, Diagnostics& errors,
              Diagnostics& warnings)
      : program_(program),
        frame_(frame),
        errors_(errors),
        warnings_(warnings),
        uses_(frame.variables.size()) {}

  void run(const std::string& owner) {
    block(frame_.body);
    refuse_own();
    if (errors_.empty()) unwritten(owner);
    if (errors_.empty()) cycles();
  }

 private:
  struct Uses {
    Place first_read;
    bool is_read = false;
    int n_writes = 0;
    bool is_named = false;    // by filename() or as an output: enough for a file
    std::set<int> waits_for;  // whole variables that its one writer waits for
  };

  // Of a variable, within a statement that waits until it is closed.
  struct OwnWrite {
    int variable;
    Place place;
    const char* statement;
  };

  [[nodiscard]] const Variable& variable(int index) const {
    return frame_.variables.at(static_cast<std::size_t>(index));
  }
  Uses& uses(int index) { return uses_.at(static_cast<std::size_t>(index)); }

  // --- reads
  void reads(const Expr& e) {
    for_each_read(e, [this](const Expr& operand) {
      Uses& u = uses(root_variable(operand));
      if (!u.is_read) u.first_read = operand.place;
      u.is_read = true;
    });
    named(e);
  }
  // filename(f) is no read of f, but a use.
  void named(const Expr& e) {
    if (const auto* b = e.as<Binary>()) {
      named(*b->left);
      named(*b->right);
    }
    const auto* c = e.as<CallExpr>();
    if (c == nullptr) return;
    for (const Expr& argument : c->arguments) {
      if (is_operand(argument)) uses(root_variable(argument)).is_named = true;
      named(argument);
    }
  }
  void reads_optional(const Box<Expr>& e) {
    if (e) reads(*e);
  }

  // --- writes
  // `inserts`: members under unknown keys rather than the whole.
  void write(Writes& line, const Expr& target, bool inserts = false) {
    for_each_key_read(target, [this](const Expr& key) { reads(key); });
    const int index = root_variable(target);
    ++uses(index).n_writes;
    add(line, {index, path_of(target) + (inserts ? "[*]" : "")}, {target.place, true});
  }

  void add(Writes& line, const Part& part, const Write& w) {
    meet_all(line, part, w);
    keep_all(line, part, w);
  }
  // The writes in `line` of this part, of what it lies in and of what lies in it.
  void meet_all(const Writes& line, const Part& part, const Write& w) {
    if (const auto at = line.closed.find(part.variable); at != line.closed.end()) {
      errors_.found(w.place, "'" + variable(part.variable).name + "' written behind its close",
                    "it before the close at " + errors_.where(at->second));
    }
    if (part.path.find("[*]") == std::string::npos) {
      meet(line.exact, part, w);
      meet(line.inside, part, w);
    }
    for_each_outer_part(part.path, [&](const std::string& outer) {
      if (outer.find("[*]") == std::string::npos) meet(line.exact, {part.variable, outer}, w);
    });
  }
  static void keep_all(Writes& line, const Part& part, const Write& w) {
    keep(line.exact, part, w);
    for_each_outer_part(part.path, [&](const std::string& outer) {
      keep(line.inside, {part.variable, outer}, w);
    });
  }
  static void keep(std::map<Part, Write>& in, const Part& part, const Write& w) {
    const auto [at, is_new] = in.emplace(part, w);
    if (!is_new) at->second.certain = at->second.certain || w.certain;
  }
  void meet(const std::map<Part, Write>& in, const Part& part, const Write& w) {
    const auto at = in.find(part);
    if (at == in.end() || !(w.certain || at->second.certain)) return;
    errors_.found(w.place, "a second writer of '" + variable(part.variable).name + "'",
                  "one; the first is at " + errors_.where(at->second.place));
  }

  // All writes of `later` behind those of `line`, without what is local to `scope`.
  void append(Writes& line, const Writes& later, const Block& scope) {
    for (const auto& [part, w] : later.exact) {
      if (!is_local(part.variable, scope)) add(line, part, w);
    }
    close_all(line, later, scope);
  }
  static void close_all(Writes& line, const Writes& later, const Block& scope) {
    for (const auto& [index, place] : later.closed) {
      if (!is_local(index, scope)) line.closed.emplace(index, place);
    }
  }
  static bool is_local(int index, const Block& scope) {
    return std::binary_search(scope.declared.begin(), scope.declared.end(), index);
  }

  // Of blocks of which one runs, or none unless `complete`.
  void append_branches(Writes& line, const std::vector<const Block*>& branches, bool complete) {
    std::map<Part, std::pair<Write, std::size_t>> all;
    Writes closed;
    for (const Block* b : branches) {
      const Writes writes = block(*b);
      close_all(closed, writes, *b);
      for (const auto& [part, w] : writes.exact) {
        if (is_local(part.variable, *b)) continue;
        auto& entry = all.emplace(part, std::pair(w, std::size_t{0})).first->second;
        if (w.certain) ++entry.second;
      }
    }
    for (auto& [part, entry] : all) {
      entry.first.certain = complete && entry.second == branches.size();
    }
    // They come from branches apart, so that they meet those before them but not each other.
    for (const auto& [part, entry] : all)
      meet_all(line, part, entry.first);
    for (const auto& [part, entry] : all)
      keep_all(line, part, entry.first);
    line.closed.merge(closed.closed);
  }

  // Writes of a body to what its statement waits for until it is closed.
  void keep_own(const Expr& waited_for, const Writes& body, const char* statement) {
    const auto* name = waited_for.as<NameRef>();
    if (name == nullptr) return;
    for (const auto& [part, w] : body.exact) {
      // Once, of statements within each other.
      const auto is_it = [at = w.place](const OwnWrite& other) {
        return other.place.line == at.line && other.place.column == at.column;
      };
      if (part.variable == name->variable && std::ranges::none_of(own_, is_it))
        own_.push_back({part.variable, w.place, statement});
    }
  }
  // Such a one ends only if somebody closes the variable.
  void refuse_own() {
    for (const auto& [index, place, statement] : own_) {
      errors_.found(place, "'" + variable(index).name + "' written within a " + statement,
                    "another variable: it would close when all that may write it has ended");
    }
  }
  // A body that runs many times.
  void repeated(Writes& line, const Block& body) { repeated(line, body, block(body)); }
  void repeated(Writes& line, const Block& body, const Writes& writes) {
    for (const auto& [index, place] : writes.closed) {
      if (is_local(index, body)) continue;
      errors_.found(place, "'" + variable(index).name + "' closed in each round",
                    "it behind the loop, or not at all: what has ended writes no more");
    }
    for (const auto& [part, w] : writes.exact) {
      if (is_local(part.variable, body)) continue;
      if (part.path.find("[*]") == std::string::npos) {
        errors_.found(w.place, "'" + variable(part.variable).name + "' written in each round",
                      "a member under a key of the round, or a loop with state");
        continue;
      }
      add(line, part, {w.place, false});
    }
  }

  // --- statements
  Writes block(const Block& b) {
    Writes line;
    for (const Statement& s : b.statements) {
      std::visit([&](const auto& f) { form(line, f); }, s.form);
      if (const auto* c = std::get_if<Close>(&s.form))
        line.closed.emplace(root_variable(c->container), s.place);
    }
    return line;
  }

  void form(Writes& line, const Declaration& d) {
    for (const Declared& each : d.names) {
      if (each.mapped) {
        reads(*each.mapped);
        waits(each.variable, *each.mapped);  // whoever writes it knows its name
      }
      if (!each.value) continue;
      reads(*each.value);
      ++uses(each.variable).n_writes;
      waits(each.variable, *each.value);
      add(line, {each.variable, ""}, {each.place, true});
    }
  }
  void form(Writes& line, const Assign& a) {
    reads(a.value);
    if (a.target.as<NameRef>() != nullptr) waits(root_variable(a.target), a.value);
    write(line, a.target);
  }
  void form(Writes& line, const Rule& r) {
    for (const Expr& input : r.inputs)
      reads(input);
    for (const Expr& output : r.outputs) {
      if (output.as<NameRef>() != nullptr) {
        for (const Expr& input : r.inputs)
          waits(root_variable(output), input);
      }
      // Several functions may fill one container, each with members of its own.
      write(line, output, output.type.is(Kind::container) && calls_function(r));
    }
    if (const auto* e = std::get_if<Expr>(&r.action)) {
      reads(*e);
    } else {
      for (const Argument& a : std::get<RuleCall>(r.action).arguments) {
        if (a.output < 0) reads(a.value);
      }
    }
    options(r.options);
  }
  [[nodiscard]] bool calls_function(const Rule& r) const {
    const auto* call = std::get_if<RuleCall>(&r.action);
    if (call == nullptr || call->callee_kind != CalleeKind::callable) return false;
    const Callable& callee = program_.callables.at(static_cast<std::size_t>(call->index));
    return callee.kind == CallableKind::function;
  }
  void options(const Options& o) {
    for (const Box<Expr>* each : {&o.priority, &o.retries, &o.timeout, &o.target, &o.parallel})
      reads_optional(*each);
  }
  void form(Writes& line, const Insert& i) {
    reads(i.value);
    write(line, i.member);
  }
  void form(Writes&, const Close&) {}
  void form(Writes& line, const Foreach& f) {
    reads(f.container);
    // Its members have a writer elsewhere.
    ++uses(f.value.variable).n_writes;
    const Writes writes = block(f.body);
    keep_own(f.container, writes, "foreach over it");
    repeated(line, f.body, writes);
  }
  void form(Writes& line, const ForRange& f) {
    reads(f.first);
    reads(f.last);
    reads_optional(f.step);
    repeated(line, f.body);
  }
  void form(Writes& line, const If& i) {
    reads(i.condition);
    std::vector<const Block*> branches{&i.body};
    if (i.otherwise) branches.push_back(&*i.otherwise);
    append_branches(line, branches, i.otherwise.has_value());
  }
  void form(Writes& line, const Switch& s) {
    reads(s.subject);
    std::vector<const Block*> branches;
    for (const Case& c : s.cases)
      branches.push_back(&c.body);
    if (s.otherwise) branches.push_back(&*s.otherwise);
    append_branches(line, branches, s.otherwise.has_value());
  }
  void form(Writes& line, const Loop& l) {
    for (const LoopState& state : l.state)
      reads(state.initial);
    reads(l.condition);
    repeated(line, l.body);
    for (const Expr& result : l.results)
      write(line, result);
  }
  void form(Writes&, const Next& n) {
    for (const Expr& value : n.values)
      reads(value);
  }
  void form(Writes& line, const Wait& w) {
    for (const Expr& input : w.inputs)
      reads(input);
    const Writes writes = block(w.body);
    for (const Expr& input : w.inputs)
      keep_own(input, writes, "wait for it");
    append(line, writes, w.body);
  }
  void form(Writes&, const CallExpr& c) {
    for (const Expr& argument : c.arguments)
      reads(argument);
  }

  // --- variables as a whole
  void waits(int index, const Expr& input) {
    for_each_read(input, [&](const Expr& operand) {
      if (operand.as<NameRef>() != nullptr) uses(index).waits_for.insert(root_variable(operand));
    });
  }

  // Variables that nobody writes, or nobody reads.
  void unwritten(const std::string& owner) {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      const Variable& v = frame_.variables[i];
      const Uses& u = uses_[i];
      const std::string name = "'" + v.name + "'";
      if (v.role == VariableRole::output && u.n_writes == 0 && !v.type.is(Kind::container)) {
        std::string found("output ");
        found.append(name).append(", which ").append(owner).append(" never writes");
        errors_.found(v.place, found, "a rule that sets it");
      }
      if (v.role != VariableRole::local) continue;
      const bool may_be_unwritten = v.mapped || v.type.is(Kind::container);
      if (u.n_writes == 0 && u.is_read && !may_be_unwritten) {
        errors_.found(u.first_read, name + ", which nobody writes", "a rule that sets it");
      } else if (!u.is_read && !u.is_named && !v.mapped) {
        warnings_.found(v.place, name + ", which nobody reads", "a reader");
      }
    }
  }

  // Follows the arrows of variables with one writer; a variable that is met again before the walk
  // is back from it waits for itself. The stack is our own: chains are as long as scripts.
  void cycles() {
    enum class Mark : std::uint8_t { fresh, open, done };
    std::vector<Mark> marks(uses_.size(), Mark::fresh);
    for (std::size_t start = 0; start < uses_.size(); ++start) {
      if (marks[start] != Mark::fresh || uses_[start].n_writes != 1) continue;
      std::vector<std::pair<int, std::set<int>::const_iterator>> path;
      const auto enter = [&](int index) {
        marks[static_cast<std::size_t>(index)] = Mark::open;
        path.emplace_back(index, uses(index).waits_for.begin());
      };
      enter(static_cast<int>(start));
      while (!path.empty()) {
        auto& [index, next] = path.back();
        if (next == uses(index).waits_for.end()) {
          marks[static_cast<std::size_t>(index)] = Mark::done;
          path.pop_back();
          continue;
        }
        const int to = *next++;
        Mark& mark = marks[static_cast<std::size_t>(to)];
        if (mark == Mark::open) {
          std::vector<int> circle;
          circle.reserve(path.size());
          for (const auto& each : path)
            circle.push_back(each.first);
          return circle_error(circle, to);
        }
        if (mark == Mark::fresh && uses(to).n_writes == 1) enter(to);
      }
    }
  }
  void circle_error(const std::vector<int>& path, int from) {
    std::string names;
    bool in_circle = false;
    for (const int index : path) {
      in_circle = in_circle || index == from;
      if (in_circle) names += variable(index).name + " waits for ";
    }
    names += variable(from).name;
    errors_.found(variable(from).place, "a circle: " + names, "rules that can all start");
  }

  const Program& program_;
  const Frame& frame_;
  Diagnostics& errors_;
  Diagnostics& warnings_;
  std::vector<Uses> uses_;
  std::vector<OwnWrite> own_;
};

}  // namespace

void check_writers(const Program& program, Diagnostics& errors, Diagnostics& warnings) {
  for (const Callable& c : program.callables) {
    if (c.kind != CallableKind::function) continue;
    WriterCheck(program, c.frame, errors, warnings).run(c.name);
    check_next(c.frame.body, errors);
  }
  WriterCheck(program, program.main, errors, warnings).run("main");
  check_next(program.main.body, errors);
}

}  // namespace rubato::flow::tic::detail

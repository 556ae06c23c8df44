#pragma once
// The syntax tree of TIC, Turbine's intermediate code [Turbine 5.2, 6.3]: plain values that copy,
// move and compare, each node with its place. The parser (parse.hpp) builds the tree with names as
// they are written; the checker (check.hpp) then fills in every index, type and list that says
// "set by the checker", so that an interpreter looks nothing up by name. docs/tic.md has the
// grammar and what each statement means.
//
// Trees that say the same are equal wherever their nodes stand: parse(print(tree)) == tree.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "rubato/flow/tic/node.hpp"
#include "rubato/flow/tic/type.hpp"

namespace rubato::flow::tic {

// --- expressions ----------------------------------------------------------------------------

struct Expr;

struct IntegerLiteral {
  std::int64_t value = 0;
  bool operator==(const IntegerLiteral&) const = default;
};
struct FloatLiteral {
  double value = 0;  // finite
  bool operator==(const FloatLiteral&) const = default;
};
struct StringLiteral {
  std::string value;  // the bytes, escapes resolved
  bool operator==(const StringLiteral&) const = default;
};
struct BooleanLiteral {
  bool value = false;
  bool operator==(const BooleanLiteral&) const = default;
};
struct NameRef {
  std::string name;
  int variable = -1;  // in Frame::variables, set by the checker
  bool operator==(const NameRef&) const = default;
};
// c[key]
struct MemberRef {
  Box<Expr> container;
  Box<Expr> key;
  bool operator==(const MemberRef&) const = default;
};
// s.field
struct FieldRef {
  Box<Expr> object;
  std::string field;
  int index = -1;  // in Struct::fields, set by the checker
  bool operator==(const FieldRef&) const = default;
};
enum class UnaryOp : std::uint8_t { minus, logical_not };
struct Unary {
  UnaryOp op = UnaryOp::minus;
  Box<Expr> operand;
  bool operator==(const Unary&) const = default;
};
enum class BinaryOp : std::uint8_t {
  logical_or,
  logical_and,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  concatenate,  // ++
  add,
  subtract,
  multiply,
  divide,
  modulo,
  power,
};
// Where one side is a float and the other an integer, the integer widens; `++` takes each scalar as
// string() writes it.
struct Binary {
  BinaryOp op = BinaryOp::add;
  Box<Expr> left;
  Box<Expr> right;
  bool operator==(const Binary&) const = default;
};
// A built-in function (builtins.hpp): sqrt(x), filename(f). Also a statement: print(x).
struct CallExpr : Node {
  std::string name;
  std::vector<Expr> arguments;
  int builtin = -1;  // in builtins(), the overload that fits, set by the checker
  bool operator==(const CallExpr&) const;
};

// No expression is higher than this, so that walks over one may recurse on a small stack.
inline constexpr int kMaxExprHeight = 256;

struct Expr : Node {
  std::variant<IntegerLiteral, FloatLiteral, StringLiteral, BooleanLiteral, NameRef, MemberRef,
               FieldRef, Unary, Binary, CallExpr>
      form;
  int height = 1;
  Type type;  // of the value, before it widens to what its user wants; set by the checker
  bool operator==(const Expr&) const = default;

  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return std::get_if<T>(&form);
  }
  template <class T>
  [[nodiscard]] T* as() noexcept {
    return std::get_if<T>(&form);
  }
};

inline bool CallExpr::operator==(const CallExpr& other) const {
  return name == other.name && builtin == other.builtin && arguments == other.arguments;
}

// --- statements -----------------------------------------------------------------------------

struct Statement;

struct Name : Node {
  std::string text;
  int variable = -1;  // in Frame::variables, set by the checker
  bool operator==(const Name&) const = default;
};

// The statements of one pair of braces. A block is a closure: what it needs of the outside is
// listed, so that it can be sent to another core with just that.
struct Block {
  std::vector<Statement> statements;
  // Set by the checker, each a sorted list of indices in Frame::variables:
  std::vector<int> declared;  // here, not in an inner block; loop variables are their body's
  std::vector<int> captures;  // declared outside, named here or in an inner block
  std::vector<int> writes;    // the part of captures that is written: containers count these
  bool operator==(const Block&) const;
};

// `integer a b`, `integer n = 2 * m`, `file f "name.txt"`, `file f ("out" ++ i)`, `file tmp`.
struct Declared : Node {
  std::string name;
  int variable = -1;  // set by the checker
  Box<Expr> mapped;   // of a file: its name; without one a temporary file
  Box<Expr> value;    // as if assigned
  bool operator==(const Declared&) const = default;
};
struct Declaration {
  Type type;
  std::vector<Declared> names;
  bool operator==(const Declaration&) const = default;
};

// `x = a + b`, `s.f = 1`: an expression rule that waits for what the expression reads.
struct Assign {
  Expr target;  // a name or fields of one
  Expr value;
  bool operator==(const Assign&) const = default;
};

enum class TargetKind : std::uint8_t { none, node, core };

// How the work of a rule or of a leaf runs. What a rule does not say, its leaf says.
struct Options : Node {
  Box<Expr> priority;      // integer, higher first
  Box<Expr> retries;       // integer
  bool elsewhere = false;  // each of them on another node
  Box<Expr> timeout;       // seconds, a number
  Box<Expr> target;        // integer, of target_kind
  Box<Expr> parallel;      // integer, the cores that run it together
  TargetKind target_kind = TargetKind::none;
  bool only = false;      // the target is a must, not a wish
  std::string work_type;  // "" for the default
  bool operator==(const Options&) const = default;
};

enum class CalleeKind : std::uint8_t { unknown, callable, builtin };

struct Argument {
  Expr value;
  // The paper writes outputs among the arguments too: `then {m} from {readModel m}`. Such an
  // argument is the output of this index and no input; otherwise -1. Set by the checker.
  int output = -1;
  bool operator==(const Argument&) const = default;
};

// {callee arguments...}
struct RuleCall : Node {
  std::string callee;
  std::vector<Argument> arguments;
  // Set by the checker.
  CalleeKind callee_kind = CalleeKind::unknown;
  int index = -1;  // in Program::callables or builtins()
  // Of a built-in with a value: the call as an expression, `arithmetic "(+)*(+)" a b c d` expanded.
  Box<Expr> value;
  bool operator==(const RuleCall&) const = default;
};

// when {inputs} then {outputs} from {action} options. The action is a call or, `{= a + b}`, an
// expression with exactly one output.
struct Rule {
  std::vector<Expr> inputs;   // names, members, fields; all closed before the action runs
  std::vector<Expr> outputs;  // names, members, fields
  std::variant<RuleCall, Expr> action;
  Options options;
  bool operator==(const Rule&) const = default;
};

// `insert c[key] = value`. A value that is a name, a member or a field becomes the member itself
// and may be open; any other expression is waited for.
struct Insert {
  Expr member;  // a MemberRef
  Expr value;
  bool operator==(const Insert&) const = default;
};
// `close c`: this scope inserts no more.
struct Close {
  Expr container;
  bool operator==(const Close&) const = default;
};
// `foreach value, key in c { }`: a body for each member, as soon as it is inserted.
struct Foreach {
  Name value;
  std::optional<Name> key;
  Expr container;
  Block body;
  bool operator==(const Foreach&) const = default;
};
// `for i in [first:last:step] { }`: last is included, as in Swift; nothing materialises.
struct ForRange {
  Name variable;
  Expr first;
  Expr last;
  Box<Expr> step;  // 1 without
  Block body;
  bool operator==(const ForRange&) const = default;
};
// `if a { } else { }`. An `else if` is an if alone in the other block: its condition, which may read
// what is there only if the first does not hold, is waited for when that is known.
struct If {
  Expr condition;
  Block body;
  std::optional<Block> otherwise;
  bool operator==(const If&) const = default;
};
struct Case {
  std::vector<Expr> labels;  // literals
  Block body;
  bool operator==(const Case&) const = default;
};
struct Switch {
  Expr subject;
  std::vector<Case> cases;
  std::optional<Block> otherwise;
  bool operator==(const Switch&) const = default;
};
struct LoopState : Node {
  Type type;
  Name name;
  Expr initial;
  bool operator==(const LoopState&) const = default;
};
// `loop (integer i = 0, float s = 0.0) while i < n { ... next (i + 1, t) } to (total)`: rounds one
// after another. The results are the last of the state, as many as are named.
struct Loop {
  std::vector<LoopState> state;
  Expr condition;
  Block body;
  std::vector<Expr> results;
  bool operator==(const Loop&) const = default;
};
struct Next {
  std::vector<Expr> values;
  bool operator==(const Next&) const = default;
};
// `wait (a b) { }`: a block that runs when they are closed.
struct Wait {
  std::vector<Expr> inputs;
  Block body;
  bool operator==(const Wait&) const = default;
};

struct Statement : Node {
  std::variant<Declaration, Assign, Rule, Insert, Close, Foreach, ForRange, If, Switch, Loop, Next,
               Wait, CallExpr>
      form;
  bool operator==(const Statement&) const = default;
};

inline bool Block::operator==(const Block& other) const {
  return statements == other.statements && declared == other.declared &&
         captures == other.captures && writes == other.writes;
}

// --- programs -------------------------------------------------------------------------------

struct Parameter : Node {
  Type type;
  Name name;
  bool operator==(const Parameter&) const = default;
};

struct Struct : Node {
  std::string name;
  std::vector<Parameter> fields;
  bool operator==(const Struct&) const = default;
};

enum class VariableRole : std::uint8_t { input, output, local, member, key, index, state };

struct Variable : Node {
  std::string name;
  Type type;
  VariableRole role = VariableRole::local;
  bool mapped = false;  // a file with a name; without a writer it is an input of the program
  bool operator==(const Variable&) const = default;

  // Needs no waiting where it is visible: keys, range variables and the state of a loop.
  [[nodiscard]] bool closed_on_entry() const noexcept {
    return role == VariableRole::key || role == VariableRole::index || role == VariableRole::state;
  }
};

// What the names of one function mean. Its parameters come first: inputs, then outputs.
struct Frame {
  std::vector<Variable> variables;  // of all its blocks, in the order of the text
  Block body;
  bool operator==(const Frame&) const = default;
};

// The command line of an app: words without a shell between. A file stands for its name, a
// container of scalars or files for one word a member in the order of its keys.
struct Command {
  std::vector<Expr> words;  // the first is the program
  Box<Expr> standard_input;
  Box<Expr> standard_output;
  Box<Expr> standard_error;
  bool operator==(const Command&) const = default;
};

enum class CallableKind : std::uint8_t { function, app, leaf };

struct Callable : Node {
  CallableKind kind = CallableKind::function;
  std::string name;
  std::vector<Parameter> inputs;
  std::vector<Parameter> outputs;
  Options options;  // of apps and leaves
  Frame frame;      // of a function; of an app and a leaf only its variables
  Command command;  // of an app
  bool operator==(const Callable&) const = default;
};

struct Program {
  std::string file_name;
  std::vector<Struct> structs;
  std::vector<Callable> callables;
  Frame main;
  // The names in arg("name"); of others only the run knows. Set by the checker.
  std::set<std::string> argument_names;
  bool has_computed_arguments = false;
  // Names of files do not count either.
  friend bool operator==(const Program& a, const Program& b) {
    return a.structs == b.structs && a.callables == b.callables && a.main == b.main;
  }
};

}  // namespace rubato::flow::tic

// Random scripts that may fail: members of containers, and of containers in containers, by their
// values, by their keys, in functions and in branches.

#include "rubato/flow/interpret/random_runs_test.hpp"

namespace rubato::flow::random_scripts {
namespace {

const Numbers* row_of(const Rows& rows, std::int64_t i) {
  const auto found = rows.members.find(i);
  return found == rows.members.end() ? nullptr : &found->second;
}

bool is_whole(const Rows& rows) {
  return !rows.lacks_members &&
         std::ranges::all_of(rows.members, [](const auto& row) { return is_whole(row.second); });
}

const Rows& rows_of(const Values& v, const std::string& name) {
  return std::get<Rows>(v.at(name));
}

std::string words(std::initializer_list<std::int64_t> numbers) {
  std::string text;
  for (const std::int64_t n : numbers)
    text += " " + std::to_string(n);
  return text + "\n";
}

}  // namespace

// i, or i in a way that may have no value.
Made<std::int64_t> ScriptMaker::key(const std::string& variable, const Scope& scope) {
  const auto plain = [variable](const Values& v) { return get<std::int64_t>(v, variable); };
  if (!may_fail_ || !one_in(3)) return {variable, plain, {variable}};
  const auto e = integer(scope, 2);
  Operands operands = e.operands;
  operands.push_back(variable);
  return {variable + " + 0 * (12 / (" + e.text + " % 5))",
          [=](const Values& v) {
            if (e.value(v) % 5 == 0) throw Failed();
            return plain(v);
          },
          operands};
}

std::string ScriptMaker::row_function() {
  const std::string name = new_name("row");
  const std::string n = new_name("n");
  const std::string j = new_name("j");
  Scope scope;
  scope.integers = {n, j};
  const auto at = key(j, scope);
  const auto e = integer(scope, 1);
  const std::int64_t last = 1 + below(3);
  row_functions_.push_back({name, [=](std::int64_t number, Outcome& out) {
                              Values v{{n, number}};
                              Numbers row;
                              for (std::int64_t i = 0; i <= last; ++i) {
                                v[j] = i;
                                insert(row, at, e, v, out);
                              }
                              return row;
                            }});
  return "function " + name + "(integer " + n + ") to (container<integer, integer> r) { for " + j +
         " in [0:" + std::to_string(last) + "] { insert r[" + at.text + "] = " + e.text + " } }\n";
}

// Rows 0 to 2, each of them member by member.
void ScriptMaker::add_filled_rows(Block& to, const Scope& scope, const std::string& rows) {
  const std::string i = new_name("i");
  const std::string j = new_name("j");
  Scope inner = scope;
  inner.integers.push_back(i);
  const auto at_row = key(i, inner);
  inner.integers.push_back(j);
  const auto at = key(j, inner);
  const auto e = integer(inner, 1);
  to.texts.push_back("for " + i + " in [0:2] { for " + j + " in [0:2] { insert " + rows + "[" +
                     at_row.text + "][" + at.text + "] = " + e.text + " } }");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    Rows& all = std::get<Rows>(v.at(rows));
    Values body = v;
    for (std::int64_t k = 0; k < 9; ++k) {
      body[i] = k / 3;
      body[j] = k % 3;
      std::optional<std::int64_t> row;
      const bool has_row_key = are_there(at_row.operands, body);
      Outcome of_key;
      perform(of_key, has_row_key, [&] { row = at_row.value(body); });
      if (row) {
        insert(all.members[*row], at, e, body, out);
        continue;
      }
      // Whatever else it needs: it fails once.
      all.lacks_members = true;
      const bool has_all =
          has_row_key && are_there(at.operands, body) && are_there(e.operands, body);
      ++(has_all ? out.n_failed : out.n_skipped);
    }
  });
}

// Rows 10 to 12, each by a function.
void ScriptMaker::add_called_rows(Block& to, const Scope& scope, const std::string& rows) {
  const RowFunction& f = row_functions_[static_cast<std::size_t>(below(2))];
  const std::string i = new_name("i");
  Scope inner = scope;
  inner.integers.push_back(i);
  const auto at = key(i, inner);
  const auto n = integer(inner, 1);
  // What is an input is waited for as a whole.
  std::string inputs;
  const Operands operands = roots_of(both(at.operands, n.operands));
  for (const std::string& input : operands)
    inputs += input == i ? "" : input + " ";
  to.texts.push_back("for " + i + " in [10:12] { when {" + inputs + "} then {" + rows + "[" +
                     at.text + "]} from {" + f.name + " (" + n.text + ")} }");
  to.runs.emplace_back([=, call = f.call](Values& v, Outcome& out) {
    Rows& all = std::get<Rows>(v.at(rows));
    Values body = v;
    for (std::int64_t k = 10; k <= 12; ++k) {
      body[i] = k;
      std::optional<std::int64_t> row;
      std::optional<std::int64_t> number;
      Outcome of_key;
      perform(of_key, are_there(at.operands, body), [&] { row = at.value(body); });
      perform(out, are_there(operands, body), [&] {
        if (!row) throw Failed();
        number = n.value(body);
      });
      if (!row) {
        all.lacks_members = true;
      } else if (number) {
        all.members[*row] = call(*number, out);
      } else {
        all.members[*row].lacks_members = true;
      }
    }
  });
}

// In a branch that may not be known.
void ScriptMaker::add_late_row(Block& to, const Scope& scope, const std::string& rows) {
  const auto condition = boolean(scope, 0);
  const auto e = integer(scope, 1);
  to.texts.push_back("if " + condition.text + " { insert " + rows + "[20][0] = " + e.text + " }");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    Rows& all = std::get<Rows>(v.at(rows));
    bool holds = false;
    if (!perform(out, are_there(condition.operands, v), [&] { holds = condition.value(v); })) {
      all.lacks_members = true;
    } else if (holds) {
      const Made<std::int64_t> zero{"0", [](const Values&) { return std::int64_t{0}; }};
      insert(all.members[20], zero, e, v, out);
    }
  });
}

void ScriptMaker::add_row_readers(Block& to, const std::string& rows) {
  to.texts.push_back("print(\"all\", size(" + rows + "))");
  to.runs.emplace_back([rows](Values& v, Outcome& out) {
    const Rows& all = rows_of(v, rows);
    perform(out, is_whole(all),
            [&] { out.lines += "all" + words({static_cast<std::int64_t>(all.members.size())}); });
  });
  for (int n = 0; n < 3; ++n) {
    const std::int64_t i = below(3) + (one_in(2) ? 10 : 0);
    const std::int64_t j = below(2);
    const std::string row = rows + "[" + std::to_string(i) + "]";
    to.texts.push_back("print(\"size\", " + std::to_string(i) + ", size(" + row + "))");
    to.texts.push_back("print(\"member\", " + row + "[" + std::to_string(j) + "])");
    to.runs.emplace_back([=](Values& v, Outcome& out) {
      const Numbers* const found = row_of(rows_of(v, rows), i);
      perform(out, found != nullptr && is_whole(*found), [&] {
        out.lines += "size" + words({i, static_cast<std::int64_t>(found->members.size())});
      });
      const bool is_there = found != nullptr && found->members.contains(j);
      perform(out, is_there && found->members.at(j).has_value(),
              [&] { out.lines += "member" + words({*found->members.at(j)}); });
    });
  }
}

// Loops over them, whose bodies run for members that have failed, too.
void ScriptMaker::add_copies(Block& to, const std::string& rows) {
  const std::string sizes = new_name("d");
  const std::string keys = new_name("d");
  to.declared.push_back("container<integer, integer> " + sizes + " " + keys);
  to.texts.push_back("foreach r, k in " + rows + " {\n  print(\"row\", k)\n  insert " + sizes +
                     "[k] = size(r)\n  insert " + keys +
                     "[k] = k\n  foreach x, j in r {\n    print(\"key\", k, j)\n"
                     "    print(\"x\", x)\n  }\n}\nprint(\"sizes\", size(" +
                     sizes + "))\nprint(\"keys\", size(" + keys + "))");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    const Rows& all = rows_of(v, rows);
    bool all_sizes = !all.lacks_members;
    for (const auto& [k, r] : all.members) {
      out.lines += "row" + words({k});
      all_sizes = perform(out, is_whole(r), [] {}) && all_sizes;
      for (const auto& [j, x] : r.members) {
        out.lines += "key" + words({k, j});
        perform(out, x.has_value(), [&out, &x = x] { out.lines += "x" + words({*x}); });
      }
    }
    const auto n = static_cast<std::int64_t>(all.members.size());
    perform(out, all_sizes, [&] { out.lines += "sizes" + words({n}); });
    perform(out, !all.lacks_members, [&] { out.lines += "keys" + words({n}); });
  });
}

void ScriptMaker::add_rows(Block& to, const Scope& scope) {
  const std::string rows = new_name("m");
  to.declared.push_back("container<integer, container<integer, integer>> " + rows);
  to.runs.emplace_back([rows](Values& v, Outcome&) { v[rows] = Rows(); });
  add_filled_rows(to, scope, rows);
  add_called_rows(to, scope, rows);
  if (one_in(2)) add_late_row(to, scope, rows);
  to.runs.emplace_back([rows](Values& v, Outcome&) {
    Rows& all = std::get<Rows>(v.at(rows));
    for (auto& [i, row] : all.members)
      row.lacks_members |= all.lacks_members;
  });
  add_row_readers(to, rows);
  add_copies(to, rows);
}

}  // namespace rubato::flow::random_scripts

namespace rubato::flow {
namespace {

class FailingScripts : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(FailingScripts, fail_as_a_direct_evaluation_does_on_all_shapes) {
  const std::uint64_t n = n_seeds(25);
  std::uint64_t n_that_fail = 0;
  for (std::uint64_t seed = GetParam() * n; seed < (GetParam() + 1) * n; ++seed) {
    const random_scripts::RandomScript script(seed, {.may_fail = true});
    ASSERT_NO_FATAL_FAILURE(random_scripts::run_as_expected(seed, script, shape_of(seed)));
    const random_scripts::Outcome& expected = script.expected;
    if (expected.n_failed > 0 && expected.n_skipped > 0 && !expected.lines.empty()) ++n_that_fail;
  }
  EXPECT_GT(n_that_fail, n / 2);
}

// A call or an operand that fails when others have been taken.
TEST(FailingScript, gives_back_what_it_had_taken) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const Ran ran = run_text(seed, R"(
integer n = int(arg("n")), z = n - 12
function f(integer a, integer b) to (integer c) { c = a + b }
integer r
when {n z} then {r} from {f n (1 / z)}
container<integer, integer> c
insert c[1] = 1
print(c[1], c[6 / z])
)");
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.result.n_failures, 2U) << ran.result.text();
    EXPECT_EQ(ran.result.n_data_held, 0U) << ran.result.leak_text();
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, FailingScripts,
                         ::testing::Range(std::uint64_t{0}, std::uint64_t{4}));

}  // namespace
}  // namespace rubato::flow

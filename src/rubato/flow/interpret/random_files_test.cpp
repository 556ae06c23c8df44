// Random scripts: leaves, or programs, that write files and read them, and what else is seen of them.

#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/random_runs_test.hpp"

namespace rubato::flow::random_scripts {
namespace {

using program_testing::content_of;
using program_testing::write_to;

// Of the run that is under way; virtual nodes are one process and one thread.
Calls all_calls;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// Work takes time, at the end of which all of it is done.
void note_call(const std::string& line) {
  CoreContext& here = CoreContext::here();
  here.charge(static_cast<Nanos>(5 + hash_words(line.size(), std::uint64_t{3}) % 40) *
              kMicrosecond);
  all_calls.last = here.clock();
  if (all_calls.lines.empty()) all_calls.first = all_calls.last;
  all_calls.lines += line + "\n";
}

std::int64_t noted_leaf(std::int64_t n, std::string text) {
  note_call("noted " + std::to_string(n) + " " + text);
  return noted(n, text);
}
std::int64_t risky_leaf(std::int64_t n, std::string text) {
  if (n % 3 == 0) throw Error("no luck with " + std::to_string(n));
  note_call("risky " + std::to_string(n) + " " + text);
  return noted(n, text);
}
void write_leaf(LeafCall& call) {
  const std::string& text = call.inputs.at(0).as_text();
  note_call("write " + text);
  write_to(call.outputs.at(0).as_text(), text);
}
void read_leaf(LeafCall& call) {
  const std::string text = content_of(call.inputs.at(0).as_text());
  note_call("read " + text);
  call.outputs.at(0) = Value::text(Kind::string, text);
}
void glue_leaf(LeafCall& call) {
  std::string text;
  for (const auto& [key, file] : call.containers.at(0))
    text += content_of(file.as_text());
  note_call("glue " + text);
  write_to(call.outputs.at(0).as_text(), text);
}

LeafFunction leaf(void (*run)(LeafCall&)) {
  LeafFunction function;
  function.run = run;
  return function;
}
[[maybe_unused]] const bool kLeaves =
    register_leaf("noted", &noted_leaf) && register_leaf("risky", &risky_leaf) &&
    register_leaf("write_text", leaf(&write_leaf)) &&
    register_leaf("read_text", leaf(&read_leaf)) && register_leaf("glue", leaf(&glue_leaf));

// It has ended well.
void say_call(Outcome& out, const char* name, const std::string& text) {
  out.calls += std::string(name) + " " + text + "\n";
}

std::string inputs_text(const Operands& operands) {
  std::string inputs;
  for (const std::string& input : operands)
    inputs += input + " ";
  return inputs;
}

}  // namespace

void forget_calls() {
  all_calls = {};
}
std::string log_of(const std::string& folder) {
  return folder + "/log";
}
const Calls& calls() {
  return all_calls;
}
std::int64_t noted(std::int64_t n, const std::string& text) {
  return (7 * n + static_cast<std::int64_t>(text.size())) % 97;
}

std::string ScriptMaker::leaves() const {
  if (kinds_.folder.empty()) return "";
  const std::string noted =
      "leaf noted(integer n, string s) to (integer m)\n"
      "leaf risky(integer n, string s) to (integer m)\n";
  if (!kinds_.has_programs) {
    return noted +
           "leaf write_text(string s) to (file f)\n"
           "leaf read_text(file f) to (string s)\n"
           "leaf glue(container<integer, file> all) to (file f)\n";
  }
  // As the leaves do, they say what they were called for.
  const auto app = [&](const char* signature, const char* name, const char* text,
                       const char* words) {
    return std::string("app ") + signature + " { \"sh\" \"-c\" \"text=" + text + "; echo \\\"" +
           name + " $text\\\" >> " + log_of(kinds_.folder) + "; printf %s \\\"$text\\\"\" " +
           words + " }\n";
  };
  return noted + app("write_text(string s) to (file f)", "write", "$0", "s stdout=f") +
         app("read_text(file f) to (string s)", "read", "$(cat \\\"$0\\\")", "f stdout=s") +
         app("glue(container<integer, file> all) to (file f)", "glue", "$(cat \\\"$@\\\")",
             "\"glue\" all stdout=f");
}

// They are of no consequence but for where and when.
std::string ScriptMaker::task_options() {
  return one_of({"", "", " priority 3", " on node 1", " on core 7", " only on core 0",
                 " only on node n_nodes() - 1", " priority -2 retries 0"});
}

void ScriptMaker::add_leaf(Block& to, Scope& scope, int depth) {
  switch (below(6)) {
    case 0:
    case 1:
      return add_noted(to, scope);
    case 2:
      if (!scope.files.empty()) return add_read(to, scope);
      return add_file(to, scope, depth);
    case 3:
      return add_parts(to, scope);
    default:
      return add_file(to, scope, depth);
  }
}

void ScriptMaker::add_noted(Block& to, Scope& scope) {
  const auto n = integer(scope, 1);
  const auto s = string(scope, 1);
  const std::string name = new_name("r");
  const bool is_risky = may_fail_ && one_in(2);
  const Operands operands = roots_of(both(n.operands, s.operands));
  to.declared.push_back("integer " + name);
  to.texts.push_back("when {" + inputs_text(operands) + "} then {" + name + "} from {" +
                     (is_risky ? "risky (" : "noted (") + n.text + ") (" + s.text + ")}" +
                     task_options());
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    v[name] = Failed();
    perform(out, are_there(operands, v), [&] {
      const std::int64_t x = n.value(v);
      const std::string text = s.value(v);
      if (is_risky && x % 3 == 0) throw Failed();
      say_call(out, is_risky ? "risky" : "noted", std::to_string(x) + " " + text);
      v[name] = noted(x, text);
    });
  });
  scope.integers.push_back(name);
}

// With a name, which may come late, or without one: what runs several times has several files.
void ScriptMaker::add_file(Block& to, Scope& scope, int depth) {
  const std::string name = new_name("file");
  const auto s = string(scope, 1);
  Made<std::string> path{"", [](const Values&) { return std::string(); }};
  const bool has_name = depth == 0 && one_in(2);
  if (has_name) {
    const std::string begin = kinds_.folder + "/" + name + "-";
    if (one_in(2)) {
      path = string(scope, 1);
      path.text = in_quotes(begin) + " ++ substring(" + path.text + ", 0, 12)";
    } else {
      path.text = in_quotes(begin);
    }
    path.value = [begin, end = path.value](const Values& v) {
      return begin + end(v).substr(0, 12);
    };
  }
  const Operands operands = roots_of(s.operands);
  to.declared.push_back("file " + name + (has_name ? " (" + path.text + ")" : ""));
  to.texts.push_back("when {" + inputs_text(operands) + "} then {" + name + "} from {write_text (" +
                     s.text + ")}" + task_options());
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    v[name] = Failed();
    std::string at;
    if (has_name && !perform(out, are_there(path.operands, v), [&] { at = path.value(v); })) {
      ++out.n_skipped;  // what was to write it
      return;
    }
    perform(out, are_there(operands, v), [&] {
      const std::string text = s.value(v);
      say_call(out, "write", text);
      v[name] = text;
      if (has_name) out.files[at] = text;
    });
  });
  scope.files.push_back(name);
}

void ScriptMaker::add_read(Block& to, Scope& scope) {
  const std::string file = one_of(scope.files);
  const std::string name = new_name("s");
  to.declared.push_back("string " + name);
  to.texts.push_back("when {" + file + "} then {" + name + "} from {read_text " + file + "}" +
                     task_options());
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    v[name] = Failed();
    perform(out, are_there({file}, v), [&] {
      v[name] = v.at(file);
      say_call(out, "read", get<std::string>(v, file));
    });
  });
  scope.strings.push_back(name);
}

// Files as members of a container, each of which is read by itself, and all of them by one task.
void ScriptMaker::add_parts(Block& to, Scope& scope) {
  const std::string all = new_name("parts");
  const std::string i = new_name("i");
  const std::string part = new_name("part");
  const std::string whole = new_name("file");
  const std::int64_t last = below(4);
  Scope inner = scope;
  inner.integers.push_back(i);
  const auto s = string(inner, 1);
  const auto k = key(i, inner);
  const Operands operands = roots_of(s.operands);
  to.declared.push_back("container<integer, file> " + all);
  to.declared.push_back("file " + whole);
  to.texts.push_back("for " + i + " in [0 : " + std::to_string(last) + "] {\n  file " + part +
                     "\n  when {" + inputs_text(operands) + "} then {" + part +
                     "} from {write_text (" + s.text + ")}" + task_options() + "\n  insert " + all +
                     "[" + k.text + "] = " + part + "\n}");
  to.texts.push_back("when {" + all + "} then {" + whole + "} from {glue " + all + "}");
  to.texts.push_back("foreach f, k in " + all +
                     " {\n  print(\"part\", k)\n  print(\"text\", read(f))\n}");
  to.runs.emplace_back([=](Values& v, Outcome& out) {
    Texts texts;
    Values body = v;
    for (std::int64_t n = 0; n <= last; ++n) {
      body[i] = n;
      body[part] = Failed();
      perform(out, are_there(operands, body), [&] {
        const std::string text = s.value(body);
        say_call(out, "write", text);
        body[part] = text;
      });
      insert(texts, k, read<std::string>(part), body, out);
    }
    v[whole] = Failed();
    perform(out, is_whole(texts), [&] {
      std::string text;
      for (const auto& [key, content] : texts.members)
        text += content.value();
      say_call(out, "glue", text);
      v[whole] = text;
    });
    for (const auto& [key, content] : texts.members) {
      out.lines += "part " + std::to_string(key) + "\n";
      perform(out, content.has_value(),
              [&out, &content = content] { out.lines += "text " + content.value() + "\n"; });
    }
  });
  scope.files.push_back(whole);
}

}  // namespace rubato::flow::random_scripts

namespace rubato::flow {
namespace {

// Programs take their time, so these are few.
TEST(RandomPrograms, write_and_read_what_a_direct_evaluation_does) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const random_scripts::RandomScript script(seed,
                                              {.may_fail = seed % 3 == 0, .has_programs = true});
    ASSERT_NO_FATAL_FAILURE(random_scripts::run_as_expected(seed, script, shape_of(seed)));
  }
}

}  // namespace
}  // namespace rubato::flow

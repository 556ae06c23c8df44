#pragma once
// Programs as tasks of a flow: they run when their inputs are there, on any node, beside its cores.
//
//   auto sorted = async_program()("sort", "-n", numbers, "-o", output("sorted.txt"));
//   auto n = async_program({.captures_stdout = true})("wc", "-l", sorted.file("sorted.txt"));
//   async([](const std::string& text) { .. })(n.text);
//
//   a word of the call         the program gets               waits for
//   text, number, FileName     it as a word                   nothing
//   Future, container[key]     the value as a word            the value
//   a vector of such           a word for each                all of them
//   Future<void>, needs(x)     nothing                        the value
//   output(path)               a name to write to             nothing; a path that is a future
//   joined("--in=", x, ..)     one word of several            what they wait for
//   stdin_from(x)              the file as standard input     the name
//   stdout_to, stderr_to       its output goes to a file      as output()
//
// Outputs appear whole, under their names, when the program ended well, and their futures are set;
// what fails leaves the old files (output_names.hpp), fails its outputs with ProgramEnd::problem,
// and what needs them is not run. Names of files mean the same on all nodes: they share the folders.
//
// Programs of a type of work run when a worker of it is free. Of others,
// a node starts as many programs at once as it has processors, 4 at least
// (MessageOptions::n_native_threads); a core that has kUnderWay of them, or twice the processors, or
// as many as there are such threads, keeps others in line, by priority, and deals them out to all nodes, so that tasks of other kinds go on. In the
// simulator programs run in place, one after the other.

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rubato/flow/arguments.hpp"
#include "rubato/flow/program/retries.hpp"

namespace rubato::flow {

// How a program is to run, as a task. Each member has its default.
struct ProgramTaskOptions {
  const char* name = "";      // of the task, for people; a literal
  CoreId core = kAnyCore;     // whose node is to run it
  std::int32_t priority = 0;  // the largest first, among those that are ready or in line on a core
  bool may_move = false;      // `core` is a wish
  WorkType type = {};         // a worker of that type runs it
  // Of one node: cores that a parallel program uses, or workers of `type`.
  std::uint32_t n_cores = 1;
  // Where it runs, and what output() and text are relative to. A FileName is relative to where the
  // node runs, and is handed to the program as an absolute one if there is a folder.
  std::string folder = {};
  std::vector<std::pair<std::string, std::string>> environment = {};  // beyond that of the node
  std::vector<std::string> environment_removed = {};
  Nanos timeout = kNever;        // of a try
  RetryPolicy retry = {};        // one try, if nothing is said
  bool durable = false;          // outputs are on the disk when their futures are set
  bool captures_stdout = false;  // into StartedProgram::text, kTextBytesMost at most
  bool text_has_errors = false;  // that has what it writes to standard error, too
  bool captures_stderr = false;  // into StartedProgram::errors, as much
  std::string called = {};       // in place of `name`: what people call it, of an app of a script
};
inline constexpr std::size_t kTextBytesMost = std::size_t{64} << 20;
inline constexpr std::uint32_t kUnderWay = 8;

// What will come of a program.
struct StartedProgram {
  std::vector<std::string> paths;       // of its outputs, as they were asked for; "" of a future
  std::vector<Future<FileName>> files;  // [paths]: set when the program ended well
  Future<std::string> text;             // its standard output, all bytes of it, if captured
  Future<std::string> errors;           // the same of standard error
  Future<void> done;                    // it ended well

  // The output of that path. Throws Error with the nearest one if there is none. REQUIRES: it was
  // known at the start: others are in `files`, in the order in which they were asked for.
  [[nodiscard]] const Future<FileName>& file(std::string_view path) const;
};

namespace detail {

// What an item is to the program.
enum class Role : std::uint8_t { word, part_of_word, only_waited_for, in, out, errors };

struct OutputWord {
  Role role;
  std::string path;
};
// The same, whose path is not known yet.
struct LateOutputWord {
  Role role;
  Future<std::string> path;
};
template <class A>
struct InRole {
  Role role;
  A item;
};
template <class... A>
struct JoinedWord {
  std::tuple<A...> parts;
};

// What can be written as a word.
template <class T>
concept AsWord =
    std::is_arithmetic_v<T> || std::is_same_v<T, std::string> || std::is_same_v<T, FileName>;

}  // namespace detail

// A file that the program is to make: it gets a hidden name for it, at this place of its words.
[[nodiscard]] inline detail::OutputWord output(std::string path) {
  return {detail::Role::word, std::move(path)};
}
[[nodiscard]] inline detail::LateOutputWord output(Future<std::string> path) {
  return {detail::Role::word, std::move(path)};
}
[[nodiscard]] inline detail::OutputWord stdout_to(std::string path) {
  return {detail::Role::out, std::move(path)};
}
[[nodiscard]] inline detail::LateOutputWord stdout_to(Future<std::string> path) {
  return {detail::Role::out, std::move(path)};
}
// The same path as that of stdout_to(): they share the file.
[[nodiscard]] inline detail::OutputWord stderr_to(std::string path) {
  return {detail::Role::errors, std::move(path)};
}
[[nodiscard]] inline detail::LateOutputWord stderr_to(Future<std::string> path) {
  return {detail::Role::errors, std::move(path)};
}
template <class A>
[[nodiscard]] detail::InRole<detail::Kept<A>> stdin_from(A&& file) {
  return {detail::Role::in, std::forward<A>(file)};
}
template <class A>
[[nodiscard]] detail::InRole<detail::Kept<A>> needs(A&& input) {
  return {detail::Role::only_waited_for, std::forward<A>(input)};
}
template <class... A>
[[nodiscard]] detail::JoinedWord<detail::Kept<A>...> joined(A&&... parts) {
  return {{detail::Kept<A>(std::forward<A>(parts))...}};
}

// A call that is made word by word; what async_program() and interpreters stand on. Used by one
// task, which must not wait for room while another one uses it.
class ProgramTask {
 public:
  explicit ProgramTask(ProgramTaskOptions options = {}, SourcePlace at = SourcePlace::here())
      : options_(std::move(options)), at_(at) {}
  ProgramTask(const ProgramTask&) = delete;
  ProgramTask& operator=(const ProgramTask&) = delete;
  // Gives back what was not started.
  ~ProgramTask();

  // The next word, or words: see the table above. Throws Error for a second standard input or
  // output.
  template <class A>
  ProgramTask& add(A&& item) {
    put(detail::Role::word, detail::Kept<A>(std::forward<A>(item)));
    return *this;
  }
  // Goes on with the last word, which is then one of several parts, as by joined().
  template <class A>
  ProgramTask& add_part(A&& item) {
    put(detail::Role::part_of_word, detail::Kept<A>(std::forward<A>(item)));
    return *this;
  }
  // As add(), of an argument of a rule, whose reference is the task's from now on; a value that is
  // no word is a failure of the task when it runs.
  ProgramTask& add_input(Arg input) {
    put_input(detail::Role::word, std::move(input));
    return *this;
  }

  // A right to write, which is given back when the program has ended.
  void hold(Arg right) { put_input(detail::Role::only_waited_for, std::move(right)); }

  // Once: the task waits for its inputs from now on. May wait for room to send.
  [[nodiscard]] StartedProgram start();

 private:
  struct Item {
    detail::Role role;
    bool is_output;
    std::uint32_t index;  // of the inputs, or of the outputs
  };

  template <class T>
  void put(detail::Role role, const T& value) {
    static_assert(detail::AsWord<T>,
                  "a word of a program is text, a number, a FileName, a future or a container's "
                  "member of such, a vector of them, output(), joined(), needs() or stdin_from()");
    put_input(role, detail::Argument<T>::put(value));
  }
  template <class T>
  void put(detail::Role role, Future<T> future) {
    static_assert(std::is_void_v<T> || detail::AsWord<T>, "the value is to be a word of a program");
    put_input(std::is_void_v<T> ? detail::Role::only_waited_for : role,
              detail::Argument<Future<T>>::put(std::move(future)));
  }
  template <class T>
  void put(detail::Role role, Member<T> member) {
    static_assert(detail::AsWord<T>, "the value is to be a word of a program");
    put_input(role, detail::Argument<Member<T>>::put(std::move(member)));
  }
  template <class T>
  void put(detail::Role role, const std::vector<T>& items) {
    for (const T& item : items)
      put(role, item);
  }
  template <class T>
  void put(detail::Role /*role*/, detail::InRole<T> in) {
    put(in.role, std::move(in.item));
  }
  template <class... A>
  void put(detail::Role role, detail::JoinedWord<A...> word) {
    const auto next = [&] { return std::exchange(role, detail::Role::part_of_word); };
    std::apply([&](auto&... parts) { (put(next(), std::move(parts)), ...); }, word.parts);
  }
  void put(detail::Role role, detail::OutputWord output);
  void put(detail::Role role, detail::LateOutputWord output);
  void put_input(detail::Role role, Arg input);
  void add_item(const Item& item);

  ProgramTaskOptions options_;
  SourcePlace at_;
  std::vector<Item> items_;
  std::vector<Arg> inputs_;
  std::vector<std::string> outputs_;      // "" of one whose path is a future
  std::vector<DataId> futures_;           // [outputs_]: that future
  std::vector<std::int32_t> paths_from_;  // [outputs_]: the input that is its path, or -1
};

// A program and how it is to run; call it with its words.
class AsyncProgram {
 public:
  AsyncProgram(ProgramTaskOptions options, SourcePlace at)
      : options_(std::move(options)), at_(at) {}
  // Starts the task; may wait for room to send. Called by tasks.
  template <class... A>
  StartedProgram operator()(A&&... words) const {
    ProgramTask task(options_, at_);
    (task.add(std::forward<A>(words)), ...);
    return task.start();
  }

 private:
  ProgramTaskOptions options_;
  SourcePlace at_;
};
[[nodiscard]] inline AsyncProgram async_program(ProgramTaskOptions options = {},
                                                SourcePlace at = SourcePlace::here()) {
  return {std::move(options), at};
}

}  // namespace rubato::flow

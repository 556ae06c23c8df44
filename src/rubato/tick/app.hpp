#pragma once
// App: a model as people meet it: a name, parameters with help, and a way to build a Problem from
// them. The command line, comparisons and reports are made from this; a user's model gives one of
// these and gets all of them.
//
//   class HeatApp final : public App {
//    public:
//     std::string name() const override { return "heat"; }
//     std::string summary() const override { return "heat conduction on a raster"; }
//     void declare(Parameters& p) override { p.add("width", width_, "cells along x"); }
//     std::unique_ptr<Problem> build() override { return ..; }
//   };

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/base/error.hpp"
#include "rubato/io/table.hpp"
#include "rubato/tick/problem.hpp"

namespace rubato::tick {

// Named values that a user may set as text.
class Parameters {
 public:
  struct Parameter {
    std::string name;
    std::string help;
    std::string default_text;
    std::function<void(std::string_view)> set;  // throws Error (usage) if the text is no such value
    bool is_flag = false;
    bool advanced = false;  // for few people: help shows it last
    // A run that goes on from a checkpoint may have another value: the saved tuples mean the same.
    bool may_change = false;
    // Of these: where work lies, or what it costs. The state is the same to the bit whatever its value.
    bool same_bits = false;
    // The text is the name of an input file, unless it is "" or one of `no_files`.
    bool is_file = false;
    std::vector<std::string> no_files{};
    // Whether two texts are one value; null: if they are equal.
    bool (*are_same)(std::string_view a, std::string_view b) = nullptr;

    [[nodiscard]] bool is_same(std::string_view a, std::string_view b) const {
      return a == b || (are_same != nullptr && are_same(a, b));
    }
    [[nodiscard]] bool names_file(std::string_view text) const;
  };

  // `target` holds the default, takes the value that is set, and outlives this. The whole text must
  // be a number of its type.
  void add(std::string name, std::int64_t& target, std::string help);
  void add(std::string name, std::uint64_t& target, std::string help);
  void add(std::string name, double& target, std::string help);
  void add(std::string name, std::string& target, std::string help);
  void add(std::string name, bool& target, std::string help);
  // Absent until it is set; `help` says what that means.
  void add(std::string name, std::optional<std::int64_t>& target, std::string help);
  // One of `choices`.
  void add(std::string name, std::string& target, std::vector<std::string> choices,
           std::string help);
  // One that another list has: what it sets stays where that list's owner put it.
  void add(Parameter parameter);
  // Those that are added from here on are for few people, such as what tuning needs.
  void begin_advanced() noexcept { advanced_ = true; }
  // Of those that have been added, the ones that may change where a run goes on from a checkpoint.
  void may_change(const std::vector<std::string>& names);
  // As may_change(); and a run that goes on with other values of these is no branch, but the same run:
  // they say where work lies, what it costs or what is told of it.
  void same_bits(const std::vector<std::string>& names);
  // Of those that have been added, the ones whose texts are names of input files, but for the words
  // `no_files`: records and checkpoints know these by their content, wherever they lie.
  void are_files(const std::vector<std::string>& names,
                 const std::vector<std::string>& no_files = {});

  // Of those that have been added, the ones that nothing reads while `is_unread()`, which asks other
  // parameters; `expected` says what people may give: "no --input, which has the rows".
  void unread(const std::vector<std::string>& names, std::function<bool()> is_unread,
              std::string expected);
  // Throws Error (usage) for the first of `given`, names that people have set, that nothing reads.
  void refuse_unread(const std::vector<std::string>& given) const;

  [[nodiscard]] bool has(std::string_view name) const noexcept;
  // Throws Error (usage): unknown name, with the nearest; or bad value, with what is expected.
  void set(std::string_view name, std::string_view text);
  [[nodiscard]] const std::vector<Parameter>& list() const noexcept { return list_; }

 private:
  [[nodiscard]] Parameter& added(const std::string& name);

  struct Unread {
    std::vector<std::string> names;
    std::function<bool()> is_unread;
    std::string expected;
  };

  std::vector<Parameter> list_;
  std::vector<Unread> unread_;
  bool advanced_ = false;
};

class App {
 public:
  App() = default;
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  virtual ~App() = default;

  [[nodiscard]] virtual std::string name() const = 0;     // one word
  [[nodiscard]] virtual std::string summary() const = 0;  // one line
  // Of what its tuples mean: greater once checkpoints of before cannot be gone on from.
  [[nodiscard]] virtual std::uint32_t version() const { return 1; }
  // Whole lines, each the words behind "rubato run": "heat --width 400 --ticks 1000". They work as
  // they stand where the project's root is the working folder.
  [[nodiscard]] virtual std::vector<std::string> examples() const { return {}; }
  // What the files of --output hold, for the help: whole lines, or "".
  [[nodiscard]] virtual std::string files() const { return ""; }
  // Parameters and texts that make a small instance, of some thousand tuples: what "rubato check"
  // sets where people have set nothing.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> check_settings() const {
    return {};
  }
  // Binds parameters to members; called once, before build().
  virtual void declare(Parameters& parameters) = 0;
  [[nodiscard]] virtual Tick default_ticks() const { return 100; }
  // Optional: the run has had its parameters since tick `begin`, where it, or one that it goes on from,
  // left what was saved with others; what it tells of its start is of that tick. Called before build().
  virtual void begin_branch(Tick /*begin*/) {}
  // Reads input files and checks the parameters; throws Error. Called on every node. The App
  // outlives the problem.
  [[nodiscard]] virtual std::unique_ptr<Problem> build() = 0;

  // Optional: what people should know of the problem before it runs, a sentence each; commands print
  // them to standard error, on node 0. Called after build().
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }

  // Optional: what a run found beside its state, such as a ranking. Each node gives its part when
  // its run has ended; node 0 puts the parts of all nodes (in the order of nodes) into one table.
  // Both are called after build().
  [[nodiscard]] virtual Bytes finding(NodeRun& /*node*/) { return {}; }
  [[nodiscard]] virtual std::optional<io::Table> findings(const std::vector<Bytes>& /*parts*/) {
    return std::nullopt;
  }
};

using AppMaker = std::function<std::unique_ptr<App>()>;

}  // namespace rubato::tick

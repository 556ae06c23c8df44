#pragma once
// Compiled: a checked TIC script with what its interpreter looks up while it runs.
//
// A statement that has to wait becomes a rule that carries its number and what it needs of the
// variables around it. Numbers are given in the order of the text, so they mean the same on each
// core, all of which read the same script.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rubato/flow/pool/workers.hpp"
#include "rubato/flow/tic/syntax.hpp"

namespace rubato::flow {

class DryRun;

// What a script is run with, besides its text.
struct ScriptArguments {
  std::map<std::string, std::string> named;  // arg("name")
  std::string temporary_folder;  // of files without a name; "": no node sees that of another
  DryRun* dry_run = nullptr;     // nothing is run, but written down there (dry_run.hpp)
  // Of leaves and apps that do not say their own; nor do the rules that call them.
  std::uint32_t retries = 0;
  double timeout = 0;  // s; 0: none. Leaves of a team can have none.
  bool operator==(const ScriptArguments&) const = default;
};

struct CompiledStatement {
  const tic::Statement* statement = nullptr;
  const tic::Frame* frame = nullptr;
  const CompiledStatement* loop = nullptr;  // that a `next` in it goes on with
  std::uint32_t number = 0;
  std::vector<int> needs;    // variables declared outside of it that it or its blocks name
  std::vector<bool> writes;  // [needs]: whether it may write them
  // Those of its needs that tell the rounds of the loops around it apart, the outermost first.
  std::vector<int> rounds;
};

class Compiled {
 public:
  // Throws Error with all messages if the text is no script.
  Compiled(const std::string& text, const std::string& file_name, ScriptArguments arguments);
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  [[nodiscard]] const tic::Program& program() const noexcept { return program_; }
  [[nodiscard]] const ScriptArguments& arguments() const noexcept { return arguments_; }
  [[nodiscard]] const CompiledStatement& statement(std::uint32_t number) const {
    return statements_.at(number);
  }
  [[nodiscard]] const CompiledStatement& of(const tic::Statement& statement) const {
    return statements_[numbers_.at(&statement)];
  }
  // A variable that some statement of its frame writes.
  [[nodiscard]] bool is_written(const tic::Frame& frame, int variable) const {
    return written_.contains({&frame, variable});
  }
  // Whether the script names files that it writes.
  [[nodiscard]] bool writes_named_files() const noexcept { return writes_named_files_; }
  // A file whose name nobody has but those that wait for it, read it or write it: nothing else is done
  // with the variable, nor where it is handed on to.
  [[nodiscard]] bool is_kept_by_readers(const tic::Frame& frame, int variable) const {
    return !escaping_.contains({&frame, variable});
  }
  // Containers that are fields of a variable, or fields of these, into which a statement of its frame
  // inserts: by the numbers of the fields, the outermost last.
  [[nodiscard]] const std::set<std::vector<int>>& filled_fields(const tic::Frame& frame,
                                                                int variable) const;
  // The name of a file that has none, by what it is called here. Throws Error if there is no place.
  [[nodiscard]] std::string temporary_name(const std::string& called,
                                           std::string_view number) const;
  // Throws Error if it is given an argument that no arg("name") of it reads.
  void check_arguments() const;
  // Throws Error, with the place, if it names a type of work that has no workers.
  void check_types(const Workers& workers) const;
  // Throws Error, with the places, if it calls leaves that the program does not have.
  void check_leaves() const;
  // Main's own block: containers that are declared there are spread over all cores.
  [[nodiscard]] bool is_main(const tic::Block& block) const noexcept {
    return &block == &program_.main.body;
  }

 private:
  void set_default_options();
  void add_block(const tic::Block& block, const tic::Frame& frame, int loop);
  void add_statement(const tic::Statement& statement, const tic::Frame& frame, int loop);
  void add_filled(const tic::Statement& statement, const tic::Frame& frame);

  tic::Program program_;
  ScriptArguments arguments_;
  std::vector<CompiledStatement> statements_;
  std::map<const tic::Statement*, std::uint32_t> numbers_;
  std::vector<int> rounds_;  // while statements are added: of the loops around
  std::vector<int> loops_;   // [statements_]: the number of the loop around, or -1
  std::set<std::pair<const tic::Frame*, int>> written_;
  bool writes_named_files_ = false;
  std::set<std::pair<const tic::Frame*, int>> escaping_;
  std::map<std::pair<const tic::Frame*, int>, std::set<std::vector<int>>> filled_;
};

}  // namespace rubato::flow

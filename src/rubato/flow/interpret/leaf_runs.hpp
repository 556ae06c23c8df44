#pragma once
// One run of a leaf of C++ or of a plugin: the files that it writes, and the journal.
//
// A leaf writes its files as programs do: under names of their own, beside the names that they get
// when it has ended well, all its outputs being set. A leaf that was told the name of an output in
// another way (filename(f) as an argument) and writes to that, or that sets the output to a file of
// its own, has written it itself: that file is taken as it is.

#include <cstdint>
#include <optional>
#include <vector>

#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/journal/journal.hpp"
#include "rubato/flow/pool/team_task.hpp"
#include "rubato/flow/program/output_names.hpp"
#include "rubato/flow/tic/syntax.hpp"

namespace rubato::flow {

// In front of why a call has failed: "count(7, 'words.txt', 3 members): "; of long texts the beginning,
// and of many arguments the first. "" if it has none.
[[nodiscard]] std::string in_call(const LeafCall& leaf);
// What it sets is of the types that the script says. Throws Error.
void check_outputs(const LeafCall& leaf, const tic::Callable& callable);
// Throws Error if what the script says of a leaf is not what its function takes and sets.
void check_signature(const tic::Callable& callable, const LeafFunction& function);

// Of a leaf whose outputs begin as the names of files, as far as they are such. All calls block on
// the disk.
class LeafFiles {
 public:
  // The leaf gets names to write to. Makes folders; throws Error as OutputNames.
  explicit LeafFiles(LeafCall& leaf);
  [[nodiscard]] bool any() const noexcept { return files_.has_value(); }
  // It has ended well: its files get their names, and its outputs, too. Throws Error if one was not
  // written. Once; else all is removed.
  void commit();

 private:
  LeafCall& leaf_;
  std::vector<Value> names_;  // [outputs of the leaf]; none where it is no file
  std::optional<OutputNames> files_;
};

// A leaf and the journal, if the run has one: what that says is done is not run. By a task; files are
// read and written beside the cores.
class JournalledLeaf {
 public:
  JournalledLeaf(LeafCall& leaf, Flow& flow) : leaf_(leaf), flow_(flow), journal_(flow.journal()) {}

  // Before it runs; by a team of so many cores, or by none. True if it is done: its outputs are set.
  [[nodiscard]] bool find(const LeafFunction& function, const tic::Callable& callable,
                          std::uint32_t n_cores);
  // It has ended well, unless an output is not set.
  void add() const;

 private:
  LeafCall& leaf_;
  Flow& flow_;
  Journal* journal_;
  std::optional<TaskIdentity> task_;
};

// One try, on a thread beside the cores. False if it was told to end: it may have done a part of
// what it does.
[[nodiscard]] bool run_leaf(const LeafFunction& function, LeafCall& leaf,
                            const tic::Callable& callable);

// By all members; the first asks the journal for all of them, names the files, and writes when they
// have ended.
void run_leaf_by_team(Flow& flow, TeamTask& team, const LeafFunction& function, LeafCall& leaf,
                      const tic::Callable& callable);

}  // namespace rubato::flow

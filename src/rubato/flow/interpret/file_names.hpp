#pragma once
// Names of files that a script writes: one file of a run has a name.
//
// Each name has a home among the cores, which lets the first have it that asks. Whoever writes a
// file asks before it begins, so that two of the same name never write side by side; the second one
// fails, with the places of both. A file that nobody begins to write has no name to itself: of two
// branches that would write the same name one may. Inputs of the run may share a name, but not with
// one that is written: nothing says whether they are read before or after. Devices are nobody's: all
// may write to /dev/null, but what is in /dev/shm are files.

#include <string>

#include "rubato/flow/flow.hpp"
#include "rubato/flow/interpret/compiled.hpp"

namespace rubato::flow {

enum class NameUse : std::uint8_t { write, read };

// The name belongs to that file from now on, or to it and other inputs. Throws Error if another one
// has it. `file` is who asks, for people: "file 'map' of plot.tic:3:6". Waits for the name's home.
// Called by tasks.
void claim_file_name(const std::string& name, const std::string& file, NameUse use);
// Throws Error, with both places, if an input has the name of an output, as far as names are known
// before the run: they are made of literals and arguments.
void check_file_names(const Compiled& compiled, Flow& flow);
// Why an input cannot be read, now; "" if it can. Suspends the calling task, if that may wait.
[[nodiscard]] std::string problem_of_input(Flow& flow, const std::string& name);
// Of this core: names of another run are nobody's.
void forget_file_names(CoreContext& here);

}  // namespace rubato::flow

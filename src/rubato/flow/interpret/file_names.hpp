#pragma once
// Names of files that a script writes: one file of a run has a name.
//
// Each name has a home among the cores, which lets the first file have it that asks. Whoever writes
// a file waits for that, so that two of the same name never write side by side; the second one
// fails, with the places of both. Devices are nobody's: all may write to /dev/null.

#include <string>

#include "rubato/flow/flow.hpp"

namespace rubato::flow {

// Sets the datum of `writer` to the name; or fails it, if another file has that. `file` is who asks,
// for people: "file 'map' of plot.tic:3:6". May wait for room.
void claim_file_name(Flow& flow, Ref writer, const std::string& name, const std::string& file,
                     PortablePlace at);
// Of this core: names of another run are nobody's.
void forget_file_names(CoreContext& here);

}  // namespace rubato::flow

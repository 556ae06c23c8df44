#pragma once
// What a process keeps for itself while it runs has the process's mark in its name; what one has
// left that was killed is removed by a later one.
//
//   const std::string name = "work-" + process_mark() + "-1";      "work-4711-9f86d081-1"
//   remove_leftovers("/tmp", "work-");
//
// A mark is `PID-MACHINE`: the number of the process, and eight digits that stand for the machine,
// its last start, and the space in which the number counts. Only what has our own MACHINE, and whose
// process is gone, is removed: of another machine's processes nobody here can say whether they run,
// also where both share the folder. A number that another process has by now keeps its files.

#include <filesystem>
#include <string>
#include <string_view>

namespace rubato::flow {

[[nodiscard]] const std::string& process_mark();

// `name` has the mark of a process of this machine that is gone, behind its last `tag`.
[[nodiscard]] bool is_leftover(std::string_view name, std::string_view tag);

// Removes all such that are in the folder, with what is in them. What cannot be removed stays.
void remove_leftovers(const std::filesystem::path& folder, std::string_view tag);

}  // namespace rubato::flow
